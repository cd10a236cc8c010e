"""The parts about payouts. Everybody who handles payments sees them; whom the store owner has named makes them."""

from collections.abc import AsyncIterator
from ipaddress import ip_address

import structlog
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.dashboard.form import fields_of
from app.dashboard.navigation import PAYOUTS
from app.dashboard.payments.actions import Flash
from app.dashboard.payments.payment_view import Shown
from app.dashboard.payouts.page import LABELS, NAMES, payment_about, read_form, read_list
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, refused
from app.db.tables import MerchantAccount, State
from app.db.vault import VaultError
from app.gateway.models import Sector
from app.i18n.messages import LazyMessage, StoredMessage, gettext_noop
from app.payments.operations.pay_out import Signature
from app.payments.requests.payout import RECIPIENT, TAXABLE, PayoutRefusedError
from app.payments.services import Services
from app.payments.staff.payout_view import payouts_csv
from app.payments.staff.payouts import NOT_NAMED, accounts_of, confirm, propose

log = structlog.get_logger(__name__)

_WRONG = gettext_noop("Nothing was paid out: look at what is marked in the form.")
_SEALED = gettext_noop(
    "The keys of this account cannot be opened: the secret key file lacks the key. Tell whoever runs the app."
)
_DONE = {
    State.SUCCESS: gettext_noop("It is paid out."),
    State.FAILURE: gettext_noop("It was not paid out."),
}
_STATUSES = {State.SUCCESS: "success", State.FAILURE: "error"}
_OPEN = gettext_noop("How it ends is not known yet: the app finds out. Do not pay it out again.")


class PayoutParts:
    """The parts about payouts. ``address_header``: in which a trusted proxy tells where a request comes from."""

    def __init__(self, services: Services, renderer: Renderer, address_header: str | None = None) -> None:
        self._services = services
        self._renderer = renderer
        self._payment = Shown(services, renderer)
        self._address_header = address_header

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/payouts", self._list, methods=["GET"])
        router.add_api_route("/payouts.csv", self._file, methods=["POST"])
        router.add_api_route("/payouts/new", self._new, methods=["GET"])
        router.add_api_route("/payouts/new", self._find, methods=["POST"])
        router.add_api_route("/payouts/review", self._review, methods=["POST"])
        router.add_api_route("/payouts/confirm", self._confirm, methods=["POST"])

    async def _list(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        after = request.query_params.get("after")
        shown = await read_list(self._services, staff.installation.id, staff.email, after)
        return self._renderer.part("payouts/list.html", staff, here=PAYOUTS, after=after, **vars(shown))

    async def _file(self, staff: AnyStaff) -> StreamingResponse:
        lines = payouts_csv(self._services, staff.installation.id)
        return StreamingResponse(_for_spreadsheets(lines), media_type="text/csv")

    async def _new(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        asked = request.query_params
        return await self._form(staff, asked.get("account", ""), asked.get("payment", ""))

    async def _find(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the form with the cards of a customer, whose address stands in no address of a page."""
        said = dict(await fields_of(request))
        return await self._form(staff, said.get("account", ""), said.get("payment", ""), said.get("customer_email", ""))

    async def _form(self, staff: Staff, account_id: str, order_id: str, email: str = "") -> HTMLResponse:
        about = await payment_about(self._services, staff.installation.id, order_id)
        accounts = await accounts_of(self._services, staff.installation.id, staff.email)
        wanted = account_id or (about.payment.account_id if about else accounts[0].id if len(accounts) == 1 else "")
        account = next((each for each in accounts if each.id == wanted), None)
        if account is None:
            return self._renderer.part("payouts/others.html", staff, here=PAYOUTS, accounts=accounts)
        form = await read_form(self._services, account, about, email)
        fields = [name for name in LABELS if name != TAXABLE or account.sector == Sector.GAMBLING]
        return self._renderer.part(
            "payouts/new.html", staff, here=PAYOUTS, labels=LABELS, names=NAMES, fields=fields, taxable=TAXABLE,
            **vars(form),
        )  # fmt: skip

    async def _review(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        said = dict(await fields_of(request))
        account = await self._account(staff, said.get("account", ""))
        # One choice of the form says the card and whose it is.
        said["saved_card"], _, said["customer"] = said.get("saved", "").partition(" ")
        about = await payment_about(self._services, staff.installation.id, said.get("payment", ""))
        try:
            review = await propose(
                self._services,
                account,
                said,
                self._signature(request, staff),
                about=None if about is None else about.payment.id,
            )
        except PayoutRefusedError as refusal:
            raise _refused(staff, refusal) from refusal
        return self._renderer.part(
            "payouts/review.html",
            staff,
            here=PAYOUTS,
            review=review,
            labels=LABELS,
            recipient={name: getattr(review.terms.recipient, name) for name in RECIPIENT},
            about=None if about is None else about.payment,
        )

    async def _confirm(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        sealed = dict(await fields_of(request)).get("sealed", "")
        by = self._signature(request, staff)
        try:
            aggregate = await confirm(self._services, staff.installation.id, sealed, by, email=staff.email)
        except PayoutRefusedError as refusal:
            raise _refused(staff, refusal) from refusal
        except VaultError as error:
            raise refused(409, "SEALED", staff.translation, _SEALED) from error
        payment, state = aggregate.payment, aggregate.create.state
        log.info("payout confirmed", payment=payment.order_id, staff=staff.id, state=state.value)
        why = StoredMessage(aggregate.create.message or "") if state is State.FAILURE else None
        flash = Flash(_DONE.get(state, _OPEN), _STATUSES.get(state, "info"), why)
        return await self._payment.part(staff, payment.order_id, flash, at=f"/payments/{payment.order_id}")

    async def _account(self, staff: Staff, account_id: str) -> MerchantAccount:
        for each in await accounts_of(self._services, staff.installation.id, staff.email):
            if each.id == account_id:
                return each
        raise refused(403, "NOT_NAMED", staff.translation, NOT_NAMED)

    def _signature(self, request: Request, staff: Staff) -> Signature:
        return Signature(staff.name, self._services.now(), address_of(request, self._address_header))


def address_of(request: Request, header: str | None) -> str:
    """Return where a request comes from, as a proxy of ours tells it in ``header``, or the connection itself."""
    told = ",".join(request.headers.getlist(header)).rpartition(",")[2].strip() if header else ""
    for each in (told, request.client.host if request.client else ""):
        try:
            return str(ip_address(each))
        except ValueError:
            continue
    return "127.0.0.1"  # a socket of this machine, or a proxy that says nothing


def _refused(staff: Staff, refusal: PayoutRefusedError) -> HTTPException:
    """Return the refusal of a form, at each of its fields; ``card`` is that of a typed one, or of the choice."""
    fields = {name: words for name, words in refusal.refused.items() if name}
    if "card" in fields:
        fields["saved"] = fields["card"]
    words: LazyMessage | str = refusal.refused.get("") or _WRONG
    return refused(422, "PAYOUT_REFUSED", staff.translation, words, fields=fields)


async def _for_spreadsheets(lines: AsyncIterator[str]) -> AsyncIterator[bytes]:
    """Return the lines as a file that people open: without this mark spreadsheets do not take it for UTF-8."""
    yield "\N{BYTE ORDER MARK}".encode()
    async for some in lines:
        yield some.encode()
