"""Authentication of the widget: the Dashboard, and then our own forms, submit the user's token and the order's id.

There is no cookie and no header: the token is a hidden field of each form of the widget, and is valid for five minutes,
as Saleor issues it (Saleor contract, B.2.6 and B.2.7).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from fastapi import Request

from app.i18n.messages import gettext_noop
from app.i18n.translation import Translation
from app.web.dashboard.staff import HANDLE_PAYMENTS, Staff, authenticate_staff, http_error
from saleor_app_sdk.dashboard_token import MAX_TOKEN_LENGTH, DashboardTokens
from saleor_app_sdk.request_limits import read_at_most

_MOST_BYTES = MAX_TOKEN_LENGTH + 8 * 1024
_MOST_FIELDS = 30
_LONGEST_ORDER_ID = 200
UNREADABLE = gettext_noop("This form cannot be read. Reload the order page.")
_NO_ORDER = gettext_noop("The Saleor Dashboard did not identify the order. Reload the order page.")


@dataclass(frozen=True, slots=True)
class Submission:
    """A form about ``order_id`` that a member of staff has submitted, with its other fields."""

    staff: Staff
    order_id: str
    form: Mapping[str, str]

    @property
    def hidden(self) -> dict[str, str]:
        """The fields that each form of the widget repeats."""
        return {name: self.form.get(name, "") for name in ("saleorApiUrl", "accessToken", "orderId")}


async def read_submission(tokens: DashboardTokens, request: Request, language: Translation) -> Submission:
    """Return the form and its sender, after verifying its token. Raises HTTPException with a message for the sender."""
    form = await _read_form(request)
    if form is None:
        raise http_error(400, "UNREADABLE", language, UNREADABLE)
    saleor, token = form.get("saleorApiUrl", ""), form.get("accessToken", "")
    staff = await authenticate_staff(tokens, saleor, token, language, HANDLE_PAYMENTS)
    order_id = form.get("orderId", "")
    if not order_id or len(order_id) > _LONGEST_ORDER_ID or not order_id.isprintable():
        raise http_error(400, "NO_ORDER", language, _NO_ORDER)
    return Submission(staff, order_id, form)


async def _read_form(request: Request) -> dict[str, str] | None:
    """Return the fields of a form as browsers encode it; None for anything else, and for a form that is too long."""
    body = await read_at_most(_MOST_BYTES, request)
    if body is None:
        return None
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return None
