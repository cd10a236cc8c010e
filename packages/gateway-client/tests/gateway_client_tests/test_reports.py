"""Lists of a period, and registers (gateway interface, 8 and 10)."""

import gzip
import json
import zlib
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from typing import TypeVar
from zoneinfo import ZoneInfo, available_timezones

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import InvalidRequestError, OutcomeUnknownError, RefusedError, ReportNotReadyError
from gateway_client.models import Method, Status
from gateway_client.models.reports import (
    DEFAULT_DETAILS,
    LONGEST_PERIOD,
    RegisterColumn,
    RegisterLine,
    RegisterRequest,
    RegisterTicket,
    TransactionLine,
    UnreadableLine,
    split_period,
)
from gateway_client_tests.conftest import POS_ID, RecordedSleeps
from gateway_client_tests.counterpart import ScriptedServer, lines
from integration_base import exact_json
from integration_base_tests.loopback import HangUp, Reply, json_reply, text_reply

START = datetime(2026, 11, 1, tzinfo=UTC)
END = datetime(2026, 11, 21, tzinfo=UTC)
LINE = {
    "projectId": POS_ID,
    "orderId": "order1",
    "paymentId": "p-1",
    "amount": "100.10",
    "currency": "UAH",
    "method": "purchase",
    "status": "success",
    "dateTime": 1795255200123,
    "authCode": "",
    "payload": "one\u2028line\x85still",
    "customerFee": "0.00",
    "merchantFee": "1.5",
}
NOT_READY = {"message": "Report is not ready", "code": "report_not_ready"}
L = TypeVar("L", bound=TransactionLine)
TICKET = RegisterTicket(report_id="r/1", count=2)


async def period(client: GatewayClient) -> list[TransactionLine]:
    return readable(await all_of_period(client))


async def register(client: GatewayClient, ticket: RegisterTicket = TICKET, patience: float = 100) -> list[RegisterLine]:
    return readable(await all_of_register(client, ticket, patience))


async def all_of_period(client: GatewayClient) -> list[TransactionLine | UnreadableLine]:
    async with aclosing(client.reports.period(START, END, timeout=30)) as found:
        return [line async for line in found]


async def all_of_register(
    client: GatewayClient, ticket: RegisterTicket = TICKET, patience: float = 100
) -> list[RegisterLine | UnreadableLine]:
    async with aclosing(client.reports.fetch(ticket, patience=patience, timeout=30)) as found:
        return [line async for line in found]


def readable(found: Sequence[L | UnreadableLine]) -> list[L]:
    assert not [line for line in found if isinstance(line, UnreadableLine)]
    return [line for line in found if not isinstance(line, UnreadableLine)]


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
        timeout=5,
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


class TestWhatCannotBeRead:
    """No money is lost in silence: a line that cannot be read is one, and says so."""

    @pytest.mark.parametrize(
        ("strange", "field"),
        [
            ({"amount": "100,10"}, "amount"),
            ({"amount": "a lot"}, "amount"),
            ({"amount": ["100.10"]}, "amount"),
            ({"amount": Decimal("1e20")}, "amount"),
            ({"merchantFee": "one and a half"}, "merchantFee"),
            ({"currency": ["UAH"]}, "currency"),
            ({"orderId": {"id": "order1"}}, "orderId"),
            ({"method": 5}, "method"),
            ({"status": True}, "status"),
        ],
    )
    async def test_a_line_says_which_of_its_fields(
        self, client: GatewayClient, gateway: ScriptedServer, strange: dict[str, object], field: str
    ) -> None:
        gateway.will_answer(lines(LINE, LINE | strange, LINE), lines(LINE, LINE | strange, LINE))
        for found in (await all_of_period(client), await all_of_register(client, replace_count(3))):
            first, second, third = found
            assert isinstance(first, TransactionLine)
            assert isinstance(third, TransactionLine)
            assert isinstance(second, UnreadableLine)
            assert (second.number, second.payment_id) == (2, "p-1")
            assert second.order_id == (None if field == "orderId" else LINE["orderId"])
            assert second.why.endswith(f": {field}")
            assert "a lot" not in repr(second)

    async def test_what_decides_nothing_does_not_spoil_a_line(
        self, client: GatewayClient, gateway: ScriptedServer
    ) -> None:
        gateway.will_answer(
            lines(
                LINE
                | {"description": ["odd"], "authCode": {}, "dateTime": "yesterday", "merchantFee": None, "currency": ""}
            )
        )
        [line] = await period(client)
        assert (line.description, line.auth_code, line.date_time, line.merchant_fee) == (None, None, None, None)

    async def test_a_line_that_is_no_record_is_not_counted_as_one(
        self, client: GatewayClient, gateway: ScriptedServer
    ) -> None:
        gateway.will_answer(lines(LINE, {}, LINE), lines(LINE, {"unheard of": 1}))
        first, second, third = await all_of_register(client)
        assert isinstance(second, UnreadableLine)
        assert second.why == "no record"
        assert isinstance(first, RegisterLine)
        assert isinstance(third, RegisterLine)
        with pytest.raises(OutcomeUnknownError, match="1 of 2"):
            await all_of_register(client)

    @pytest.mark.parametrize(
        "words", [{"message": "Internal error"}, {"message": "Internal error", "details": None}, {"code": "E-1"}]
    )
    async def test_an_error_in_the_middle_ends_the_list(
        self, client: GatewayClient, gateway: ScriptedServer, words: dict[str, object]
    ) -> None:
        gateway.will_answer(lines(LINE, words, LINE), lines(LINE, words, LINE))
        with pytest.raises((OutcomeUnknownError, RefusedError)):
            await all_of_period(client)
        with pytest.raises((OutcomeUnknownError, RefusedError)):
            await all_of_register(client)

    async def test_an_error_in_a_list_does_not_repeat_the_keys(
        self, client: GatewayClient, gateway: ScriptedServer
    ) -> None:
        words = {"message": "not good: key-of-the-api", "code": "R-1"}
        gateway.will_answer(lines(words), json_reply(words, 400))
        for _ in range(2):
            with pytest.raises(RefusedError, match=r"not good: \(not shown\)"):
                await all_of_period(client)

    async def test_an_unknown_status_keeps_its_word(self, client: GatewayClient, gateway: ScriptedServer) -> None:
        gateway.will_answer(lines(LINE | {"status": "charged_back"}, LINE))
        odd, usual = await period(client)
        assert (odd.status, odd.reported_status) == (Status.PENDING, "charged_back")
        assert odd.to_wire()["status"] == "charged_back"
        assert (usual.status, usual.reported_status) == (Status.SUCCESS, None)


def replace_count(count: int) -> RegisterTicket:
    return RegisterTicket(report_id=TICKET.report_id, count=count)


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


WHOLE = b"".join(exact_json.dumps(LINE | {"orderId": str(number)}).encode() + b"\n" for number in range(50))
GZIPPED = gzip.compress(WHOLE, mtime=0)  # else the second is in it, and in the names of tests
DEFLATED = zlib.compress(WHOLE)


class TestCompressedLists:
    """We ask for none; somebody on the way may compress all the same."""

    @pytest.mark.parametrize(
        ("coding", "content"),
        [
            ("gzip", GZIPPED),
            ("x-gzip", GZIPPED),
            ("gzip", gzip.compress(WHOLE[:700], mtime=0) + gzip.compress(WHOLE[700:], mtime=0)),
            ("deflate", DEFLATED),
            ("identity", WHOLE),
        ],
    )
    async def test_are_read(self, client: GatewayClient, gateway: ScriptedServer, coding: str, content: bytes) -> None:
        pieces = tuple(content[at : at + 100] for at in range(0, len(content), 100))
        gateway.will_answer(Reply(headers={"Content-Encoding": coding}, body=pieces))
        assert len(await period(client)) == 50

    @pytest.mark.parametrize(
        ("coding", "content"),
        [
            ("gzip", GZIPPED[:-9]),
            ("gzip", GZIPPED[:10]),
            ("gzip", GZIPPED[:-8] + b"12345678"),
            ("gzip", GZIPPED + b"rubbish"),
            ("gzip", b""),
            ("gzip", WHOLE),
            ("deflate", DEFLATED[:-5]),
            ("br", WHOLE),
            ("gzip, gzip", gzip.compress(GZIPPED, mtime=0)),
        ],
    )
    async def test_are_not_taken_for_shorter_ones(
        self, client: GatewayClient, gateway: ScriptedServer, coding: str, content: bytes
    ) -> None:
        gateway.will_answer(*[Reply(headers={"Content-Encoding": coding}, body=(content,))] * 2)
        with pytest.raises(OutcomeUnknownError):
            await period(client)
        with pytest.raises(OutcomeUnknownError):
            await client.get_order("order1", timeout=30)

    @pytest.mark.threat("decompression-bomb")
    async def test_may_not_fill_the_memory(self, client: GatewayClient, gateway: ScriptedServer) -> None:
        bomb = gzip.compress(b" " * 64 * 1024 * 1024)
        gateway.will_answer(*[Reply(headers={"Content-Encoding": "gzip"}, body=(bomb,))] * 2)
        with pytest.raises(OutcomeUnknownError, match="too long"):
            await period(client)
        with pytest.raises(OutcomeUnknownError, match="too large"):
            await client.get_order("order1", timeout=30)


def test_what_a_register_holds_by_default() -> None:
    assert [detail.value for detail in DEFAULT_DETAILS] == [
        "orderId", "paymentId", "amount", "currency", "method", "status", "dateTime", "cardMask", "payway",
        "customerFee", "merchantFee",
    ]  # fmt: skip


def test_every_detail_has_its_field() -> None:
    names = {field.alias for field in RegisterLine.model_fields.values()}
    assert names == {detail.value for detail in RegisterColumn}


def test_a_register_covers_31_days_at_most() -> None:
    RegisterRequest(start_date=START, end_date=START + timedelta(days=31))
    with pytest.raises(InvalidRequestError, match="31 days"):
        RegisterRequest(start_date=START, end_date=START + timedelta(days=31, seconds=1))


moments = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


@given(start=moments, days=st.floats(min_value=0.001, max_value=400))
def test_longer_periods_are_cut_without_a_gap(start: datetime, days: float) -> None:
    end = start + timedelta(days=days)
    cut = list(split_period(start, end))
    assert cut[0][0] == start
    assert cut[-1][1] == end
    assert all(one[1] == other[0] for one, other in pairwise(cut))
    for one, other in cut:
        RegisterRequest(start_date=one, end_date=other)


def test_31_days_over_the_end_of_summer_time_are_31_days() -> None:
    kyiv = ZoneInfo("Europe/Kyiv")
    start, end = datetime(2026, 10, 1, tzinfo=kyiv), datetime(2026, 11, 1, tzinfo=kyiv)
    first, second = split_period(start, end)
    assert first[1] - first[0] == timedelta(days=31)
    assert second == (datetime(2026, 10, 31, 21, tzinfo=UTC), datetime(2026, 10, 31, 22, tzinfo=UTC))
    with pytest.raises(InvalidRequestError, match="31 days"):
        RegisterRequest(start_date=start, end_date=end)


def test_the_hour_that_comes_twice_is_an_hour() -> None:
    kyiv = ZoneInfo("Europe/Kyiv")
    first, again = datetime(2026, 10, 25, 3, 30, tzinfo=kyiv), datetime(2026, 10, 25, 3, 10, fold=1, tzinfo=kyiv)
    RegisterRequest(start_date=first, end_date=again)
    with pytest.raises(InvalidRequestError, match="after"):
        RegisterRequest(start_date=again, end_date=first)


zones = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)
local_moments = st.datetimes(
    min_value=datetime(1890, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2040, 1, 1),  # noqa: DTZ001 - as above
    timezones=zones,
    allow_imaginary=True,
)


@given(start=local_moments, days=st.integers(min_value=1, max_value=400))
@example(start=datetime(2026, 10, 1, tzinfo=ZoneInfo("Europe/Kyiv")), days=31)
def test_the_clocks_of_no_zone_stretch_a_period(start: datetime, days: int) -> None:
    end = start + timedelta(days=days)
    cut = [(one.astimezone(UTC), other.astimezone(UTC)) for one, other in split_period(start, end)]
    assert (cut[0][0], cut[-1][1]) == (start.astimezone(UTC), end.astimezone(UTC))
    assert all(one[1] == other[0] for one, other in pairwise(cut))
    assert all(timedelta() < other - one <= LONGEST_PERIOD for one, other in cut)


@given(start=local_moments, over=st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(days=2)))
def test_a_register_is_asked_for_by_the_time_that_passes(start: datetime, over: timedelta) -> None:
    """In the zone of the shop, whatever its clocks do meanwhile."""
    exact = (start.astimezone(UTC) + LONGEST_PERIOD).astimezone(start.tzinfo)
    asked = RegisterRequest(start_date=start, end_date=exact).to_wire()
    told = [datetime.fromisoformat(asked[name]) for name in ("start_date", "end_date")]
    assert told[1].astimezone(UTC) - told[0].astimezone(UTC) == LONGEST_PERIOD
    with pytest.raises(InvalidRequestError, match="31 days"):
        RegisterRequest(start_date=start, end_date=(exact.astimezone(UTC) + over).astimezone(start.tzinfo))


async def test_a_period_that_is_none_is_named_as_the_caller_named_it(client: GatewayClient) -> None:
    with pytest.raises(InvalidRequestError, match=r"enddate: after startDate;") as of_list:
        await anext(client.reports.period(END, START, timeout=30))
    with pytest.raises(InvalidRequestError, match=r"end_date: after start_date;") as of_register:
        RegisterRequest(start_date=END, end_date=START)
    with pytest.raises(InvalidRequestError, match=r"end: after start;") as of_both:
        next(split_period(END, START))
    assert [caught.value.field for caught in (of_list, of_register, of_both)] == ["enddate", "end_date", "end"]
