"""Events without a class of their own: read as the author's model or as a mapping, answered with plain data."""

import asyncio
import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from graphql import parse
from pydantic import BaseModel

from integration_base_tests.clock import Clock
from saleor_app_sdk.app import AppInfo, SaleorApp
from saleor_app_sdk.errors import TooLateError
from saleor_app_sdk.events import AppDeleted
from saleor_app_sdk.responses import Acknowledgement, DataResponse, WebhookResponse
from saleor_app_sdk.versions import Version
from saleor_app_sdk.webhook_definition import ErrorHandler, WebhookContext
from saleor_app_sdk_tests.fake_saleor import IDENTIFIER, InMemoryStore, MinimalSaleor, Row, refund_body
from saleor_app_sdk_tests.served_app import AppClient, ScriptedHandlers, make_app, open_client

ORDER_CREATED = "subscription { event { ... on OrderCreated { order { id total { gross { amount } } } } } }"
REMOVED = "subscription { event { ... on AppDeleted { app { id } } } }"
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


ORDER = {"id": "T3JkZXI6MQ=="}
FAILED = RuntimeError("it failed")


async def fail(event: Any, context: WebhookContext) -> WebhookResponse:
    raise FAILED


async def test_error_handler_answers_for_a_handler_that_fails(
    app: SaleorApp, saleor: MinimalSaleor, installed: Row
) -> None:
    seen: list[tuple[Any, str, Exception]] = []

    async def acknowledge(event: Any, context: WebhookContext, error: Exception) -> WebhookResponse:
        seen.append((event, context.installation.saleor_api_url, error))
        return Acknowledgement()

    async def without_tax(event: Any, context: WebhookContext, error: Exception) -> WebhookResponse:
        return DataResponse(data={"lines": []})

    async def created(event: OrderCreated, context: WebhookContext) -> WebhookResponse:
        return await fail(event, context)

    async def taxes(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        return await fail(event, context)

    app.webhook("ORDER_CREATED", query=ORDER_CREATED, on_error=acknowledge)(created)
    app.webhook("CHECKOUT_CALCULATE_TAXES", query=TAXES, on_error=without_tax)(taxes)
    answer = await deliver(app, saleor, "order_created", body_of("OrderCreated", order=ORDER))
    assert (answer.status_code, answer.json()) == (200, {})
    assert seen == [(OrderCreated(order=Order(id=ORDER["id"])), installed.saleor_api_url, FAILED)]
    answer = await deliver(app, saleor, "checkout_calculate_taxes", body_of("CalculateTaxes"))
    assert (answer.status_code, answer.json()) == (200, {"lines": []})


async def reraise(event: Any, context: WebhookContext, error: Exception) -> WebhookResponse:
    raise error


async def fail_too(event: Any, context: WebhookContext, error: Exception) -> WebhookResponse:
    raise LookupError


async def answer_wrongly(event: Any, context: WebhookContext, error: Exception) -> WebhookResponse:
    return DataResponse(data={}) if isinstance(event, OrderCreated) else Acknowledgement()


@pytest.mark.parametrize("on_error", [reraise, fail_too, answer_wrongly])
async def test_error_handler_without_an_answer_leaves_the_error_status(
    app: SaleorApp, saleor: MinimalSaleor, installed: Row, on_error: ErrorHandler
) -> None:
    async def created(event: OrderCreated, context: WebhookContext) -> WebhookResponse:
        return await fail(event, context)

    async def taxes(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        return await fail(event, context)

    app.webhook("ORDER_CREATED", query=ORDER_CREATED, on_error=on_error)(created)
    app.webhook("CHECKOUT_CALCULATE_TAXES", query=TAXES, on_error=on_error)(taxes)
    answers = [
        await deliver(app, saleor, "order_created", body_of("OrderCreated", order=ORDER)),
        await deliver(app, saleor, "checkout_calculate_taxes", body_of("CalculateTaxes")),
    ]
    assert [answer.status_code for answer in answers] == [503, 400]
    assert {answer.json()["error"]["code"] for answer in answers} == {"APP_ERROR"}


async def test_error_handler_answers_for_an_event_with_a_class_and_no_failure_response(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, saleor: MinimalSaleor, installed: Row
) -> None:
    async def acknowledge(event: AppDeleted, context: WebhookContext, error: Exception) -> WebhookResponse:
        return Acknowledgement()

    async def removed(event: AppDeleted, context: WebhookContext) -> WebhookResponse:
        return await fail(event, context)

    statuses = []
    for on_error in (acknowledge, None):
        info = AppInfo(IDENTIFIER, "Example", "1.0.0", "You", "")
        app = SaleorApp(info=info, api_base_url="https://app.example.com", store=store, http=http, now=clock)
        app.webhook("APP_DELETED", query=REMOVED, on_error=on_error)(removed)
        statuses.append((await deliver(app, saleor, "app_deleted", body_of("AppDeleted"))).status_code)
    assert statuses == [200, 503]


async def test_error_handler_is_asked_when_a_handler_takes_too_long(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, saleor: MinimalSaleor, installed: Row
) -> None:
    app = make_app(store, http, clock, budget=timedelta(seconds=0.5))
    app._receiver._grace_seconds = 0.1
    seen: list[Exception] = []

    async def acknowledge(event: Any, context: WebhookContext, error: Exception) -> WebhookResponse:
        seen.append(error)
        return Acknowledgement()

    @app.webhook("ORDER_CREATED", query=ORDER_CREATED, on_error=acknowledge)
    async def created(event: Mapping[str, Any], context: WebhookContext) -> WebhookResponse:
        await asyncio.sleep(60)
        return Acknowledgement()

    assert (await deliver(app, saleor, "order_created", body_of("OrderCreated", order=ORDER))).status_code == 200
    assert [type(error) for error in seen] == [TooLateError]


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

    with pytest.raises(TypeError, match="that event's class"):
        app.webhook("TRANSACTION_REFUND_REQUESTED", query=ORDER_CREATED)(of_mapping)
    for handler in (of_text, of_app):
        with pytest.raises(TypeError, match="a pydantic model or a mapping"):
            app.webhook("ORDER_CREATED", query=ORDER_CREATED)(handler)
    with pytest.raises(ValueError, match="NOTIFY_USER"):
        app.webhook("NOTIFY_USER", query=ORDER_CREATED)(of_mapping)
