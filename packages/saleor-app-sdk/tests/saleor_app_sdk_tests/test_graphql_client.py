"""Saleor's GraphQL API over real connections: what it accepts, what it refuses, and when it is not there."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Reply, serve_replies
from saleor_app_sdk.channels import Channel, fetch_channels
from saleor_app_sdk.graphql import (
    AppIdentity,
    EventReport,
    SaleorClient,
    SaleorNotAuthorisedError,
    SaleorRefusedError,
    SaleorUnreachableError,
)
from saleor_app_sdk.history import fetch_history, request_granted_refund
from saleor_app_sdk.installed_app import fetch_app_in_saleor
from saleor_app_sdk.orders import fetch_order_to_pay, initialize_transaction
from saleor_app_sdk.payment_methods import CardDetails
from saleor_app_sdk.problems import AppProblem, report_problem
from saleor_app_sdk.reports import ReportOutcome
from saleor_app_sdk.transaction_source import PlacedOrder
from saleor_app_sdk.vocabulary import AvailableAction, EventType
from saleor_app_sdk_tests.fake_saleor import Row, permission_denied
from saleor_app_sdk_tests.graphql_api import saleor_client, serve_graphql
from saleor_app_sdk_tests.recordings import CASSETTES

REPORT = EventReport(
    transaction_id="VHJhbnNhY3Rpb25JdGVtOjE=",
    type=EventType.CHARGE_SUCCESS,
    psp_reference="pay-1",
    amount=Decimal("569.5"),
    message="Оплачено",
    available_actions=(AvailableAction.REFUND,),
    external_url="https://payments.example.com/payments/1",
    payment_method_details=CardDetails(name="Visa", last_digits="4242"),
)
RECORDED: dict[str, Any] = json.loads((CASSETTES / "scenarios" / "event_report.json").read_text())


@dataclass
class Api:
    """A GraphQL API that says what a test wants to hear."""

    says: Response = field(default_factory=lambda: said(RECORDED["charge-success"]["result"]))
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)

    @property
    def variables(self) -> dict[str, Any]:
        sent: dict[str, Any] = json.loads(self.bodies[-1], parse_float=str)["variables"]
        return sent

    async def answer(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        self.headers.append(dict(request.headers))
        self.connections.add(request.client)
        return self.says


def said(body: Any) -> Response:
    """Return what was recorded, with the HTTP status under which it was."""
    return JSONResponse(body, body.get("http", 200))


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
async def here(api: Api) -> AsyncIterator[Row]:
    """An installation whose Saleor is the API of this test."""
    async with serve_graphql(api.answer) as row:
        yield row


@pytest.fixture
async def client() -> AsyncIterator[SaleorClient]:
    async with saleor_client() as client:
        yield client


async def test_a_report_is_accepted(client: SaleorClient, api: Api, here: Row) -> None:
    outcome = await client.report(here, REPORT)

    assert outcome.already_processed is False
    assert outcome.event_id == "VHJhbnNhY3Rpb25FdmVudDozMTg="
    assert api.headers[0]["authorization"] == "Bearer the-token"
    assert api.headers[0]["content-type"] == "application/json"
    assert api.variables == {
        "id": "VHJhbnNhY3Rpb25JdGVtOjE=",
        "type": "CHARGE_SUCCESS",
        "pspReference": "pay-1",
        "amount": "569.50",
        "message": "Оплачено",
        "availableActions": ["REFUND"],
        "externalUrl": "https://payments.example.com/payments/1",
        "paymentMethodDetails": {"card": {"name": "Visa", "lastDigits": "4242"}},
    }


async def test_amounts_travel_as_numbers_with_their_own_digits(client: SaleorClient, api: Api, here: Row) -> None:
    for amount, wire in (
        ("0.1", b"0.10"),
        ("569.50", b"569.50"),
        ("99999999999.99", b"99999999999.99"),
        ("70", b"70.00"),
    ):
        report = EventReport(
            transaction_id="x", type=EventType.CHARGE_SUCCESS, psp_reference="x", amount=Decimal(amount), message="m"
        )
        await client.report(here, report)
        assert b'"amount":' + wire + b"," in api.bodies[-1]


async def test_what_is_not_said_is_not_sent(client: SaleorClient, api: Api, here: Row) -> None:
    note = EventReport(transaction_id="x", type=EventType.INFO, psp_reference="pay-1", available_actions=())
    await client.report(here, note)
    assert api.variables == {"id": "x", "type": "INFO", "pspReference": "pay-1", "availableActions": []}


@pytest.mark.parametrize(("version", "knows"), [(None, False), ("3.21", False), ("3.22", True), ("3.24", True)])
async def test_an_older_saleor_is_not_told_how_it_was_paid(
    client: SaleorClient, api: Api, here: Row, version: str | None, *, knows: bool
) -> None:
    await client.report(replace(here, schema_version=version), REPORT)
    assert (b"paymentMethodDetails" in api.bodies[-1]) is knows


@pytest.mark.parametrize(
    ("order", "placed"),
    [
        ({"id": "T3JkZXI6MQ==", "number": "1042"}, PlacedOrder(id="T3JkZXI6MQ==", number="1042")),
        (None, None),
        ({"id": "T3JkZXI6MQ==", "number": None}, None),
    ],
)
async def test_a_report_is_answered_with_the_order_that_there_is(
    client: SaleorClient, api: Api, here: Row, order: Any, placed: PlacedOrder | None
) -> None:
    report = {"alreadyProcessed": False, "errors": [], "transaction": {"order": order}, "transactionEvent": None}
    api.says = said({"data": {"transactionEventReport": report}})
    assert await client.report(here, REPORT) == ReportOutcome(already_processed=False, order=placed)


async def test_what_saleor_has_already_counts_as_accepted(client: SaleorClient, api: Api, here: Row) -> None:
    api.says = said(RECORDED["charge-success-dup"]["result"])
    assert (await client.report(here, REPORT)).already_processed is True


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (RECORDED["charge-success-other-amount"]["result"], ("INCORRECT_DETAILS", "pspReference")),
        (RECORDED["psp-600"]["result"], ("INVALID", "pspReference")),
        (RECORDED["url-bad"]["result"], ("INVALID", "externalUrl")),
        (RECORDED["auth-success-second"]["result"], ("ALREADY_EXISTS", "type")),
        (RECORDED["unknown-tx"], ("NOT_FOUND", "id")),
        (RECORDED["garbage-id"], ("GRAPHQL_ERROR", None)),
        (RECORDED["amount-neg"]["result"], ("GRAPHQL_ERROR", None)),
    ],
    ids=["other amount", "long reference", "bad link", "second authorization", "unknown", "garbage", "bad variable"],
)
async def test_refusals_for_good(
    client: SaleorClient, api: Api, here: Row, recorded: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    api.says = said(recorded)
    with pytest.raises(SaleorRefusedError) as caught:
        await client.report(here, REPORT)
    assert (caught.value.code, caught.value.field) == expected
    assert caught.value.message


@pytest.mark.parametrize("recorded", ["no-token", "staff-token"])
async def test_a_token_that_is_not_good_for_it(client: SaleorClient, api: Api, here: Row, recorded: str) -> None:
    """Saleor says so with HTTP 200 and a top-level error."""
    api.says = said(RECORDED[recorded]["result"])
    with pytest.raises(SaleorNotAuthorisedError) as caught:
        await client.report(here, REPORT)
    assert "the-token" not in str(caught.value)


async def test_without_a_proven_token_nobody_is_asked(client: SaleorClient, api: Api, here: Row) -> None:
    with pytest.raises(SaleorNotAuthorisedError):
        await client.report(replace(here, token="", pending_tokens=("unproven",)), REPORT)
    assert api.bodies == []


ODD_ANSWERS = (
    *("null", "5", '"no"', "true", "[]", "[[]]", '{"data": 5}', '{"data": []}', '{"data": null}', '{"errors": []}'),
    *('{"errors": 7}', '{"errors": {"a": 1}}', '{"errors": [7]}', '{"errors": [{"path": 5}], "data": {}}'),
)
"""JSON that is no response of a GraphQL API."""

ODD_RESULTS = (
    *("5", "[]", '"no"', '{"errors": 7}', '{"errors": [5]}', '{"errors": {"a": 1}}'),
    *('{"errors": [{"code": ["INVALID"]}]}', '{"transactionEvent": 5}'),
)
"""JSON that is no result of a report."""

SOME_DAY = {
    "500": Response(status_code=500),
    "503 with a page": Response("<h1>Back soon</h1>", 503),
    "404": Response("nothing here", 404),
    "429": Response(status_code=429),
    "a page": Response("<h1>hello</h1>"),
    "empty": Response(),
    "a redirect": RedirectResponse("http://127.0.0.1:1/graphql/"),
    "a list": JSONResponse([]),
    **{text: Response(text) for text in ODD_ANSWERS},
    **{f"a report of {text}": Response(f'{{"data": {{"transactionEventReport": {text}}}}}') for text in ODD_RESULTS},
    "no data": JSONResponse({}),
    "null": JSONResponse({"data": {"transactionEventReport": None}}),
    "an internal error": JSONResponse(
        {
            "errors": [{"message": "Internal Server Error", "extensions": {"exception": {"code": "OperationalError"}}}],
            "data": None,
        }
    ),
    "an error without a code": JSONResponse({"errors": [{"message": "Internal Server Error"}], "data": None}),
    "a strange error": JSONResponse({"errors": ["no"], "data": None}),
    "an indefinite refusal": JSONResponse(
        {"data": {"transactionEventReport": {"errors": [{"field": None, "code": "GRAPHQL_ERROR", "message": "?"}]}}}
    ),
}


@pytest.mark.parametrize("says", SOME_DAY.values(), ids=SOME_DAY)
async def test_another_day_it_may_work(client: SaleorClient, api: Api, here: Row, says: Response) -> None:
    api.says = says
    with pytest.raises(SaleorUnreachableError):
        await client.report(here, REPORT)


@pytest.mark.parametrize("answer", ODD_ANSWERS)
async def test_an_answer_of_an_odd_shape_to_reports_sent_together(
    client: SaleorClient, api: Api, here: Row, answer: str
) -> None:
    api.says = Response(answer)
    reports = [REPORT.model_copy(update={"psp_reference": f"pay-{number}"}) for number in range(3)]
    outcomes = await asyncio.gather(*(client.report(here, report) for report in reports), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SaleorUnreachableError] * 3


ODD_PARTS: tuple[Any, ...] = (5, "no", True, [], [5], [None], {"a": 1}, {"id": 5}, {"events": 5}, {"version": [1]})


@pytest.mark.parametrize("part", ODD_PARTS, ids=map(str, ODD_PARTS))
async def test_a_part_of_an_odd_shape_is_no_usable_answer_to_any_query(
    client: SaleorClient, api: Api, here: Row, part: Any
) -> None:
    wanted: dict[str, Any] = {"order_id": "T3JkZXI6MQ==", "amount": Decimal(1), "gateway": "app", "key": "key"}
    queries: dict[str, Callable[[], Awaitable[object]]] = {
        "app": lambda: client.who_am_i(here.saleor_api_url, "the-token"),
        "channels": lambda: fetch_channels(client, here),
        "transaction": lambda: fetch_history(client, here, "x"),
        "order": lambda: fetch_order_to_pay(client, here, "x"),
        "shop": lambda: fetch_app_in_saleor(client, here),
        "transactionInitialize": lambda: initialize_transaction(client, here, **wanted),
        "transactionRequestRefundForGrantedRefund": lambda: request_granted_refund(client, here, "x", "y"),
        "appProblemCreate": lambda: report_problem(client, here, AppProblem(key="a:b", message="Help")),
    }
    for field_name, query in queries.items():
        takes_any_object = field_name in {"appProblemCreate", "transactionRequestRefundForGrantedRefund"}
        if (takes_any_object and isinstance(part, dict)) or (field_name, part) == ("channels", []):
            continue
        api.says = JSONResponse({"data": {field_name: part}})
        with pytest.raises(SaleorUnreachableError):
            await query()


@pytest.mark.parametrize("part", [5, [5], "no", {"identifier": 5}])
async def test_an_order_beside_an_app_of_an_odd_shape(client: SaleorClient, api: Api, here: Row, part: Any) -> None:
    api.says = JSONResponse({"data": {"app": part, "order": None}})
    with pytest.raises(SaleorUnreachableError):
        await fetch_order_to_pay(client, here, "x")


@pytest.mark.threat("ssrf-redirect")
async def test_a_token_never_follows_a_redirect(client: SaleorClient, api: Api, here: Row) -> None:
    api.says = RedirectResponse("/graphql/?elsewhere", 307)
    with pytest.raises(SaleorUnreachableError):
        await client.report(here, REPORT)
    assert len(api.bodies) == 1


async def hang_up(_heard: ReceivedRequest) -> Behaviour:
    return HangUp()


@pytest.mark.fault("saleor-down")
async def test_nobody_listens(client: SaleorClient) -> None:
    async with serve_replies(hang_up) as address:
        pass
    with pytest.raises(SaleorUnreachableError, match="refuses the connection"):
        await client.who_am_i(f"{address}/graphql/", "x")


@pytest.mark.fault("network-cut")
async def test_the_connection_drops(client: SaleorClient) -> None:
    async with serve_replies(hang_up) as address:
        with pytest.raises(SaleorUnreachableError):
            await client.who_am_i(f"{address}/graphql/", "x")


@pytest.mark.fault("saleor-slow")
async def test_the_deadline_is_for_the_whole_call(client: SaleorClient) -> None:
    """Not for each byte: somebody who drips them keeps every read alive."""

    async def drip(_heard: ReceivedRequest) -> Behaviour:
        return Reply(body=(b" ",) * 1000, pause=0.01)

    async with serve_replies(drip) as address:
        with pytest.raises(SaleorUnreachableError, match="in time"):
            await client.who_am_i(f"{address}/graphql/", "x", timeout=timedelta(milliseconds=100))


async def test_one_connection_serves_many_calls(client: SaleorClient, api: Api, here: Row) -> None:
    for _ in range(5):
        await client.report(here, REPORT)
    assert len(api.bodies) == 5
    assert len(api.connections) == 1


@pytest.mark.fault("saleor-down")
async def test_it_works_again_after_it_did_not(client: SaleorClient, api: Api, here: Row) -> None:
    good, api.says = api.says, Response(status_code=500)
    with pytest.raises(SaleorUnreachableError):
        await client.report(here, REPORT)
    api.says = good
    await client.report(here, REPORT)


async def test_whose_token_it_is(client: SaleorClient, api: Api, here: Row) -> None:
    api.says = JSONResponse({"data": {"app": {"id": "QXBwOjE=", "identifier": "gateway.payments.app"}}})
    assert await client.who_am_i(here.saleor_api_url, "the-token") == AppIdentity("QXBwOjE=", "gateway.payments.app")
    api.says = JSONResponse({"data": {"app": None}})
    with pytest.raises(SaleorRefusedError, match="not an app"):
        await client.who_am_i(here.saleor_api_url, "the-token")
    api.says = JSONResponse(permission_denied("app"))
    with pytest.raises(SaleorNotAuthorisedError):
        await client.who_am_i(here.saleor_api_url, "the-token")


async def test_the_channels_of_a_store(client: SaleorClient, api: Api, here: Row) -> None:
    known = [
        {"slug": "pl", "name": "Polska", "currencyCode": "PLN", "isActive": False},
        {"slug": "default-channel", "name": "", "currencyCode": "UAH", "isActive": True},
    ]
    api.says = said({"data": {"channels": known}})
    assert await fetch_channels(client, here) == [
        Channel("default-channel", "default-channel", "UAH", active=True),
        Channel("pl", "Polska", "PLN", active=False),
    ]
    assert api.headers[-1]["authorization"] == "Bearer the-token"

    nonsense: Any
    for nonsense in ({"channels": None}, {"channels": [{}]}, {}):
        api.says = said({"data": nonsense})
        with pytest.raises(SaleorUnreachableError):
            await fetch_channels(client, here)
    with pytest.raises(SaleorNotAuthorisedError):
        await fetch_channels(client, replace(here, token=""))
