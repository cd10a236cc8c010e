"""Actions by shoppers: checkout, sessions, order (Saleor contract, A.3 and A.4)."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from saleor_app_sdk.testing import defaults, payload
from saleor_app_sdk.testing.app_client import AppClient
from saleor_app_sdk.testing.money import quantize_price
from saleor_app_sdk.testing.records import App, Basket, Checkout, Event, Line, Order, Transaction, Webhook
from saleor_app_sdk.testing.rendering import checkout_view, event_view, order_view, transaction_view
from saleor_app_sdk.testing.rules.coverage import authorize_status, default_amount
from saleor_app_sdk.testing.rules.recording import create_request_event, final_event, record_session_response
from saleor_app_sdk.testing.rules.responses import SaleorCrashedError
from saleor_app_sdk.testing.saleor_state import Delivery, NotFoundError, SaleorState
from saleor_app_sdk.testing.views import (
    CheckoutView,
    CompletionView,
    ErrorView,
    GatewayView,
    NewCheckout,
    NewLine,
    SessionView,
)
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, AuthorizeStatus, EventType, Flow, WebhookEvent

TRANSACTIONS_LIMIT = 100
CUSTOMER_IP = "127.0.0.1"
CUSTOMER = "customer"
"""The customer of the checkout or order, signed in; for a guest's, the caller is anonymous."""
_UNREADABLE_GATEWAY = "Unable to process a payment gateway response."
_REQUESTS = frozenset({EventType.CHARGE_REQUEST, EventType.AUTHORIZATION_REQUEST})


class PaymentGatewayInitializeSessionSchema(BaseModel):
    """Named as in Saleor, because storefronts see this model's validation error."""

    data: Any


class Storefront:
    """Actions of a storefront, for a shopper without an account unless the checkout has a user."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client

    def create_checkout(self, wanted: NewCheckout | None = None) -> CheckoutView:
        """Create a checkout; by default one bottle and shipping, 569.50 UAH."""
        checkout = Checkout(token=str(uuid4()), basket=build_basket(wanted))
        self._state.checkouts[checkout.id] = checkout
        return checkout_view(checkout)

    def gateways(self) -> list[str]:
        """``availablePaymentGateways``: the active apps that may handle payments and subscribe to sessions."""
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
        """``paymentGatewayInitialize`` for one gateway. ``caller``: who sends it (``payload.issuing_principal``)."""
        source = self._state.source(source_id)
        found = self._gateway(gateway, WebhookEvent.PAYMENT_GATEWAY_INITIALIZE_SESSION)
        if isinstance(found, ErrorView):
            return GatewayView(data=None, errors=[found])
        app, webhook = found
        fields = payload.gateway_initialize(source, default_amount(source) if amount is None else amount, data)
        fields |= payload.issuing_principal(caller, source)
        delivery = (await self._app_client.deliver(app, webhook, fields))[0]
        response = _successful_json(delivery)
        message = _UNREADABLE_GATEWAY
        if response is not None:
            try:
                config = PaymentGatewayInitializeSessionSchema.model_validate(response)
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
        """``transactionInitialize``. The default amount may be zero, or more than is left to pay."""
        source = self._state.source(source_id)
        found = self._gateway(gateway, WebhookEvent.TRANSACTION_INITIALIZE_SESSION)
        if isinstance(found, ErrorView):
            return SessionView(errors=[found])
        if len(source.transactions) >= TRANSACTIONS_LIMIT:
            message = f"A {type(source).__name__.lower()} has at most {TRANSACTIONS_LIMIT} transactions."
            return SessionView(errors=[ErrorView(field="id", code="INVALID", message=message)])
        requested = quantize_price(default_amount(source) if amount is None else amount, source.basket.currency)
        key = idempotency_key or str(uuid4())
        existing_or_new = self._get_or_create_request(source, found[0], action, requested, key)
        if existing_or_new is None:
            message = "Different transaction with provided idempotency key already exists."
            return SessionView(errors=[ErrorView(field="idempotencyKey", code="UNIQUE", message=message)])
        transaction, request = existing_or_new
        fields = payload.session(transaction, request, data, customer_ip)
        fields = {**fields, **payload.issuing_principal(caller, source), "idempotencyKey": key}
        return await self._call_app(*found, transaction, request, fields)

    async def process(
        self, transaction_id: str, *, data: Any = None, customer_ip: str = CUSTOMER_IP, caller: str = CUSTOMER
    ) -> SessionView:
        """``transactionProcess``. If the session has already ended, the app is not called."""
        transaction = self._state.transaction(transaction_id)
        if transaction.order is None and transaction.checkout is None:
            message = "Transaction doesn't have attached order or checkout."
            return SessionView(errors=[ErrorView(field="id", code="INVALID", message=message)])
        if final := final_event(transaction):
            return SessionView(transaction=transaction_view(transaction), event=event_view(final))
        requests = [event for event in transaction.events if event.type in _REQUESTS]
        found = self._gateway(transaction.app_identifier, WebhookEvent.TRANSACTION_PROCESS_SESSION)
        if isinstance(found, ErrorView):
            return SessionView(errors=[found])
        fields = payload.session(transaction, requests[-1], data, customer_ip)
        fields |= payload.issuing_principal(caller, transaction.source)
        return await self._call_app(*found, transaction, requests[-1], fields)

    def delete_checkout(self, checkout_id: str) -> None:
        """Delete a checkout, as Saleor does with abandoned ones: its transactions stay, and belong to nothing."""
        checkout = self._state.checkout(checkout_id)
        for transaction in checkout.transactions:
            transaction.checkout = None
        del self._state.checkouts[checkout.id]

    def complete(self, checkout_id: str) -> CompletionView:
        """``checkoutComplete``: an order, if authorized, charged and pending amounts cover the total."""
        checkout = self._state.checkout(checkout_id)
        if authorize_status(checkout) is not AuthorizeStatus.FULL:
            message = "The authorized amount doesn't cover the checkout's total amount."
            return CompletionView(errors=[ErrorView(field="id", code="CHECKOUT_NOT_FULLY_PAID", message=message)])
        number = str(next(self._state.order_numbers))
        order = Order(
            token=str(uuid4()),
            number=number,
            basket=checkout.basket,
            transactions=checkout.transactions,
            checkout_id=checkout.id,
        )
        for transaction in order.transactions:
            transaction.checkout, transaction.order = None, order
        del self._state.checkouts[checkout.id]
        self._state.orders[order.id] = order
        return CompletionView(order=order_view(order))

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

    def _get_or_create_request(
        self, source: Checkout | Order, app: App, action: Flow, amount: Decimal, key: str
    ) -> tuple[Transaction, Event] | None:
        """Return the existing or new transaction and request of this key; None if the key belongs to another payment.

        With the same key the app is called again, even if it has already responded.
        """
        state = self._state
        existing = next((item for item in state.transactions.values() if item.idempotency_key == key), None)
        if existing is not None:
            requests = (event for event in existing.events if event.idempotency_key == key)
            same = next((e for e in requests if e.type is action.request and e.amount == amount), None)
            return (existing, same) if source in (existing.order, existing.checkout) and same else None
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
        return transaction, create_request_event(
            transaction, action.request, amount, state.event_clock, idempotency_key=key
        )

    async def _call_app(
        self, app: App, webhook: Webhook, transaction: Transaction, request: Event, fields: payload.Payload
    ) -> SessionView:
        delivery = (await self._app_client.deliver(app, webhook, fields))[0]
        try:
            event, response_data = record_session_response(
                transaction, request, _successful_json(delivery), self._state.event_clock
            )
        except SaleorCrashedError as crash:
            delivery.error = f"{crash} ({crash.code})"
            return SessionView(internal_error=crash.code)
        return SessionView(transaction=transaction_view(transaction), event=event_view(event), data=response_data)


def _successful_json(delivery: Delivery) -> Any:
    """Return the JSON of a 2xx response, the only kind that counts in a session; None otherwise."""
    return delivery.json if delivery.status is not None and 200 <= delivery.status < 300 else None


def build_basket(wanted: NewCheckout | None) -> Basket:
    """Return the basket of a new checkout or order, with defaults for everything that ``wanted`` leaves out."""
    wanted = wanted or NewCheckout()
    return Basket(
        currency=wanted.currency,
        channel_slug=wanted.channel_slug,
        email=wanted.email,
        language_code=wanted.language_code,
        lines=[_build_line(line) for line in wanted.lines] if wanted.lines is not None else [defaults.line()],
        shipping_price=wanted.shipping_price,
        address={**defaults.ADDRESS, **(wanted.address or {})},
        user=wanted.user,
        metadata=dict(wanted.metadata),
        gift_cards=wanted.gift_cards,
        channel_id=wanted.channel_id,
    )


def _build_line(wanted: NewLine) -> Line:
    return Line(key=str(uuid4()), **wanted.model_dump())
