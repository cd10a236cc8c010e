"""The door of the widget. The Dashboard, and our own forms after it, say in a form who asks and about which order.

There is no cookie and no header: the token is a hidden field of each form that the widget shows, and lasts five minutes
as Saleor has made it (Saleor contract, B.2.6 and B.2.7).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from fastapi import Request

from app.dashboard.staff import HANDLE_PAYMENTS, Staff, refused, who_asks
from app.i18n.messages import gettext_noop
from app.i18n.translation import Translation
from app.saleor.bodies import read_at_most
from app.saleor.dashboard_token import MOST_TOKEN_CHARACTERS, DashboardTokens

_MOST_BYTES = MOST_TOKEN_CHARACTERS + 8 * 1024
_MOST_FIELDS = 30
_LONGEST_ORDER_ID = 200
UNREADABLE = gettext_noop("This form cannot be read. Reload the order page.")
_NO_ORDER = gettext_noop("The Saleor Dashboard does not say which order this is. Reload the order page.")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who of the staff has sent a form about ``order_id``, and what else stands in it."""

    staff: Staff
    order_id: str
    form: Mapping[str, str]

    @property
    def hidden(self) -> dict[str, str]:
        """The fields that each form of the widget repeats."""
        return {name: self.form.get(name, "") for name in ("saleorApiUrl", "accessToken", "orderId")}


async def let_in(tokens: DashboardTokens, request: Request, language: Translation) -> Visitor:
    """Return who sent this form, once the token in it is found good. Raises HTTPException, in words for them."""
    form = await _read(request)
    if form is None:
        raise refused(400, "UNREADABLE", language, UNREADABLE)
    saleor, token = form.get("saleorApiUrl", ""), form.get("accessToken", "")
    staff = await who_asks(tokens, saleor, token, language, HANDLE_PAYMENTS)
    order_id = form.get("orderId", "")
    if not order_id or len(order_id) > _LONGEST_ORDER_ID or not order_id.isprintable():
        raise refused(400, "NO_ORDER", language, _NO_ORDER)
    return Visitor(staff, order_id, form)


async def _read(request: Request) -> dict[str, str] | None:
    """Return the fields of a form as browsers encode it; None for anything else, and for what is too long."""
    body = await read_at_most(_MOST_BYTES, request)
    if body is None:
        return None
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return None
