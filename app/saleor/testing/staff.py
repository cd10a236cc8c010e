"""The staff's side: charge, refund, cancel, granted refunds (Saleor contract, A.5 and A.6)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from app.saleor.testing import payload
from app.saleor.testing.courier import Courier
from app.saleor.testing.ids import global_id
from app.saleor.testing.rules.answers import SaleorCrashed
from app.saleor.testing.rules.booking import book_action_answer, open_request, settle_granted_refund
from app.saleor.testing.show import show_granted, show_order
from app.saleor.testing.state import App, Event, GrantedRefund, Order, Transaction, Webhook
from app.saleor.testing.storefront import new_basket
from app.saleor.testing.views import ActionView, ErrorView, GrantedLine, NewCheckout, OrderView
from app.saleor.testing.vocabulary import ACTION_EVENTS, HANDLE_PAYMENTS, Action, GrantedRefundStatus
from app.saleor.testing.world import Delivery, NotFound, World

_NOT_AGAIN = {
    GrantedRefundStatus.PENDING: ("REFUND_IS_PENDING", "Refund is pending."),
    GrantedRefundStatus.SUCCESS: ("REFUND_ALREADY_PROCESSED", "Refund has already been processed."),
}


@dataclass(frozen=True)
class _Errand:
    """An action on its way to the app."""

    webhook: Webhook
    action: Action
    transaction: Transaction
    request: Event
    body: bytes
    unplayed: list[str]


class Staff:
    """What staff do in the Dashboard. Mutations answer at once; the app is called in the background."""

    def __init__(self, world: World, courier: Courier) -> None:
        self._world = world
        self._courier = courier

    def request_action(self, transaction_id: str, action: Action, amount: Decimal | None = None) -> ActionView:
        """``transactionRequestAction``. The amount is clipped to what there is, which may be nothing."""
        return self._request(self._world.transaction(transaction_id), action, amount, None)

    def new_order(self, wanted: NewCheckout | None = None) -> OrderView:
        """``draftOrderComplete``: an order that staff took, by telephone say. Nobody has paid anything of it."""
        order = Order(token=str(uuid4()), number=str(next(self._world.order_numbers)), basket=new_basket(wanted))
        self._world.orders[order.id] = order
        return show_order(order)

    def cancel_order(self, order_id: str) -> OrderView:
        """``orderCancel``."""
        order = self._world.order(order_id)
        order.status = "CANCELED"
        return show_order(order)

    def grant_refund(
        self,
        order_id: str,
        amount: Decimal,
        *,
        transaction_id: str | None = None,
        lines: Sequence[GrantedLine] = (),
        reason: str = "",
        shipping_costs_included: bool = False,
    ) -> ActionView:
        """``orderGrantRefundCreate``: a promise on an order; nobody is called yet."""
        order = self._world.order(order_id)
        by_id = {global_id("OrderLine", line.key): line for line in order.basket.lines}
        granted = GrantedRefund(
            id=global_id("OrderGrantedRefund", next(self._world.refund_numbers)),
            order=order,
            amount=amount,
            reason=reason,
            shipping_costs_included=shipping_costs_included,
            lines=[(by_id[line.line_id], line.quantity, line.reason) for line in lines],
            transaction=self._world.transaction(transaction_id) if transaction_id else order.transactions[-1],
        )
        order.granted_refunds.append(granted)
        return ActionView(granted_refund=show_granted(granted))

    def refund_granted(self, granted_refund_id: str) -> ActionView:
        """``transactionRequestRefundForGrantedRefund``: ask the app for a refund that was granted."""
        orders = self._world.orders.values()
        granted = next((g for order in orders for g in order.granted_refunds if g.id == granted_refund_id), None)
        if granted is None or granted.transaction is None:
            msg = f"no granted refund {granted_refund_id!r}"
            raise NotFound(msg)
        if granted.status in _NOT_AGAIN:
            code, message = _NOT_AGAIN[granted.status]
            return ActionView(errors=[ErrorView(field="grantedRefundId", code=code, message=message)])
        return self._request(granted.transaction, Action.REFUND, granted.amount, granted)

    def _request(
        self, transaction: Transaction, action: Action, amount: Decimal | None, granted: GrantedRefund | None
    ) -> ActionView:
        world = self._world
        found = self._listener(transaction, action)
        if found is None:
            message = "No app or plugin is configured to handle requested action."
            code = "MISSING_TRANSACTION_ACTION_REQUEST_WEBHOOK"
            return ActionView(errors=[ErrorView(field="id", code=code, message=message)])
        there = transaction.amounts.charged if action is Action.REFUND else transaction.amounts.authorized
        clipped = there if amount is None else min(amount, there)
        request = open_request(
            transaction, action.request, clipped, world.scribe, idempotency_key=str(uuid4()), granted_refund=granted
        )
        body, unplayed = self._courier.body(*found, payload.action_requested(transaction, request))
        if granted:
            # After the body was made: it still says NONE.
            settle_granted_refund(granted)
        errand = _Errand(found[1], action, transaction, request, body, unplayed)
        world.in_background(self._carry_out(errand))
        return ActionView(granted_refund=show_granted(granted) if granted else None)

    def _listener(self, transaction: Transaction, action: Action) -> tuple[App, Webhook] | None:
        app = self._world.apps.get(transaction.app_identifier)
        if app is None or not app.active or HANDLE_PAYMENTS not in app.permissions:
            return None
        return next(((app, hook) for hook in app.webhooks if hook.event is ACTION_EVENTS[action]), None)

    async def _carry_out(self, errand: _Errand) -> None:
        """The task of the background worker; delivered twice if everything is delivered twice."""
        scribe = self._world.scribe
        for _ in range(2 if self._world.nuisances.webhooks_twice else 1):
            delivery = await self._deliver(errand)
            # Below 500 nobody looks at the status: a 400 with a success in its body is a success.
            answer = delivery.json if delivery.status is not None and delivery.status < 500 else None
            try:
                book_action_answer(errand.transaction, errand.request, errand.action, answer, scribe)
            except SaleorCrashed as crash:
                delivery.error = f"{crash} ({crash.code})"

    async def _deliver(self, errand: _Errand) -> Delivery:
        """Deliver, and after a 5xx deliver again, each time later; these retries have an empty body."""
        delivery = await self._courier.post_event(errand.webhook, errand.body, unplayed=errand.unplayed)
        for attempt, delay in enumerate(self._world.settings.retry_delays, 2):
            if delivery.status is None or delivery.status < 500:
                break
            await asyncio.sleep(delay * self._world.settings.delay_factor)
            delivery = await self._courier.post_event(errand.webhook, b"", attempt=attempt)
        return delivery
