"""The shopper's side: checkout, sessions, order (Saleor contract, A.3 and A.4)."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from app.saleor.testing import defaults, payload
from app.saleor.testing.app_client import AppClient
from app.saleor.testing.money import in_currency
from app.saleor.testing.records import App, Basket, Checkout, Event, Line, Order, Transaction, Webhook
from app.saleor.testing.rendering import show_checkout, show_event, show_order, show_transaction
from app.saleor.testing.rules.answers import SaleorCrashedError
from app.saleor.testing.rules.coverage import authorize_status, left_to_pay
from app.saleor.testing.rules.recording import final_event, open_request, record_session_answer
from app.saleor.testing.saleor_state import Delivery, NotFoundError, SaleorState
from app.saleor.testing.views import (
    CheckoutView,
    CompletionView,
    ErrorView,
    GatewayView,
    NewCheckout,
    NewLine,
    SessionView,
)
from app.saleor.testing.vocabulary import HANDLE_PAYMENTS, AuthorizeStatus, EventType, Flow, WebhookEvent

TRANSACTIONS_LIMIT = 100
CUSTOMER_IP = "127.0.0.1"
CUSTOMER = "customer"
"""The customer of the checkout or order, signed in; of a guest's there is none, and nobody is."""
_UNREADABLE_GATEWAY = "Unable to process a payment gateway response."
_REQUESTS = frozenset({EventType.CHARGE_REQUEST, EventType.AUTHORIZATION_REQUEST})


class PaymentGatewayInitializeSessionSchema(BaseModel):
    """Named as in Saleor: storefronts are shown this model's own complaint."""

    data: Any


class Storefront:
    """What a storefront does, for a shopper without an account unless the checkout says otherwise."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client

    def new_checkout(self, wanted: NewCheckout | None = None) -> CheckoutView:
        """Fill a basket. Without a word: one bottle and shipping, 569.50 UAH."""
        checkout = Checkout(token=str(uuid4()), basket=new_basket(wanted))
        self._state.checkouts[checkout.id] = checkout
        return show_checkout(checkout)

    def gateways(self) -> list[str]:
        """``availablePaymentGateways``: the apps that are active, may handle payments and listen to sessions."""
        return [
            app.identifier
            for app in self._state.apps.values()
            if not isinstance(self._gateway(app.identifier, WebhookEvent.TRANSACTION_INITIALIZE_SESSION), ErrorView)
        ]

    async def gateway_initialize(
        self,
        source_id: str,
        *,
        data: Any = None,
        amount: Decimal | None = None,
        gateway: str | None = None,
        caller: str = CUSTOMER,
    ) -> GatewayView:
        """``paymentGatewayInitialize`` for one gateway. ``caller``: who asks (``payload.principal``)."""
        source = self._state.source(source_id)
        found = self._gateway(gateway, WebhookEvent.PAYMENT_GATEWAY_INITIALIZE_SESSION)
        if isinstance(found, ErrorView):
            return GatewayView(data=None, errors=[found])
        app, webhook = found
        fields = payload.gateway_initialize(source, left_to_pay(source) if amount is None else amount, data)
        fields |= payload.principal(caller, source)
        delivery = (await self._app_client.deliver(app, webhook, fields))[0]
        answer = _session_json(delivery)
        message = _UNREADABLE_GATEWAY
        if answer is not None:
            try:
                config = PaymentGatewayInitializeSessionSchema.model_validate(answer)
                return GatewayView(data=config.data, errors=[])
            except ValidationError as exc:
                message = str(exc)
        return GatewayView(data=None, errors=[ErrorView(field="id", code="INVALID", message=message)])

    async def initialize(
        self,
        source_id: str,
        *,
        amount: Decimal | None = None,
        action: Flow = Flow.CHARGE,
        idempotency_key: str | None = None,
        data: Any = None,
        gateway: str | None = None,
        customer_ip: str = CUSTOMER_IP,
        caller: str = CUSTOMER,
    ) -> SessionView:
        """``transactionInitialize``. The default amount is what is left to pay, which may be nothing."""
        source = self._state.source(source_id)
        found = self._gateway(gateway, WebhookEvent.TRANSACTION_INITIALIZE_SESSION)
        if isinstance(found, ErrorView):
            return SessionView(errors=[found])
        if len(source.transactions) >= TRANSACTIONS_LIMIT:
            message = f"A {type(source).__name__.lower()} has at most {TRANSACTIONS_LIMIT} transactions."
            return SessionView(errors=[ErrorView(field="id", code="INVALID", message=message)])
        asked = in_currency(left_to_pay(source) if amount is None else amount, source.basket.currency)
        key = idempotency_key or str(uuid4())
        opened = self._open(source, found[0], action, asked, key)
        if opened is None:
            message = "Different transaction with provided idempotency key already exists."
            return SessionView(errors=[ErrorView(field="idempotencyKey", code="UNIQUE", message=message)])
        transaction, request = opened
        fields = payload.session(transaction, request, data, customer_ip)
        fields = {**fields, **payload.principal(caller, source), "idempotencyKey": key}
        return await self._ask(*found, transaction, request, fields)

    async def process(
        self, transaction_id: str, *, data: Any = None, customer_ip: str = CUSTOMER_IP, caller: str = CUSTOMER
    ) -> SessionView:
        """``transactionProcess``. When the session has ended already, the app is not called."""
        transaction = self._state.transaction(transaction_id)
        if ended := final_event(transaction):
            return SessionView(transaction=show_transaction(transaction), event=show_event(ended))
        requests = [event for event in transaction.events if event.type in _REQUESTS]
        found = self._gateway(transaction.app_identifier, WebhookEvent.TRANSACTION_PROCESS_SESSION)
        if isinstance(found, ErrorView):
            return SessionView(errors=[found])
        fields = payload.session(transaction, requests[-1], data, customer_ip)
        fields |= payload.principal(caller, transaction.source)
        return await self._ask(*found, transaction, requests[-1], fields)

    def complete(self, checkout_id: str) -> CompletionView:
        """``checkoutComplete``: an order, if what is authorized, charged or on its way covers the total."""
        checkout = self._state.checkout(checkout_id)
        if authorize_status(checkout) is not AuthorizeStatus.FULL:
            message = "The authorized amount doesn't cover the checkout's total amount."
            return CompletionView(errors=[ErrorView(field="id", code="CHECKOUT_NOT_FULLY_PAID", message=message)])
        number = str(next(self._state.order_numbers))
        order = Order(token=str(uuid4()), number=number, basket=checkout.basket, transactions=checkout.transactions)
        for transaction in order.transactions:
            transaction.checkout, transaction.order = None, order
        del self._state.checkouts[checkout.id]
        self._state.orders[order.id] = order
        return CompletionView(order=show_order(order))

    def _gateway(self, identifier: str | None, event: WebhookEvent) -> tuple[App, Webhook] | ErrorView:
        try:
            app = self._state.app(identifier)
        except NotFoundError:
            app = None
        hooks = [hook for hook in app.webhooks if hook.event is event] if app else []
        if app and hooks and app.active and HANDLE_PAYMENTS in app.permissions:
            return app, hooks[0]
        message = f"No active app {identifier or ''} with HANDLE_PAYMENTS listens to {event.enum_name}."
        return ErrorView(field="paymentGateway", code="NOT_FOUND", message=message)

    def _open(
        self, source: Checkout | Order, app: App, action: Flow, asked: Decimal, key: str
    ) -> tuple[Transaction, Event] | None:
        """Return the transaction and request of this key, new or not; None if the key belongs to another payment.

        The same key asks the app again, even when it has answered already.
        """
        state = self._state
        known = next((item for item in state.transactions.values() if item.idempotency_key == key), None)
        if known is not None:
            requests = (event for event in known.events if event.idempotency_key == key)
            same = next((e for e in requests if e.type is action.request and e.amount == asked), None)
            return (known, same) if known.source is source and same else None
        now = state.event_clock.now()
        transaction = Transaction(
            token=str(uuid4()),
            currency=source.basket.currency,
            app_identifier=app.identifier,
            created_at=now,
            modified_at=now,
            idempotency_key=key,
            checkout=source if isinstance(source, Checkout) else None,
            order=source if isinstance(source, Order) else None,
        )
        source.transactions.append(transaction)
        state.transactions[transaction.id] = transaction
        return transaction, open_request(transaction, action.request, asked, state.event_clock, idempotency_key=key)

    async def _ask(
        self, app: App, webhook: Webhook, transaction: Transaction, request: Event, fields: payload.Payload
    ) -> SessionView:
        delivery = (await self._app_client.deliver(app, webhook, fields))[0]
        try:
            event, said = record_session_answer(transaction, request, _session_json(delivery), self._state.event_clock)
        except SaleorCrashedError as crash:
            delivery.error = f"{crash} ({crash.code})"
            return SessionView(internal_error=crash.code)
        return SessionView(transaction=show_transaction(transaction), event=show_event(event), data=said)


def _session_json(delivery: Delivery) -> Any:
    """Only a 2xx answer counts in a session."""
    return delivery.json if delivery.status is not None and 200 <= delivery.status < 300 else None


def new_basket(wanted: NewCheckout | None) -> Basket:
    """Return what is bought, of which everything that is not wanted otherwise has a default."""
    wanted = wanted or NewCheckout()
    return Basket(
        currency=wanted.currency,
        channel_slug=wanted.channel_slug,
        email=wanted.email,
        language_code=wanted.language_code,
        lines=[_line(line) for line in wanted.lines] if wanted.lines is not None else [defaults.line()],
        shipping_price=wanted.shipping_price,
        address={**defaults.ADDRESS, **(wanted.address or {})},
        user=wanted.user,
        metadata=dict(wanted.metadata),
        gift_cards=wanted.gift_cards,
    )


def _line(wanted: NewLine) -> Line:
    return Line(key=str(uuid4()), **wanted.model_dump())
