"""Actions by staff: charge, refund, cancel, granted refunds (Saleor contract, A.5 and A.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.app_client import AppClient
from saleor_app_sdk.testing.ids import global_id
from saleor_app_sdk.testing.notifications import Notifications
from saleor_app_sdk.testing.records import App, Event, GrantedRefund, Order, Transaction, Webhook
from saleor_app_sdk.testing.rendering import granted_refund_view, order_view
from saleor_app_sdk.testing.rules.grants import GrantRefusedError, update_granted_refund_status
from saleor_app_sdk.testing.rules.recording import record_action_response
from saleor_app_sdk.testing.rules.requests import (
    NO_APP_FOR_ACTION,
    fail_undeliverable_request,
    request_action,
    request_granted_refund,
)
from saleor_app_sdk.testing.rules.responses import SaleorCrashedError
from saleor_app_sdk.testing.saleor_state import Delivery, SaleorState
from saleor_app_sdk.testing.storefront import build_basket
from saleor_app_sdk.testing.views import ActionView, ErrorView, GrantedLine, NewCheckout, OrderView, RequestedAction
from saleor_app_sdk.testing.vocabulary import ACTION_EVENTS, HANDLE_PAYMENTS, MANAGE_ORDERS, Action


@dataclass(frozen=True)
class _RecordedRequest:
    """A request whose event is recorded."""

    transaction: Transaction
    action: Action
    request: Event


@dataclass(frozen=True)
class _PendingRequest:
    """An action to be delivered to the app."""

    webhook: Webhook
    action: Action
    transaction: Transaction
    request: Event
    body: bytes
    unplayed: list[str]


class Staff:
    """Actions of staff in the Dashboard. Mutations return at once; the app is called in the background."""

    def __init__(self, state: SaleorState, app_client: AppClient, notifications: Notifications) -> None:
        self._state = state
        self._app_client = app_client
        self._notifications = notifications

    def request_action(
        self, transaction_id: str, action: Action, amount: Decimal | None = None, reason: str = ""
    ) -> ActionView:
        """``transactionRequestAction``. The amount is limited to the available one, which may be zero."""
        requested = RequestedAction(transaction_id=transaction_id, action=action, amount=amount, reason=reason)
        [result] = self.request_actions([requested])
        return result

    def request_refund_for_granted_refund(
        self, granted_refund_id: str, transaction_id: str | None = None
    ) -> ActionView:
        """``transactionRequestRefundForGrantedRefund``: request a granted refund from the app.

        ``transaction_id`` is used only if the granted refund itself names no transaction.
        """
        requested = RequestedAction(granted_refund_id=granted_refund_id, transaction_id=transaction_id)
        [result] = self.request_actions([requested])
        return result

    def request_actions(self, actions: Sequence[RequestedAction]) -> list[ActionView]:
        """Request several actions at the same moment, as two members of staff do who click at the same time.

        Each mutation records its request and builds its webhook's body. Here all requests are recorded before the first
        body is built, so every body lists all of them (Saleor contract, A.10).
        """
        recorded = [self._record_request(requested) for requested in actions]
        deliveries = [
            self._build_pending_request(request) if isinstance(request, _RecordedRequest) else None
            for request in recorded
        ]
        for pending in deliveries:
            if pending is not None:
                self._state.run_in_background(self._deliver_and_record(pending))
        return [
            self._mutation_result(delivery, has_handler=pending is not None)
            if isinstance(delivery, _RecordedRequest)
            else delivery
            for delivery, pending in zip(recorded, deliveries, strict=True)
        ]

    def create_order(self, wanted: NewCheckout | None = None) -> OrderView:
        """``draftOrderComplete``: an unpaid order that staff took, for example by telephone. Sends ORDER_CREATED."""
        order = Order(token=str(uuid4()), number=str(next(self._state.order_numbers)), basket=build_basket(wanted))
        self._state.orders[order.id] = order
        self._notifications.notify("ORDER_CREATED", {"order": payload.source(order)}, MANAGE_ORDERS)
        return order_view(order)

    def cancel_order(self, order_id: str) -> OrderView:
        """``orderCancel``."""
        order = self._state.order(order_id)
        order.status = "CANCELED"
        return order_view(order)

    def expire_order(self, order_id: str) -> OrderView:
        """Saleor's task that ends orders which were not paid in time (``orderSettings.expireOrdersAfter``)."""
        order = self._state.order(order_id)
        order.status = "EXPIRED"
        return order_view(order)

    def return_order(self, order_id: str) -> OrderView:
        """``orderFulfillmentReturnProducts`` of everything: no refund is granted by that."""
        order = self._state.order(order_id)
        order.status = "RETURNED"
        return order_view(order)

    def change_total(self, source_id: str, total: Decimal) -> None:
        """Change the price of the first line, so that a checkout or an order comes to ``total``."""
        basket = self._state.source(source_id).basket
        line = basket.lines[0]
        line.unit_price += (total - basket.total) / line.quantity

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
        """``orderGrantRefundCreate``: grant a refund on an order; the app is not called yet."""
        order = self._state.order(order_id)
        by_id = {global_id("OrderLine", line.key): line for line in order.basket.lines}
        granted = GrantedRefund(
            id=global_id("OrderGrantedRefund", next(self._state.refund_numbers)),
            order=order,
            amount=amount,
            reason=reason,
            shipping_costs_included=shipping_costs_included,
            lines=[(by_id[line.line_id], line.quantity, line.reason) for line in lines],
            transaction=self._state.transaction(transaction_id) if transaction_id else order.transactions[-1],
        )
        order.granted_refunds.append(granted)
        return ActionView(granted_refund=granted_refund_view(granted))

    def _record_request(self, requested: RequestedAction) -> "_RecordedRequest | ActionView":
        """Record the request event; return an ActionView with the errors if Saleor rejects the request."""
        state, key = self._state, str(uuid4())
        if requested.granted_refund_id is None:
            transaction = state.transaction(requested.transaction_id or "")
            reason_error = self._reason_error(requested)
            if reason_error is not None:
                return ActionView(errors=[reason_error])
            event = request_action(
                transaction,
                requested.action,
                requested.amount,
                state.event_clock,
                idempotency_key=key,
                reason=requested.reason,
            )
            return _RecordedRequest(transaction, requested.action, event)
        granted = state.granted_refund(requested.granted_refund_id)
        transaction = granted.transaction or state.transaction(requested.transaction_id or "")
        try:
            event = request_granted_refund(granted, transaction, state.event_clock, idempotency_key=key)
        except GrantRefusedError as refused:
            error = ErrorView(field=refused.field, code=refused.code, message=str(refused))
            return ActionView(errors=[error], granted_refund=granted_refund_view(granted))
        return _RecordedRequest(transaction, Action.REFUND, event)

    def _reason_error(self, requested: RequestedAction) -> ErrorView | None:
        """Return the error if this Saleor rejects the given reason; None otherwise."""
        if requested.reason and self._state.settings.minor < (3, 22):
            message = "Unknown argument 'refundReason' on field 'Mutation.transactionRequestAction'."
            return ErrorView(field=None, code="GRAPHQL_ERROR", message=message)
        if requested.reason and requested.action is not Action.REFUND:
            return ErrorView(field="refundReason", code="INVALID", message="Only a refund has a reason.")
        return None

    def _build_pending_request(self, recorded: "_RecordedRequest") -> "_PendingRequest | None":
        """Build the webhook's body; None if no app can handle the action, in which case the request has failed."""
        transaction, request = recorded.transaction, recorded.request
        found = self._find_webhook(transaction, recorded.action)
        if found is None:
            fail_undeliverable_request(transaction, request, self._state.event_clock)
            return None
        body, unplayed = self._app_client.build_body(*found, payload.action_requested(transaction, request))
        # After the body has been built: it still states the previous status.
        update_granted_refund_status(request.granted_refund)
        return _PendingRequest(found[1], recorded.action, transaction, request, body, unplayed)

    @staticmethod
    def _mutation_result(recorded: "_RecordedRequest", *, has_handler: bool) -> ActionView:
        granted = recorded.request.granted_refund
        missing = ErrorView(field="id", code="MISSING_TRANSACTION_ACTION_REQUEST_WEBHOOK", message=NO_APP_FOR_ACTION)
        return ActionView(
            errors=[] if has_handler else [missing], granted_refund=granted_refund_view(granted) if granted else None
        )

    def _find_webhook(self, transaction: Transaction, action: Action) -> tuple[App, Webhook] | None:
        app = self._state.apps.get(transaction.app_identifier)
        if app is None or not app.active or HANDLE_PAYMENTS not in app.permissions:
            return None
        return next(((app, hook) for hook in app.webhooks if hook.event is ACTION_EVENTS[action]), None)

    async def _deliver_and_record(self, pending: _PendingRequest) -> None:
        """Deliver an action and record the response, as Saleor's background task; twice with ``webhooks_twice``."""
        event_clock = self._state.event_clock
        for _ in range(2 if self._state.faults.webhooks_twice else 1):
            delivery = await self._deliver_with_retries(pending)
            # Below 500 the status is ignored: a 400 with a success in its body is a success.
            response = delivery.json if delivery.status is not None and delivery.status < 500 else None
            try:
                record_action_response(pending.transaction, pending.request, pending.action, response, event_clock)
            except SaleorCrashedError as crash:
                delivery.error = f"{crash} ({crash.code})"

    async def _deliver_with_retries(self, pending: _PendingRequest) -> Delivery:
        """Deliver, and retry after a 5xx with increasing delays; retries have an empty body."""
        delivery = await self._app_client.post_event(pending.webhook, pending.body, unplayed=pending.unplayed)
        return await self._app_client.retry_event(pending.webhook, delivery)
