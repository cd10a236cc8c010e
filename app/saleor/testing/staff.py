"""The staff's side: charge, refund, cancel, granted refunds (Saleor contract, A.5 and A.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from app.saleor.testing import payload
from app.saleor.testing.app_client import AppClient
from app.saleor.testing.ids import global_id
from app.saleor.testing.records import App, Event, GrantedRefund, Order, Transaction, Webhook
from app.saleor.testing.rendering import show_granted, show_order
from app.saleor.testing.rules.answers import SaleorCrashedError
from app.saleor.testing.rules.grants import GrantRefusedError, settle_granted_refund
from app.saleor.testing.rules.recording import record_action_answer
from app.saleor.testing.rules.requests import NOBODY_LISTENS, fail_unheard, request_action, request_granted_refund
from app.saleor.testing.saleor_state import Delivery, SaleorState
from app.saleor.testing.storefront import new_basket
from app.saleor.testing.views import ActionView, AskedAction, ErrorView, GrantedLine, NewCheckout, OrderView
from app.saleor.testing.vocabulary import ACTION_EVENTS, HANDLE_PAYMENTS, Action


@dataclass(frozen=True)
class _Opened:
    """A request that is written down."""

    transaction: Transaction
    action: Action
    request: Event


@dataclass(frozen=True)
class _PendingRequest:
    """An action on its way to the app."""

    webhook: Webhook
    action: Action
    transaction: Transaction
    request: Event
    body: bytes
    unplayed: list[str]


class Staff:
    """What staff do in the Dashboard. Mutations answer at once; the app is called in the background."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client

    def request_action(
        self, transaction_id: str, action: Action, amount: Decimal | None = None, reason: str = ""
    ) -> ActionView:
        """``transactionRequestAction``. The amount is clipped to what there is, which may be nothing."""
        asked = AskedAction(transaction_id=transaction_id, action=action, amount=amount, reason=reason)
        [answer] = self.request_at_once([asked])
        return answer

    def refund_granted(self, granted_refund_id: str, transaction_id: str | None = None) -> ActionView:
        """``transactionRequestRefundForGrantedRefund``: ask the app for a refund that was granted.

        ``transaction_id`` counts only where the grant names no transaction itself.
        """
        asked = AskedAction(granted_refund_id=granted_refund_id, transaction_id=transaction_id)
        [answer] = self.request_at_once([asked])
        return answer

    def request_at_once(self, wanted: Sequence[AskedAction]) -> list[ActionView]:
        """Ask for several things at the same moment, as two people do who press their buttons together.

        Each mutation writes its request and builds its webhook's body. Here all requests are written before the first
        body is built, so every body lists all of them (Saleor contract, A.10).
        """
        opened = [self._open(asked) for asked in wanted]
        requests = [self._pending_request(each) if isinstance(each, _Opened) else None for each in opened]
        for pending in requests:
            if pending is not None:
                self._state.in_background(self._carry_out(pending))
        return [
            self._answer(each, heard=pending is not None) if isinstance(each, _Opened) else each
            for each, pending in zip(opened, requests, strict=True)
        ]

    def new_order(self, wanted: NewCheckout | None = None) -> OrderView:
        """``draftOrderComplete``: an order that staff took, by telephone say. Nobody has paid anything of it."""
        order = Order(token=str(uuid4()), number=str(next(self._state.order_numbers)), basket=new_basket(wanted))
        self._state.orders[order.id] = order
        return show_order(order)

    def cancel_order(self, order_id: str) -> OrderView:
        """``orderCancel``."""
        order = self._state.order(order_id)
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
        return ActionView(granted_refund=show_granted(granted))

    def _open(self, asked: AskedAction) -> "_Opened | ActionView":
        """Write the request down; an ActionView says why Saleor does not."""
        state, key = self._state, str(uuid4())
        if asked.granted_refund_id is None:
            transaction = state.transaction(asked.transaction_id or "")
            unsaid = self._why_not_said(asked)
            if unsaid is not None:
                return ActionView(errors=[unsaid])
            event = request_action(
                transaction, asked.action, asked.amount, state.event_clock, idempotency_key=key, reason=asked.reason
            )
            return _Opened(transaction, asked.action, event)
        granted = state.granted_refund(asked.granted_refund_id)
        transaction = granted.transaction or state.transaction(asked.transaction_id or "")
        try:
            event = request_granted_refund(granted, transaction, state.event_clock, idempotency_key=key)
        except GrantRefusedError as refused:
            error = ErrorView(field=refused.field, code=refused.code, message=str(refused))
            return ActionView(errors=[error], granted_refund=show_granted(granted))
        return _Opened(transaction, Action.REFUND, event)

    def _why_not_said(self, asked: AskedAction) -> ErrorView | None:
        """Return why this Saleor does not take the reason that is given."""
        if asked.reason and self._state.settings.minor < (3, 22):
            words = "Unknown argument 'refundReason' on field 'Mutation.transactionRequestAction'."
            return ErrorView(field=None, code="GRAPHQL_ERROR", message=words)
        if asked.reason and asked.action is not Action.REFUND:
            return ErrorView(field="refundReason", code="INVALID", message="Only a refund has a reason.")
        return None

    def _pending_request(self, opened: "_Opened") -> "_PendingRequest | None":
        """Build the webhook; None: there is nobody to tell, and the request has failed."""
        transaction, request = opened.transaction, opened.request
        found = self._listener(transaction, opened.action)
        if found is None:
            fail_unheard(transaction, request, self._state.event_clock)
            return None
        body, unplayed = self._app_client.body(*found, payload.action_requested(transaction, request))
        # After the body was made: it still says what the status was before.
        settle_granted_refund(request.granted_refund)
        return _PendingRequest(found[1], opened.action, transaction, request, body, unplayed)

    @staticmethod
    def _answer(opened: "_Opened", *, heard: bool) -> ActionView:
        granted = opened.request.granted_refund
        missing = ErrorView(field="id", code="MISSING_TRANSACTION_ACTION_REQUEST_WEBHOOK", message=NOBODY_LISTENS)
        return ActionView(errors=[] if heard else [missing], granted_refund=show_granted(granted) if granted else None)

    def _listener(self, transaction: Transaction, action: Action) -> tuple[App, Webhook] | None:
        app = self._state.apps.get(transaction.app_identifier)
        if app is None or not app.active or HANDLE_PAYMENTS not in app.permissions:
            return None
        return next(((app, hook) for hook in app.webhooks if hook.event is ACTION_EVENTS[action]), None)

    async def _carry_out(self, pending: _PendingRequest) -> None:
        """The task of the background worker; delivered twice if everything is delivered twice."""
        event_clock = self._state.event_clock
        for _ in range(2 if self._state.faults.webhooks_twice else 1):
            delivery = await self._deliver(pending)
            # Below 500 nobody looks at the status: a 400 with a success in its body is a success.
            answer = delivery.json if delivery.status is not None and delivery.status < 500 else None
            try:
                record_action_answer(pending.transaction, pending.request, pending.action, answer, event_clock)
            except SaleorCrashedError as crash:
                delivery.error = f"{crash} ({crash.code})"

    async def _deliver(self, pending: _PendingRequest) -> Delivery:
        """Deliver, and after a 5xx deliver again, each time later; these retries have an empty body."""
        delivery = await self._app_client.post_event(pending.webhook, pending.body, unplayed=pending.unplayed)
        return await self._app_client.post_again(pending.webhook, delivery)
