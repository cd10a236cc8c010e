"""Lists of a period, and registers (gateway interface, 8 and 10)."""

import json
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import InvalidRequestError, OutcomeUnknownError, RefusedError, ReportNotReadyError
from gateway_client.models import Method, Status
from gateway_client.models.reports import (
    DEFAULT_DETAILS,
    RegisterColumn,
    RegisterLine,
    RegisterRequest,
    RegisterTicket,
)
from gateway_client_tests.conftest import POS_ID, RecordedSleeps
from gateway_client_tests.counterpart import ScriptedServer, lines
from gateway_client_tests.report_lines import END, LINE, NOT_READY, START, TICKET, period, register
from integration_base import exact_json
from integration_base_tests.loopback import HangUp, Reply, json_reply, text_reply


async def test_a_period_comes_line_by_line(client: GatewayClient, gateway: ScriptedServer) -> None:
    endless = {**LINE, "dateTime": 10**15 - 1}
    gateway.will_answer(
        lines(LINE, {**LINE, "dateTime": "", "amount": "", "status": "processing", "extra": 1}, endless)
    )
    first, second, third = await period(client)
    assert third.date_time is None
    assert gateway.last.path == f"/api/v1/pos/{POS_ID}/transactions"
    assert gateway.last.query == {"startDate": ["1793491200000"], "enddate": ["1795219200000"]}
    assert (first.amount, first.merchant_fee) == (Decimal("100.10"), Decimal("1.5"))
    assert first.date_time == datetime(2026, 11, 21, 10, 0, 0, 123000, tzinfo=UTC)
    assert (first.method, first.status) == (Method.PURCHASE, Status.SUCCESS)
    assert first.payload == "one\u2028line\x85still"
    assert (second.date_time, second.amount, second.status) == (None, None, Status.PENDING)
    assert second.model_extra == {"extra": 1}
    assert second.to_wire()["dateTime"] == ""
    assert first.to_wire() == LINE


async def test_a_method_in_a_list_is_known_however_it_is_capitalized(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    gateway.will_answer(lines(*({**LINE, "method": word} for word in ("PURCHASE", " Refund ", "Dispute", "SALE"))))
    assert [line.method for line in await period(client)] == [Method.PURCHASE, Method.REFUND, Method.DISPUTE, "SALE"]


async def test_lines_may_be_cut_anywhere_on_the_way(client: GatewayClient, gateway: ScriptedServer) -> None:
    content = b"\n".join(exact_json.dumps({**LINE, "orderId": str(number)}).encode() for number in range(5)) + b"\r\n\n"
    for size in (1, 7, 50):
        pieces = tuple(content[at : at + size] for at in range(0, len(content), size))
        gateway.will_answer(Reply(body=pieces))
        assert [line.order_id for line in await period(client)] == ["0", "1", "2", "3", "4"]


async def test_an_empty_period(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(Reply())
    assert await period(client) == []


@pytest.mark.fault("books-broken-off", "network-cut")
@pytest.mark.parametrize(
    "answer",
    [
        Reply(body=(exact_json.dumps(LINE).encode() + b"\n", b'{"orderId"'), length=2000),
        Reply(body=(exact_json.dumps(LINE).encode() + b"\n", b'{"orderId"')),
        lines(LINE, [LINE]),
        lines(LINE, "text"),
        text_reply("<html>", 503),
        json_reply([], 302),
        HangUp(),
    ],
    ids=["broken off", "half a line", "array", "string", "503", "redirect", "dropped"],
)
async def test_a_list_that_breaks_is_not_taken_for_a_short_one(
    client: GatewayClient, gateway: ScriptedServer, answer: Reply
) -> None:
    gateway.will_answer(answer)
    with pytest.raises(OutcomeUnknownError):
        await period(client)


@pytest.mark.parametrize("member", ["message", "code", "args", "details", "error"])
async def test_an_error_amid_a_list_is_no_line_of_it(
    client: GatewayClient, gateway: ScriptedServer, member: str
) -> None:
    gateway.will_answer(lines(LINE, {member: "x"}, LINE))
    with pytest.raises(OutcomeUnknownError, match="an error in the middle of the list"):
        await period(client)


@pytest.mark.threat("huge-body")
async def test_a_line_without_end_is_not_waited_for(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(Reply(body=(b"x" * 1024,) * 2048))
    with pytest.raises(OutcomeUnknownError, match="too long"):
        await period(client)


async def test_a_refused_list(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(
        json_reply({"message": "Too long", "args": {"code": "R-1"}}, 400), lines({"message": "Too long", "code": "R-1"})
    )
    for _ in range(2):
        with pytest.raises(RefusedError, match="Too long"):
            await period(client)


async def test_a_list_is_never_whole_in_memory(client: GatewayClient, gateway: ScriptedServer) -> None:
    # The first line is here while the gateway has not finished writing: it waits a minute after each.
    gateway.will_answer(Reply(body=tuple(exact_json.dumps(LINE).encode() + b"\n" for _ in range(3)), pause=60))
    async with aclosing(client.reports.period(START, END, timeout=30)) as found:
        first = await anext(found)
        assert first.order_id == "order1"


@pytest.mark.parametrize(("start", "end"), [(END, START), (START, START), (START.replace(tzinfo=None), END)])
async def test_a_period_is_a_period(client: GatewayClient, start: datetime, end: datetime) -> None:
    with pytest.raises(InvalidRequestError):
        await anext(client.reports.period(start, end, timeout=30))


async def test_a_register_is_started_without_the_endpoints_key(
    http: httpx2.AsyncClient, credentials: Credentials, gateway: ScriptedServer
) -> None:
    elsewhere = replace(credentials, register_url=gateway.url + "/register-host")
    gateway.will_answer(json_reply({"report_id": 77, "count": 2}))
    kyiv = timezone(timedelta(hours=2))
    ticket = await GatewayClient(http, elsewhere).reports.start(
        RegisterRequest(
            start_date=datetime(2026, 11, 1, tzinfo=kyiv),
            end_date=datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=kyiv),
            statuses=(Status.SUCCESS,),
            methods=(Method.PURCHASE, Method.RECURRENT),
            transaction_details=(RegisterColumn.ORDER_ID, RegisterColumn.RECEIVER_FEE),
        ),
        timeout=30,
    )
    assert (ticket.report_id, ticket.count) == ("77", 2)
    assert gateway.last.path == "/register-host/streaming-report/start"
    assert gateway.last.has("x-api-auth")
    assert not gateway.last.has("x-api-key")
    assert gateway.last.json == {
        "project_id": POS_ID,
        "start_date": "2026-11-01T00:00:00+02:00",
        "end_date": "2026-11-21T12:00:00.500+02:00",
        "statuses": ["success"],
        "methods": ["purchase", "recurrent"],
        "transaction_details": ["orderId", "receiverFee"],
    }


async def test_a_register_of_another_account_is_not_started(client: GatewayClient, gateway: ScriptedServer) -> None:
    request = RegisterRequest(project_id="d2719cd9-7a1a-4b1f-9a53-6b2f3c1e0a01", start_date=START, end_date=END)
    with pytest.raises(InvalidRequestError, match="project_id"):
        await client.reports.start(request, timeout=30)
    assert gateway.requests == []


async def test_a_register_is_waited_for_longer_and_longer(
    client: GatewayClient, gateway: ScriptedServer, naps: RecordedSleeps
) -> None:
    line = {**LINE, "cardMask": "424242******4242", "receiverAmount": "70.00", "exchangeRate": "41.2345"}
    gateway.will_answer(
        json_reply(NOT_READY), json_reply(NOT_READY, 404), json_reply(NOT_READY, 503), lines(line, line)
    )
    first, _ = await register(client)
    assert naps.taken == [1, 2, 4]
    assert gateway.last.path == "/streaming-report/fetch/r%2F1"
    assert not gateway.last.has("x-api-key")
    assert (first.card_mask, first.receiver_amount, first.exchange_rate) == (
        "424242******4242",
        Decimal("70.00"),
        Decimal("41.2345"),
    )


@pytest.mark.parametrize("more", [{"status": "pending"}, {"description": "in 5 minutes"}, {"projectId": POS_ID}])
async def test_a_register_that_is_not_ready_may_say_more_than_that(
    client: GatewayClient, gateway: ScriptedServer, naps: RecordedSleeps, more: dict[str, str]
) -> None:
    gateway.will_answer(json_reply(NOT_READY | more), lines(LINE))
    [line] = await register(client, RegisterTicket(report_id="r"))
    assert (line.order_id, naps.taken) == (LINE["orderId"], [1])


async def test_patience_ends(client: GatewayClient, gateway: ScriptedServer, naps: RecordedSleeps) -> None:
    gateway.will_answer(*[json_reply(NOT_READY)] * 9)
    with pytest.raises(ReportNotReadyError) as caught:
        await register(client, patience=100)
    assert naps.taken == [1, 2, 4, 8, 16, 30, 30]
    assert caught.value.code == "report_not_ready"


async def test_a_register_with_fewer_records_than_announced_broke_off(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    gateway.will_answer(lines(LINE), lines(LINE))
    with pytest.raises(OutcomeUnknownError, match="1 of 2"):
        await register(client)
    assert len(await register(client, RegisterTicket(report_id="r"))) == 1


async def test_a_register_with_more_records_than_announced_is_not_all_right(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    gateway.will_answer(lines(LINE, LINE, LINE))
    async with aclosing(client.reports.fetch(TICKET, patience=0, timeout=30)) as found:
        for _ in range(3):
            assert isinstance(await anext(found), RegisterLine)
        with pytest.raises(OutcomeUnknownError, match="3 records, and 2 were announced"):
            await anext(found)


async def test_how_many_records_are_announced_must_be_a_number(client: GatewayClient, gateway: ScriptedServer) -> None:
    request = RegisterRequest(start_date=START, end_date=END)
    gateway.will_answer(json_reply({"report_id": "r", "count": "many"}), json_reply({"report_id": "r", "count": -1}))
    for _ in range(2):
        with pytest.raises(OutcomeUnknownError, match="count"):
            await client.reports.start(request, timeout=30)
    gateway.will_answer(json_reply({"report_id": "r"}), json_reply({"report_id": "r", "count": None}))
    for _ in range(2):
        assert (await client.reports.start(request, timeout=30)).count is None


PRETTY = json.dumps(NOT_READY, indent=2)


@pytest.mark.parametrize(
    "answer", [text_reply(PRETTY), text_reply(PRETTY + "\n"), text_reply(PRETTY, 404), text_reply("\n" + PRETTY)]
)
async def test_a_register_that_is_not_ready_may_say_so_on_several_lines(
    client: GatewayClient, gateway: ScriptedServer, naps: RecordedSleeps, answer: Reply
) -> None:
    gateway.will_answer(answer, lines(LINE, LINE))
    assert len(await register(client)) == 2
    assert naps.taken == [1]


async def test_only_200_is_a_list(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(Reply(202), Reply(204), json_reply({}, 206))
    for _ in range(3):
        with pytest.raises(OutcomeUnknownError):
            await period(client)


def test_what_a_register_holds_by_default() -> None:
    assert [detail.value for detail in DEFAULT_DETAILS] == [
        "orderId", "paymentId", "amount", "currency", "method", "status", "dateTime", "cardMask", "payway",
        "customerFee", "merchantFee",
    ]  # fmt: skip


def test_every_detail_has_its_field() -> None:
    names = {field.alias for field in RegisterLine.model_fields.values()}
    assert names == {detail.value for detail in RegisterColumn}
