"""The parts about one payment: its page, and what staff do there for one store.

A page at `/payments/7` fetches `/parts/payments/7`. Whatever changes something is a POST.
"""

from collections.abc import Awaitable, Callable
from decimal import Decimal

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse

from app.amounts import NotAnAmountError
from app.dashboard.form import fields_of
from app.dashboard.payments.actions import (
    KINDS,
    Flash,
    NotOurFormError,
    amount_typed,
    flash_of,
    read_amounts,
    read_staff_request,
)
from app.dashboard.payments.asking import AskParts
from app.dashboard.payments.page import stamp_of
from app.dashboard.payments.payment_view import Shown, no_payment
from app.dashboard.payments.retry_routes import AgainParts
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, refused
from app.db.aggregates import ByOrder, PaymentAggregate
from app.db.repository import PaymentNotFoundError
from app.db.tables import Kind
from app.i18n.messages import gettext_noop
from app.payments.accounts.balances import read_balances, refund_warning
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.services import Services
from app.payments.split.choice import choose, leave_it_to_the_rules
from app.payments.split.rules import names_of
from app.payments.staff.actions import ask_for
from app.payments.staff.subscription import cancel_subscription

log = structlog.get_logger(__name__)

_LONGEST_ORDER = 32  # what anybody writes into an address is longer

_NOT_AN_AMOUNT = gettext_noop("Write amounts like 1234.50.")
_NOT_OUR_FORM = gettext_noop("Reload the page: this form cannot be sent.")
_CHOSEN = gettext_noop("The choice is kept for the next refund.")
_SUBSCRIPTION_CANCELLED = gettext_noop("The subscription is cancelled: nothing more is charged for it.")
_REMOVED = gettext_noop("The choice is removed: the next refund goes by the rules.")


class PaymentParts:
    """The parts about one payment, as ``renderer`` writes them."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer
        self._shown = Shown(services, renderer)

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/payments/{order_id}", self._payment, methods=["GET"])
        router.add_api_route("/payments/{order_id}/stamp", self._stamp, methods=["GET"])
        AgainParts(self._services, self._renderer, self._shown).add_to(router)
        AskParts(self._services, self._shown).add_to(router)
        for kind in KINDS:
            router.add_api_route(f"/payments/{{order_id}}/{kind.value}", self._acting(kind), methods=["POST"])
        router.add_api_route("/payments/{order_id}/cancel-subscription", self._cancel_subscription, methods=["POST"])
        router.add_api_route("/payments/{order_id}/refund/warning", self._warn, methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund", self._choose, methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund/leave-to-rules", self._leave, methods=["POST"])

    async def _payment(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        return await self._shown.part(staff, order_id)

    async def _stamp(self, order_id: str, staff: AnyStaff) -> PlainTextResponse:
        """Return what differs as soon as the page would show something else."""
        return PlainTextResponse(stamp_of(await self._shown.payment(staff, order_id)))

    def _acting(self, kind: Kind) -> Callable[..., Awaitable[HTMLResponse]]:
        async def act(request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
            try:
                staff_request = read_staff_request(kind, staff.name, await fields_of(request))
            except (NotAnAmountError, NotOurFormError) as wrong:
                await self._shown.payment(staff, order_id)  # of a payment that is another store's nothing else is said
                if isinstance(wrong, NotAnAmountError):
                    raise refused(422, "INVALID_AMOUNT", staff.translation, _NOT_AN_AMOUNT) from wrong
                raise refused(422, "INVALID_DATA", staff.translation, _NOT_OUR_FORM) from wrong
            log.info("staff act", payment=order_id[:_LONGEST_ORDER], kind=kind.value, staff=staff.id)
            try:
                aggregate, operation = await ask_for(
                    self._services, order_id, staff_request, installation_id=staff.installation.id
                )
            except RefusalError as refusal:
                if refusal.code is RefusalCode.UNKNOWN_PAYMENT:
                    raise no_payment(staff) from refusal
                raise refused(422, refusal.code, staff.translation, refusal.message) from refusal
            return await self._shown.part_of(staff, aggregate, flash_of(operation))

        return act

    async def _cancel_subscription(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        log.info("staff cancel a subscription", payment=order_id[:_LONGEST_ORDER], staff=staff.id)
        try:
            aggregate = await cancel_subscription(
                self._services, order_id, staff.name, installation_id=staff.installation.id
            )
        except RefusalError as refusal:
            if refusal.code is RefusalCode.UNKNOWN_PAYMENT:
                raise no_payment(staff) from refusal
            raise refused(409, refusal.code, staff.translation, refusal.message) from refusal
        return await self._shown.part_of(staff, aggregate, Flash(_SUBSCRIPTION_CANCELLED))

    async def _warn(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        """Return what to say beside a refund as it is filled in so far: nothing, unless the balance is too little.

        It is asked for beside the page, which does not wait for the gateway.
        """
        payment = (await self._shown.payment(staff, order_id)).payment
        warning = has = None
        amount = amount_typed(await fields_of(request))
        if amount is not None:
            has = await read_balances(self._services, payment.account)
            warning = refund_warning(amount, payment.currency, has)
        age = None if has is None or has.as_of is None else self._services.now() - has.as_of
        return self._renderer.part("payments/refund_warning.html", staff, here=None, warning=warning, has=has, age=age)

    async def _choose(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        try:
            amounts = read_amounts(await fields_of(request))
        except NotAnAmountError as typed:
            raise refused(422, "INVALID_AMOUNT", staff.translation, _NOT_AN_AMOUNT) from typed
        aggregate = await self._decide(staff, order_id, amounts)
        return await self._shown.part_of(staff, aggregate, Flash(_CHOSEN))

    async def _leave(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._decide(staff, order_id, None)
        return await self._shown.part_of(staff, aggregate, Flash(_REMOVED))

    async def _decide(self, staff: Staff, order_id: str, amounts: dict[str, Decimal] | None) -> PaymentAggregate:
        """Store from whom the next refund is taken, and return the payment; None: leave it to the rules."""
        now = self._services.now()

        def step(aggregate: PaymentAggregate) -> PaymentAggregate:
            if amounts is None:
                leave_it_to_the_rules(aggregate, now)
            else:
                choose(aggregate, amounts, now, names_of(aggregate.payment.account.split_rules))
            return aggregate

        try:
            aggregate = await self._services.payments.update(
                ByOrder(order_id, installation_id=staff.installation.id), step
            )
        except PaymentNotFoundError as unknown:
            raise no_payment(staff) from unknown
        except RefusalError as refusal:
            raise refused(422, refusal.code, staff.translation, refusal.message) from refusal
        what = "next refund chosen" if amounts is not None else "next refund left to the rules"
        log.info(what, payment=aggregate.payment.order_id, staff=staff.id)
        return aggregate
