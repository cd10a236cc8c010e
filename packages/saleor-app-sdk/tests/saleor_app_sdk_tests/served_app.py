"""The app under test, with handlers that do what a test tells them, and a hand that signs and posts."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from integration_base_tests.clock import Clock
from integration_base_tests.places import REPOSITORY
from saleor_app_sdk.app import AppInfo, SaleorApp
from saleor_app_sdk.errors import NotUsableError
from saleor_app_sdk.events import (
    AccountDeleted,
    AppDeleted,
    AppStatusChanged,
    CustomerDeleted,
    Event,
    ListStoredPaymentMethods,
    PaymentGatewayInitializeSession,
    StoredPaymentMethodDeleteRequested,
    TransactionCancelationRequested,
    TransactionChargeRequested,
    TransactionInitializeSession,
    TransactionProcessSession,
    TransactionRefundRequested,
)
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.responses import (
    Acknowledgement,
    ActionResponse,
    AvailableAction,
    GatewayConfigResponse,
    SessionResponse,
    TransactionFlow,
    WebhookResponse,
)
from saleor_app_sdk.stored_methods import MethodDeletedResponse, StoredCard, StoredMethodsResponse
from saleor_app_sdk.webhook_definition import WebhookContext
from saleor_app_sdk.webhooks import BUDGET
from saleor_app_sdk_tests.fake_saleor import API_URL, IDENTIFIER, InMemoryStore, MinimalSaleor

MANIFEST = REPOSITORY / "manifest"
BASE_URL = "https://payments.example.com"
CARD = StoredCard(id="card-1", name="Visa ****4242", brand="Visa", last_digits="4242", expires=(2029, 11))


@dataclass
class ScriptedHandlers:
    """What the handlers saw, and what they shall say. Until it is ``free``, handlers of payments and refunds wait."""

    events: list[Event] = field(default_factory=list)
    contexts: list[WebhookContext] = field(default_factory=list)
    says: Callable[[], WebhookResponse] | None = None
    failure_answer: Callable[[Exception], WebhookResponse] | None = None
    refusals: list[tuple[str, str]] = field(default_factory=list)
    refusal_error: Exception | None = None
    free: asyncio.Event = field(default_factory=asyncio.Event)
    taken: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.free.set()

    def take(self, event: Event, context: WebhookContext, usual: WebhookResponse) -> WebhookResponse:
        self.events.append(event)
        self.contexts.append(context)
        self.taken.set()
        return self.says() if self.says else usual

    async def note_refusal(self, installation: Installation, refusal: NotUsableError) -> None:
        self.refusals.append((installation.saleor_api_url, refusal.code))
        if self.refusal_error is not None:
            raise self.refusal_error


def make_app(
    store: InMemoryStore,
    http: httpx2.AsyncClient,
    clock: Clock,
    *,
    handlers: ScriptedHandlers | None = None,
    identifier: str = IDENTIFIER,
    allowed: tuple[str, ...] = (API_URL,),
    manifest: Path = MANIFEST,
    base_url: str = BASE_URL,
    iframe_base_url: str | None = None,
    budget: timedelta = BUDGET,
) -> SaleorApp:
    """Return the app with all webhooks, each with the simplest answer that there is."""
    handlers = handlers or ScriptedHandlers()
    app = SaleorApp(
        info=AppInfo.read(manifest, version="1.2.3").with_id(identifier),
        manifest_folder=manifest,
        api_base_url=base_url,
        iframe_base_url=iframe_base_url,
        allowed_saleor_urls=allowed,
        store=store,
        http=http,
        now=clock,
        budget=budget,
    )

    async def otherwise(event: Event, context: WebhookContext, error: Exception) -> WebhookResponse:
        if handlers.failure_answer is None:
            raise error
        return handlers.failure_answer(error)

    @app.webhook("PAYMENT_GATEWAY_INITIALIZE_SESSION", query="payment_gateway_initialize_session.graphql")
    async def gateway(event: PaymentGatewayInitializeSession, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, GatewayConfigResponse(data={"amount": event.amount}))

    @app.webhook(
        "TRANSACTION_INITIALIZE_SESSION",
        query="transaction_initialize_session.graphql",
        on_error=otherwise,
        on_refusal=handlers.note_refusal,
    )
    async def initialize(event: TransactionInitializeSession, context: WebhookContext) -> WebhookResponse:
        await handlers.free.wait()
        return handlers.take(
            event,
            context,
            SessionResponse.action_required(
                TransactionFlow.CHARGE,
                psp_reference="pay-1",
                amount=Decimal("569.5"),
                data={"checkoutUrl": "https://x.test"},
            ),
        )

    @app.webhook("TRANSACTION_PROCESS_SESSION", query="transaction_process_session.graphql")
    async def process(event: TransactionProcessSession, context: WebhookContext) -> WebhookResponse:
        return handlers.take(
            event,
            context,
            SessionResponse.success(TransactionFlow.CHARGE, psp_reference="pay-1", amount=Decimal("569.50")),
        )

    @app.webhook("TRANSACTION_CHARGE_REQUESTED", query="transaction_charge_requested.graphql")
    async def charge(event: TransactionChargeRequested, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, ActionResponse.pending(AvailableAction.CHARGE, psp_reference="capture-1"))

    @app.webhook(
        "TRANSACTION_REFUND_REQUESTED",
        query="transaction_refund_requested.graphql",
        on_error=otherwise,
        on_refusal=handlers.note_refusal,
    )
    async def refund(event: TransactionRefundRequested, context: WebhookContext) -> WebhookResponse:
        await handlers.free.wait()
        return handlers.take(
            event,
            context,
            ActionResponse.success(
                AvailableAction.REFUND, psp_reference="refund-1", amount=event.action.amount, actions=[]
            ),
        )

    @app.webhook("TRANSACTION_CANCELATION_REQUESTED", query="transaction_cancelation_requested.graphql")
    async def cancel(event: TransactionCancelationRequested, context: WebhookContext) -> WebhookResponse:
        return handlers.take(
            event, context, ActionResponse.success(AvailableAction.CANCEL, psp_reference="cancel-1", amount=Decimal(0))
        )

    @app.webhook("LIST_STORED_PAYMENT_METHODS", query="list_stored_payment_methods.graphql")
    async def stored(event: ListStoredPaymentMethods, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, StoredMethodsResponse(cards=(CARD,)))

    @app.webhook("STORED_PAYMENT_METHOD_DELETE_REQUESTED", query="stored_payment_method_delete_requested.graphql")
    async def deleted(event: StoredPaymentMethodDeleteRequested, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, MethodDeletedResponse.deleted())

    @app.webhook("CUSTOMER_DELETED", query="customer_deleted.graphql")
    async def customer_deleted(event: CustomerDeleted, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, Acknowledgement())

    @app.webhook("ACCOUNT_DELETED", query="account_deleted.graphql")
    async def account_deleted(event: AccountDeleted, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, Acknowledgement())

    @app.webhook("APP_DELETED", query="app_deleted.graphql")
    async def app_deleted(event: AppDeleted, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, Acknowledgement())

    @app.webhook("APP_STATUS_CHANGED", query="app_status_changed.graphql")
    async def app_status_changed(event: AppStatusChanged, context: WebhookContext) -> WebhookResponse:
        return handlers.take(event, context, Acknowledgement())

    return app


def open_client(app: SaleorApp) -> httpx2.AsyncClient:
    """Return a client of the app as its real routes serve it; an exception in there is one in the test."""
    fastapi = FastAPI()
    fastapi.include_router(app.router())
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(fastapi), base_url=BASE_URL)


@dataclass
class AppClient:
    """Where Saleor knocks."""

    client: httpx2.AsyncClient
    saleor: MinimalSaleor
    handlers: ScriptedHandlers

    async def deliver(
        self, said: dict[str, Any] | bytes, at: str = "transaction_refund_requested", /, **headers: str | None
    ) -> httpx2.Response:
        """Post ``said``, signed, as the event ``at``; ``headers`` override Saleor's (None removes one)."""
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        usual: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Saleor-Event": at,
            "Saleor-Domain": "shop.example.com",
            "Saleor-Signature": self.saleor.key.sign(body),
            "Saleor-Api-Url": API_URL,
        }
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(
            f"/api/webhooks/{at.replace('_', '-')}",
            content=body,
            headers={name: value for name, value in usual.items() if value is not None},
        )
