"""Events without a class of their own: read as the author's model or as a mapping, answered with plain data."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from graphql import parse
from pydantic import BaseModel

from saleor_app_sdk.app import SaleorApp
from saleor_app_sdk.events import AppDeleted
from saleor_app_sdk.responses import Acknowledgement, DataResponse, WebhookResponse
from saleor_app_sdk.versions import Version
from saleor_app_sdk.webhook_definition import WebhookContext
from tests.conftest import Clock
from tests.saleor.fake_saleor import InMemoryStore, MinimalSaleor, Row, refund_body
from tests.saleor.served_app import AppClient, ScriptedHandlers, make_app, open_client

ORDER_CREATED = "subscription { event { ... on OrderCreated { order { id total { gross { amount } } } } } }"
TAXES = "subscription { event { ... on CalculateTaxes { taxBase { currency } } } }"


class Order(BaseModel):
    id: str


class OrderCreated(BaseModel):
    order: Order


def body_of(typename: str, **fields: Any) -> dict[str, Any]:
    envelope = {"issuedAt", "version", "recipient"}
    return (
        {"__typename": typename} | {name: value for name, value in refund_body().items() if name in envelope} | fields
    )


@pytest.fixture
def app(store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock) -> SaleorApp:
    return make_app(store, http, clock)


async def deliver(app: SaleorApp, saleor: MinimalSaleor, event: str, body: Any) -> httpx2.Response:
    async with open_client(app) as client:
        return await AppClient(client, saleor, ScriptedHandlers()).deliver(body, event)


async def test_body_is_read_as_the_annotated_model(app: SaleorApp, saleor: MinimalSaleor, installed: Row) -> None:
    seen: list[tuple[OrderCreated, str]] = []

    @app.webhook("ORDER_CREATED", query=ORDER_CREATED)
    async def created(event: OrderCreated, context: WebhookContext) -> WebhookResponse:
        seen.append((event, context.installation.saleor_api_url))
        return Acknowledgement()

    answer = await deliver(app, saleor, "order_created", body_of("OrderCreated", order={"id": "T3JkZXI6MQ=="}))
    assert (answer.status_code, answer.json()) == (200, {})
    assert seen == [(OrderCreated(order=Order(id="T3JkZXI6MQ==")), installed.saleor_api_url)]
    unreadable = await deliver(app, saleor, "order_created", body_of("OrderCreated", order=None))
    assert unreadable.status_code == 400
    assert "order" in unreadable.json()["error"]["message"]
    foreign = await deliver(app, saleor, "order_created", body_of("OrderUpdated", order={"id": "T3JkZXI6MQ=="}))
    assert foreign.json()["error"]["code"] == "WRONG_EVENT"
    assert len(seen) == 1


async def test_mapping_keeps_numbers_exact(app: SaleorApp, saleor: MinimalSaleor, installed: Row) -> None:
    seen: list[Mapping[str, Any]] = []

    @app.webhook("CHECKOUT_CALCULATE_TAXES", query=TAXES)
    async def taxes(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        seen.append(event)
        return DataResponse(data={"shipping_tax_rate": Decimal("0.20")})

    body = b'{"taxBase": {"price": 10.10}, ' + json.dumps(body_of("CalculateTaxes")).encode()[1:]
    answer = await deliver(app, saleor, "checkout_calculate_taxes", body)
    assert (answer.status_code, answer.text) == (200, '{"shipping_tax_rate":0.20}'), "no digit is lost"
    assert str(seen[0]["taxBase"]["price"]) == "10.10"


async def test_failed_handler_gets_an_error_status(app: SaleorApp, saleor: MinimalSaleor, installed: Row) -> None:
    """An asynchronous event is sent again after a 5xx; for a synchronous one Saleor has its own way out."""

    @app.webhook("ORDER_CREATED", query=ORDER_CREATED)
    async def created(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        raise RuntimeError

    @app.webhook("CHECKOUT_CALCULATE_TAXES", query=TAXES)
    async def taxes(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        return Acknowledgement()

    created_answer = await deliver(app, saleor, "order_created", body_of("OrderCreated"))
    taxes_answer = await deliver(app, saleor, "checkout_calculate_taxes", body_of("CalculateTaxes"))
    assert (created_answer.status_code, taxes_answer.status_code) == (503, 400), "an acknowledgement is no taxes"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((3, 22), {"VOUCHER_CODE_EXPORT_COMPLETED"}),
        ((3, 23), {"VOUCHER_CODE_EXPORT_COMPLETED", "CUSTOMER_TYPE_CREATED"}),
        ((3, 24), {"CUSTOMER_TYPE_CREATED", "PRODUCT_TYPE_CREATED"}),
    ],
)
def test_manifest_lists_what_that_saleor_sends(app: SaleorApp, version: Version, expected: set[str]) -> None:
    async def handle(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        return Acknowledgement()

    names = {"VOUCHER_CODE_EXPORT_COMPLETED", "CUSTOMER_TYPE_CREATED", "PRODUCT_TYPE_CREATED"}
    for name in names:
        app.webhook(name, query="subscription { event { version } }")(handle)
    listed = {name for entry in app.manifest(version)["webhooks"] for name in entry.get("asyncEvents", ())}
    assert listed & names == expected


def test_subscription_gains_what_the_sdk_reads(app: SaleorApp) -> None:
    @app.webhook("ORDER_CREATED", query=ORDER_CREATED)
    async def created(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        return Acknowledgement()

    [entry] = [entry for entry in app.manifest((3, 22))["webhooks"] if entry.get("asyncEvents") == ["ORDER_CREATED"]]
    query = " ".join(entry["query"].split())
    assert "event { __typename issuedAt version recipient { id identifier } ... on OrderCreated {" in query
    parse(query)


@pytest.mark.parametrize(
    "query",
    ["query { shop { name } }", "subscription { event", "subscription { a: shop { name } }", "{ event { id } }"],
)
def test_other_documents_are_no_subscription(app: SaleorApp, query: str) -> None:
    with pytest.raises(ValueError, match="subscription"):
        app.webhook("ORDER_CREATED", query=query)


def test_handler_must_fit_the_event(app: SaleorApp) -> None:
    async def of_mapping(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        return Acknowledgement()

    async def of_text(event: str, context: WebhookContext) -> WebhookResponse:
        return Acknowledgement()

    async def of_app(event: AppDeleted, context: WebhookContext) -> WebhookResponse:
        return Acknowledgement()

    async def on_error(event: Any, context: WebhookContext, error: Exception) -> WebhookResponse:
        return Acknowledgement()

    with pytest.raises(TypeError, match="that event's class"):
        app.webhook("TRANSACTION_REFUND_REQUESTED", query=ORDER_CREATED)(of_mapping)
    for handler in (of_text, of_app):
        with pytest.raises(TypeError, match="a pydantic model or a mapping"):
            app.webhook("ORDER_CREATED", query=ORDER_CREATED)(handler)
    with pytest.raises(TypeError, match="error status"):
        app.webhook("ORDER_CREATED", query=ORDER_CREATED, on_error=on_error)(of_mapping)
    with pytest.raises(ValueError, match="NOTIFY_USER"):
        app.webhook("NOTIFY_USER", query=ORDER_CREATED)(of_mapping)
