"""Reports of the same moment go to Saleor in one document, and each is told what became of it."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from saleor_app_sdk.aliases import repeat_field
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.orders import fetch_source
from saleor_app_sdk.reports import EventReport, ReportOutcome
from saleor_app_sdk.vocabulary import EventType
from saleor_app_sdk_tests.fake_saleor import Row
from saleor_app_sdk_tests.graphql_api import DOCUMENTS, saleor_client, serve_graphql

BROKEN = {"message": "boom", "extensions": {"exception": {"code": "ValueError"}}}
DENIED = {"message": "no", "extensions": {"exception": {"code": "PermissionDenied"}}}


def note(reference: str) -> EventReport:
    """Return a report of that reference."""
    return EventReport(transaction_id=f"of-{reference}", type=EventType.INFO, psp_reference=reference)


@dataclass
class Api:
    """A GraphQL API that answers each report by its reference, however many come in a document."""

    asked: list[dict[str, Any]] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    breaks: dict[str, dict[str, Any]] = field(default_factory=dict)
    says: deque[Response] = field(default_factory=deque)
    hides: dict[str, dict[str, Any]] = field(default_factory=dict)

    def references(self) -> list[list[str]]:
        """Return the references in each request."""
        return [
            [value for name, value in variables["variables"].items() if name.startswith("pspReference")]
            for variables in self.asked
        ]

    async def answer(self, request: Request) -> Response:
        self.asked.append(body := await request.json())
        if self.says:
            return self.says.popleft()
        data: dict[str, Any] = {}
        errors: list[dict[str, Any]] = []
        for name, value in body["variables"].items():
            if not name.startswith("pspReference"):
                continue
            place = name.removeprefix("pspReference") or "transactionEventReport"
            refusal = {"field": "pspReference", "code": "INCORRECT_DETAILS", "message": "no"}
            data[place] = {"alreadyProcessed": value == "known", "errors": [refusal] if value in self.refuses else []}
            data[place]["transaction"] = {"order": None, "checkout": None}
            if value in self.hides:
                errors.append(self.hides[value] | {"path": [place, "transaction", "order", "totalBalance"]})
            if value in self.breaks:
                data[place] = None
                errors.append(self.breaks[value] | {"path": [place]})
        return JSONResponse({"data": data} | ({"errors": errors} if errors else {}))


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
async def here(api: Api) -> AsyncIterator[Row]:
    async with serve_graphql(api.answer) as row:
        yield row


@pytest.fixture
async def client() -> AsyncIterator[SaleorClient]:
    async with saleor_client() as client:
        yield client


Reporting = Callable[..., Any]


@pytest.fixture
def reporting(client: SaleorClient, here: Row) -> Reporting:
    """Report notes of these references in one moment, and return what became of each."""

    async def report(*references: str) -> list[ReportOutcome | BaseException]:
        return await asyncio.gather(
            *(client.report(here, note(reference)) for reference in references), return_exceptions=True
        )

    return report


async def test_ten_reports_are_one_request(reporting: Reporting, api: Api) -> None:
    references = [f"ref-{number}" for number in range(10)]
    outcomes = await reporting(*references)
    assert api.references() == [references]
    assert [outcome.already_processed for outcome in outcomes] == [False] * 10


async def test_more_than_ten_are_several_side_by_side(reporting: Reporting, api: Api) -> None:
    await reporting(*(f"ref-{number}" for number in range(23)))
    assert sorted(map(len, api.references())) == [3, 10, 10]


async def test_a_report_alone_is_asked_as_the_document_stands(reporting: Reporting, api: Api) -> None:
    await reporting("only")
    assert api.asked[0]["query"] == DOCUMENTS.text("transaction_event_report", (3, 23))


async def test_each_is_told_its_own_result(reporting: Reporting, api: Api) -> None:
    """A failure of one is a failure of one."""
    api.refuses = {"refused"}
    api.breaks = {"broken": BROKEN}
    outcomes = await reporting("fine", "refused", "known", "broken")
    assert [type(outcome) for outcome in outcomes] == [
        ReportOutcome,
        SaleorRefusedError,
        ReportOutcome,
        SaleorUnreachableError,
    ]
    assert [outcome.already_processed for outcome in outcomes if isinstance(outcome, ReportOutcome)] == [False, True]
    assert outcomes[1].code == "INCORRECT_DETAILS"
    assert len(api.asked) == 1


@pytest.mark.parametrize("references", [("only",), ("denied", "broken", "fine")], ids=["alone", "together"])
async def test_a_report_is_accepted_though_saleor_cannot_show_its_order(
    reporting: Reporting, api: Api, references: tuple[str, ...]
) -> None:
    """Retrying it would be refused for ever, and the money is booked."""
    api.hides = {"only": DENIED, "denied": DENIED, "broken": BROKEN}
    outcomes = await reporting(*references)
    assert [type(outcome) for outcome in outcomes] == [ReportOutcome] * len(references)
    shown = [outcome.source for outcome in outcomes if isinstance(outcome, ReportOutcome)]
    assert [None if transaction is None else transaction.is_gone for transaction in shown] == [
        None if reference in api.hides else True for reference in references
    ]
    assert len(api.asked) == 1


async def test_a_token_that_is_not_good_is_told_to_all_without_asking_again(reporting: Reporting, api: Api) -> None:
    api.breaks = dict.fromkeys(("a", "b"), DENIED)
    assert [type(outcome) for outcome in await reporting("a", "b")] == [SaleorNotAuthorisedError] * 2
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    "whole",
    [
        Response("<html>bad gateway</html>", 502),
        JSONResponse({"errors": [BROKEN]}),
        JSONResponse({"errors": [BROKEN | {"path": None}], "data": {}}),
        JSONResponse({"errors": [{"message": "bad id", "extensions": {"exception": {"code": "GraphQLError"}}}]}, 400),
    ],
    ids=["proxy", "no data", "nobody's error", "one unreadable variable"],
)
async def test_what_fails_together_is_asked_one_by_one(reporting: Reporting, api: Api, whole: Response) -> None:
    """One of them can be why Saleor cannot answer at all: the others do not wait for it."""
    api.says.append(whole)
    api.refuses = {"poison"}
    outcomes = await reporting("fine", "poison", "known")
    assert [type(outcome) for outcome in outcomes] == [ReportOutcome, SaleorRefusedError, ReportOutcome]
    assert sorted(map(len, api.references())) == [1, 1, 1, 3]


@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (Response("<h1>Too many requests</h1>", 429, {"Retry-After": "7"}), 7.0),
        (Response(status_code=429), 0.0),
        (Response(status_code=429, headers={"Retry-After": "soon"}), 0.0),
        (Response("<h1>Back soon</h1>", 503, {"Retry-After": "120"}), 120.0),
    ],
    ids=["a limit", "for no time", "for no readable time", "maintenance"],
)
async def test_reports_for_which_saleor_has_no_time_are_not_asked_one_by_one(
    reporting: Reporting, api: Api, together: int, answer: Response, pause: float
) -> None:
    """No report is why: one request more for each of them is what a limit of requests does not forgive."""
    api.says.append(answer)
    outcomes = await reporting(*"abc"[:together])
    assert [getattr(outcome, "pause", None) for outcome in outcomes] == [pause] * together
    assert all(isinstance(outcome, SaleorUnreachableError) for outcome in outcomes)
    assert len(api.asked) == 1


async def test_saleor_that_fails_otherwise_states_no_pause(reporting: Reporting, api: Api) -> None:
    api.says.append(Response(status_code=503))
    [outcome] = await reporting("only")
    assert isinstance(outcome, SaleorUnreachableError)
    assert outcome.pause is None


async def test_what_saleor_leaves_out_of_its_answer_is_asked_again_later(reporting: Reporting, api: Api) -> None:
    api.says.append(JSONResponse({"data": {"_0": {"alreadyProcessed": False, "errors": []}}}))
    outcomes = await reporting("said", "forgotten")
    assert [type(outcome) for outcome in outcomes] == [ReportOutcome, SaleorUnreachableError]


async def test_a_saleor_that_is_not_there_is_asked_once(client: SaleorClient, here: Row) -> None:
    gone = replace(here, saleor_api_url="http://127.0.0.1:9/graphql/")
    asked = asyncio.gather(*(client.report(gone, note(reference)) for reference in "ab"), return_exceptions=True)
    assert [type(outcome) for outcome in await asked] == [SaleorUnreachableError] * 2


async def test_whoever_stops_waiting_takes_nothing_from_the_others(client: SaleorClient, api: Api, here: Row) -> None:
    first, second = (asyncio.create_task(client.report(here, note(reference))) for reference in "ab")
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).already_processed is False
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_stores_and_versions_are_never_asked_together(client: SaleorClient, api: Api, here: Row) -> None:
    older, other = replace(here, schema_version="3.21"), replace(here, token="another-token")
    await asyncio.gather(*(client.report(row, note("a")) for row in (here, here, older, other)))
    assert sorted(map(len, api.references())) == [1, 1, 2]


async def test_nobody_asks_without_a_token(client: SaleorClient, here: Row, api: Api) -> None:
    with pytest.raises(SaleorError):
        await client.report(replace(here, token=""), note("a"))
    assert api.asked == []


async def test_orders_are_asked_for_together_too(client: SaleorClient, api: Api, here: Row) -> None:
    order = {"id": "T3JkZXI6MQ==", "number": "21"}
    gone = {"order": None, "checkout": None}
    api.says.append(JSONResponse({"data": {"_0": {"order": order}, "_1": None, "_2": gone}}))
    sources = await asyncio.gather(*(fetch_source(client, here, transaction_id) for transaction_id in ("x", "y", "z")))
    assert [source and source.order and source.order.number for source in sources] == ["21", None, None]
    assert [source and source.is_gone for source in sources] == [False, None, True]
    assert json.loads(json.dumps(api.asked[0]["variables"])) == {"id_0": "x", "id_1": "y", "id_2": "z"}


@pytest.mark.parametrize("text", ["query A { a b }", "query A { a } query B { b }", "fragment F on T { a }"])
def test_only_documents_of_one_field_are_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="one field"):
        repeat_field(text, 2)
