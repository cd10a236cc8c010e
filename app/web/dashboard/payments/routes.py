"""The routes of one payment: its page, and the actions of staff there, for one store.

A page at `/payments/7` fetches `/parts/payments/7`. Every route that changes something is a POST.
"""

from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from functools import partial

import structlog
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, PlainTextResponse

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Kind
from app.flows.accounts.balances import read_balances, refund_warning
from app.flows.staff.actions import StaffRequest, request_action
from app.flows.staff.subscription import cancel_subscription
from app.i18n.messages import gettext_noop
from app.rules.decisions.refund_split import RefundSplitChosen
from app.rules.refusal import RefusalCode, RefusalError
from app.services import Services
from app.store.aggregates import ByOrder, account_of
from app.store.repository import PaymentNotFoundError
from app.web.dashboard.form import InvalidFieldsError, read_form_fields, refused_form_error
from app.web.dashboard.payments.actions import (
    KINDS,
    NOT_AN_AMOUNT,
    Flash,
    InvalidFormError,
    field_of,
    flash_for,
    read_amounts,
    read_staff_request,
    typed_amount,
)
from app.web.dashboard.payments.look_up_routes import LookUpParts
from app.web.dashboard.payments.page import PaymentRenderer, compute_stamp, unknown_payment_error
from app.web.dashboard.payments.retry_routes import RetryParts
from app.web.dashboard.renderer import Renderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error

log = structlog.get_logger(__name__)

_LONGEST_ORDER = 32  # for logs: an address can contain longer text

_INVALID_FORM = gettext_noop("This form cannot be submitted. Reload the page.")
_CHOSEN = gettext_noop("Your choice was saved for the next refund.")
_SUBSCRIPTION_CANCELLED = gettext_noop("The subscription was cancelled. Nothing more will be charged for it.")
_REMOVED = gettext_noop("Your choice was removed. The next refund will follow the rules.")


class PaymentParts:
    """The routes of one payment."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer
        self._payment_page = PaymentRenderer(services, renderer)

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route("/payments/{order_id}", self._payment, methods=["GET"])
        router.add_api_route("/payments/{order_id}/stamp", self._stamp, methods=["GET"])
        RetryParts(self._services, self._renderer, self._payment_page).add_to(router)
        LookUpParts(self._services, self._payment_page).add_to(router)
        for kind in KINDS:
            router.add_api_route(f"/payments/{{order_id}}/{kind.value}", self._action_route(kind), methods=["POST"])
        router.add_api_route("/payments/{order_id}/cancel-subscription", self._cancel_subscription, methods=["POST"])
        router.add_api_route("/payments/{order_id}/refund/warning", self._refund_warning, methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund", self._choose_shares, methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund/leave-to-rules", self._clear_choice, methods=["POST"])

    async def _payment(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        return await self._payment_page.render(staff, order_id)

    async def _stamp(self, order_id: str, staff: AnyStaff) -> PlainTextResponse:
        """Return a text that changes whenever the page would show something else."""
        return PlainTextResponse(compute_stamp(await self._payment_page.load(staff, order_id)))

    def _action_route(self, kind: Kind) -> Callable[..., Awaitable[HTMLResponse]]:
        async def act(request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
            fields = await read_form_fields(request)
            staff_request = await self._read_request(kind, order_id, staff, fields)
            log.info("action.requested", payment=order_id[:_LONGEST_ORDER], kind=kind.value, staff=staff.id)
            try:
                aggregate, operation = await request_action(
                    self._services, order_id, staff_request, installation_id=staff.installation.id
                )
            except RefusalError as refusal:
                if refusal.code is RefusalCode.UNKNOWN_PAYMENT:
                    raise unknown_payment_error(staff) from refusal
                raise refused_form_error(staff, refusal, partial(field_of, fields=fields)) from refusal
            return await self._payment_page.render_aggregate(staff, aggregate, flash_for(operation))

        return act

    async def _read_request(
        self, kind: Kind, order_id: str, staff: Staff, fields: Sequence[tuple[str, str]]
    ) -> StaffRequest:
        try:
            return read_staff_request(kind, staff.name, fields)
        except (InvalidFieldsError, InvalidFormError):
            # Perhaps its currency has more decimals; for another store's payment: 404, whatever the form.
            payment = (await self._payment_page.load(staff, order_id)).payment
        try:
            return read_staff_request(kind, staff.name, fields, currency=payment.currency)
        except InvalidFieldsError as invalid:
            raise _amounts_error(staff, invalid) from invalid
        except InvalidFormError as invalid:
            raise http_error(422, "INVALID_DATA", staff.translation, _INVALID_FORM) from invalid

    async def _cancel_subscription(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        log.info("subscription.cancelled", payment=order_id[:_LONGEST_ORDER], staff=staff.id)
        try:
            aggregate = await cancel_subscription(
                self._services, order_id, staff.name, installation_id=staff.installation.id
            )
        except RefusalError as refusal:
            if refusal.code is RefusalCode.UNKNOWN_PAYMENT:
                raise unknown_payment_error(staff) from refusal
            raise http_error(409, refusal.code, staff.translation, refusal.message) from refusal
        return await self._payment_page.render_aggregate(staff, aggregate, Flash(_SUBSCRIPTION_CANCELLED))

    async def _refund_warning(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        """Return the warning for the refund as typed so far: empty, unless the balance is insufficient.

        It is a request of its own, so that the page does not wait for the gateway.
        """
        payment = (await self._payment_page.load(staff, order_id)).payment
        warning = balances = None
        amount = typed_amount(await read_form_fields(request), payment.currency)
        if amount is not None:
            balances = await read_balances(self._services, account_of(payment))
            warning = refund_warning(amount, payment.currency, balances)
        age = None if balances is None or balances.as_of is None else self._services.now() - balances.as_of
        return await self._renderer.part(
            "payments/refund_warning.html", staff, here=None, warning=warning, has=balances, age=age
        )

    async def _choose_shares(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        fields = await read_form_fields(request)
        payment = (await self._payment_page.load(staff, order_id)).payment
        try:
            amounts = read_amounts(fields, currency=payment.currency)
        except InvalidFieldsError as invalid:
            raise _amounts_error(staff, invalid) from invalid
        aggregate = await self._store_choice(staff, order_id, amounts, fields)
        return await self._payment_page.render_aggregate(staff, aggregate, Flash(_CHOSEN))

    async def _clear_choice(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._store_choice(staff, order_id, None)
        return await self._payment_page.render_aggregate(staff, aggregate, Flash(_REMOVED))

    async def _store_choice(
        self,
        staff: Staff,
        order_id: str,
        amounts: dict[str, Decimal] | None,
        fields: Sequence[tuple[str, str]] = (),
    ) -> PaymentAggregate:
        """Store from whom the next refund is taken, and return the payment; None leaves it to the rules."""
        which = ByOrder(order_id, installation_id=staff.installation.id)
        try:
            aggregate = await self._services.payments.record(which, RefundSplitChosen(amounts, self._services.now()))
        except PaymentNotFoundError as unknown:
            raise unknown_payment_error(staff) from unknown
        except RefusalError as refusal:
            raise refused_form_error(staff, refusal, partial(field_of, fields=fields)) from refusal
        event = "refund_split.chosen" if amounts is not None else "refund_split.cleared"
        log.info(event, payment=aggregate.payment.order_id, staff=staff.id)
        return aggregate


def _amounts_error(staff: Staff, invalid: InvalidFieldsError) -> HTTPException:
    return http_error(422, "INVALID_AMOUNT", staff.translation, NOT_AN_AMOUNT, fields=invalid.fields)
