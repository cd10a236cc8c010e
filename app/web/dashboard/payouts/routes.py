"""The routes of payouts. All staff who handle payments see them; only those whom the store owner named make them."""

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.core.vocabulary import State
from app.flows.pay_out import Signature
from app.flows.staff.payouts import (
    NOT_AUTHORIZED,
    Person,
    confirm,
    is_another_version,
    payout_accounts,
    propose,
    reopen,
    require_payout_right,
)
from app.i18n.messages import LazyMessage, StoredMessage, gettext_noop
from app.reports.payout_view import payout_rows
from app.reports.sheet import SheetForm
from app.rules.requests.payout import TAXABLE, PayoutRefusedError
from app.services import Services
from app.store.tables import MerchantAccount
from app.store.vault import VaultError
from app.web.client_address import client_address
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.payments.actions import Flash
from app.web.dashboard.payments.page import PaymentRenderer
from app.web.dashboard.payouts.page import (
    LABELS,
    NAMES,
    PayoutForm,
    find_payment_for_payout,
    read_changed_form,
    read_form,
    read_list,
)
from app.web.dashboard.renderer import PAYOUTS, Renderer
from app.web.dashboard.sheet_response import sheet_response, style_of
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from gateway_client.models import Sector

log = structlog.get_logger(__name__)

_WRONG = gettext_noop("Nothing was paid out. Check the marked fields in the form.")
_KEYS_SEALED = gettext_noop(
    "The keys of this account cannot be decrypted: the key is missing from the secret key file. Contact the app "
    "operator."
)
_DONE = {
    State.SUCCESS: gettext_noop("The payout was made."),
    State.FAILURE: gettext_noop("The payout was not made."),
}
_STATUSES = {State.SUCCESS: "success", State.FAILURE: "error"}
_MADE_BEFORE = LazyMessage(
    "This payout had been confirmed already, as it is shown here. What you have confirmed now was not paid out."
)
_OPEN = gettext_noop("The outcome is not known yet: the app will find out. Do not make this payout again.")


class PayoutParts:
    """The routes of payouts. ``address_header`` is the header in which a trusted proxy states the client's address."""

    def __init__(self, services: Services, renderer: Renderer, address_header: str | None = None) -> None:
        self._services = services
        self._renderer = renderer
        self._payment_page = PaymentRenderer(services, renderer)
        self._address_header = address_header

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route("/payouts", self._list, methods=["GET"])
        for form in SheetForm:
            router.add_api_route(f"/payouts.{form.value}", self._export_route(form), methods=["POST"])
        router.add_api_route("/payouts/new", self._new, methods=["GET"])
        router.add_api_route("/payouts/new", self._form_for_customer, methods=["POST"])
        router.add_api_route("/payouts/review", self._review, methods=["POST"])
        router.add_api_route("/payouts/change", self._change, methods=["POST"])
        router.add_api_route("/payouts/confirm", self._confirm, methods=["POST"])

    async def _list(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        after = request.query_params.get("after")
        page = await read_list(self._services, staff.installation.id, _person(staff), after)
        return await self._renderer.part("payouts/list.html", staff, here=PAYOUTS, after=after, **vars(page))

    def _export_route(self, form: SheetForm) -> Callable[..., Awaitable[StreamingResponse]]:
        async def export(request: Request, staff: AnyStaff) -> StreamingResponse:
            style = style_of(staff, dict(await read_form_fields(request)))
            return await sheet_response(payout_rows(self._services, staff.installation.id, style), form, style)

        return export

    async def _new(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        query = request.query_params
        return await self._form(staff, query.get("account", ""), query.get("payment", ""))

    async def _form_for_customer(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the form with the cards of a customer; their e-mail address is never part of a page's address."""
        params = dict(await read_form_fields(request))
        return await self._form(
            staff, params.get("account", ""), params.get("payment", ""), params.get("customer_email", "")
        )

    async def _form(self, staff: Staff, account_id: str, order_id: str, email: str = "") -> HTMLResponse:
        about = await find_payment_for_payout(self._services, staff.installation.id, order_id)
        accounts = await payout_accounts(self._services, staff.installation.id, _person(staff))
        chosen_id = account_id or (about.payment.account_id if about else accounts[0].id if len(accounts) == 1 else "")
        account = next((account for account in accounts if account.id == chosen_id), None)
        if account is None:
            return await self._renderer.part("payouts/others.html", staff, here=PAYOUTS, accounts=accounts)
        return await self._filled(staff, await read_form(self._services, account, about, customer_email=email))

    async def _change(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the form with what was typed, from the review: nothing is lost that is to be corrected."""
        sealed = dict(await read_form_fields(request)).get("sealed", "")
        proposal = self._reopen(staff, sealed)
        account = await self._account(staff, proposal["account"])
        form = await read_changed_form(self._services, account, proposal, sealed)
        return await self._filled(staff, form, changed=True)

    def _reopen(self, staff: Staff, sealed: str) -> dict[str, Any]:
        try:
            return reopen(self._services, staff.installation.id, sealed)
        except PayoutRefusedError as refusal:
            raise _form_error(staff, refusal) from refusal

    async def _filled(self, staff: Staff, form: PayoutForm, *, changed: bool = False) -> HTMLResponse:
        account = form.account
        fields = [name for name in LABELS if name != TAXABLE or account.sector == Sector.GAMBLING]
        return await self._renderer.part(
            "payouts/new.html", staff, here=PAYOUTS, labels=LABELS, names=NAMES, fields=fields, taxable=TAXABLE,
            changed=changed, **vars(form),
        )  # fmt: skip

    async def _review(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        params = dict(await read_form_fields(request))
        account = await self._account(staff, params.get("account", ""))
        # One choice of the form contains both the card and its customer.
        params["saved_card"], _, params["customer"] = params.get("saved", "").partition(" ")
        kept = params.get("kept")
        if kept and not params.get("card") and not params["saved_card"]:
            params["card"] = self._reopen(staff, kept)["card"]
        about = await find_payment_for_payout(self._services, staff.installation.id, params.get("payment", ""))
        try:
            review = await propose(
                self._services,
                account,
                params,
                self._signature(request, staff),
                about=None if about is None else about.payment.id,
            )
        except PayoutRefusedError as refusal:
            raise _form_error(staff, refusal) from refusal
        return await self._renderer.part(
            "payouts/review.html",
            staff,
            here=PAYOUTS,
            review=review,
            labels=LABELS,
            recipient=review.terms.details,
            about=None if about is None else about.payment,
        )

    async def _confirm(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        sealed = dict(await read_form_fields(request)).get("sealed", "")
        by = self._signature(request, staff)
        try:
            aggregate = await confirm(self._services, staff.installation.id, sealed, by, person=_person(staff))
        except PayoutRefusedError as refusal:
            raise _form_error(staff, refusal) from refusal
        except VaultError as error:
            raise http_error(409, "SEALED", staff.translation, _KEYS_SEALED) from error
        payment, state = aggregate.payment, aggregate.create.state
        log.info("payout.confirmed", payment=payment.order_id, staff=staff.id, state=state.value)
        why = StoredMessage(aggregate.create.message or "") if state is State.FAILURE else None
        flash = Flash(_DONE.get(state, _OPEN), _STATUSES.get(state, "info"), why)
        if await is_another_version(self._services, staff.installation.id, sealed, aggregate):
            flash = Flash(_DONE.get(state, _OPEN), "info", _MADE_BEFORE)
        return await self._payment_page.render(staff, payment.order_id, flash, at=f"/payments/{payment.order_id}")

    async def _account(self, staff: Staff, account_id: str) -> MerchantAccount:
        for account in await self._services.accounts.all(staff.installation.id):
            if account.id == account_id:
                try:
                    return await require_payout_right(self._services, account, _person(staff))
                except PayoutRefusedError as refusal:
                    raise http_error(403, "NOT_NAMED", staff.translation, refusal.errors[""]) from refusal
        raise http_error(403, "NOT_NAMED", staff.translation, NOT_AUTHORIZED)

    def _signature(self, request: Request, staff: Staff) -> Signature:
        return Signature(staff.name, self._services.now(), client_address(request, self._address_header))


def _person(staff: Staff) -> Person:
    return Person(staff.id, staff.email)


def _form_error(staff: Staff, refusal: PayoutRefusedError) -> HTTPException:
    """Return the error for a refused form, with a message for each field; ``card`` applies to the choice as well."""
    fields = {name: message for name, message in refusal.errors.items() if name}
    if "card" in fields:
        fields["saved"] = fields["card"]
    message: LazyMessage | str = refusal.errors.get("") or _WRONG
    return http_error(422, "PAYOUT_REFUSED", staff.translation, message, fields=fields)
