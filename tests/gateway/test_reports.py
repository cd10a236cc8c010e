"""Lists of a period, and registers (gateway interface, 8 and 10)."""

from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateway import wire
from app.gateway.client import GatewayClient
from app.gateway.credentials import Credentials
from app.gateway.errors import InvalidRequest, OutcomeUnknown, Refused, ReportNotReady
from app.gateway.models import Method, Status
from app.gateway.models.reports import (
    DEFAULT_DETAILS,
    Detail,
    RegisterLine,
    RegisterRequest,
    RegisterTicket,
    TransactionLine,
    periods,
)
from tests.gateway.conftest import POS_ID, Naps
from tests.gateway.counterpart import Counterpart, HangUp, Reply, lines, said, text

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
TICKET = RegisterTicket(report_id="r/1", count=2)


async def period(client: GatewayClient) -> list[TransactionLine]:
    async with aclosing(client.reports.period(START, END, timeout=5)) as found:
        return [line async for line in found]


async def register(client: GatewayClient, ticket: RegisterTicket = TICKET, patience: float = 100) -> list[RegisterLine]:
    async with aclosing(client.reports.fetch(ticket, patience=patience, timeout=5)) as found:
        return [line async for line in found]


async def test_a_period_comes_line_by_line(client: GatewayClient, gateway: Counterpart) -> None:
    endless = {**LINE, "dateTime": 10**15 - 1}
    gateway.will(lines(LINE, {**LINE, "dateTime": "", "amount": "", "status": "processing", "extra": 1}, endless))
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


async def test_lines_may_be_cut_anywhere_on_the_way(client: GatewayClient, gateway: Counterpart) -> None:
    content = b"\n".join(wire.dumps({**LINE, "orderId": str(number)}).encode() for number in range(5)) + b"\r\n\n"
    for size in (1, 7, 50):
        pieces = tuple(content[at : at + size] for at in range(0, len(content), size))
        gateway.will(Reply(pieces=pieces))
        assert [line.order_id for line in await period(client)] == ["0", "1", "2", "3", "4"]


async def test_an_empty_period(client: GatewayClient, gateway: Counterpart) -> None:
    gateway.will(Reply())
    assert await period(client) == []


@pytest.mark.parametrize(
    "answer",
    [
        Reply(pieces=(wire.dumps(LINE).encode() + b"\n", b'{"orderId"'), length=2000),
        Reply(pieces=(wire.dumps(LINE).encode() + b"\n", b'{"orderId"')),
        lines(LINE, [LINE]),
        lines(LINE, "text"),
        text("<html>", 503),
        said([], 302),
        HangUp(),
    ],
    ids=["broken off", "half a line", "array", "string", "503", "redirect", "dropped"],
)
async def test_a_list_that_breaks_is_not_taken_for_a_short_one(
    client: GatewayClient, gateway: Counterpart, answer: Reply
) -> None:
    gateway.will(answer)
    with pytest.raises(OutcomeUnknown):
        await period(client)


async def test_a_line_without_end_is_not_waited_for(client: GatewayClient, gateway: Counterpart) -> None:
    gateway.will(Reply(pieces=(b"x" * 1024,) * 2048))
    with pytest.raises(OutcomeUnknown, match="too long"):
        await period(client)


async def test_a_refused_list(client: GatewayClient, gateway: Counterpart) -> None:
    gateway.will(
        said({"message": "Too long", "args": {"code": "R-1"}}, 400), lines({"message": "Too long", "code": "R-1"})
    )
    for _ in range(2):
        with pytest.raises(Refused, match="Too long"):
            await period(client)


async def test_a_list_is_never_whole_in_memory(client: GatewayClient, gateway: Counterpart) -> None:
    # The first line is here while the gateway has not finished writing: it waits a minute after each.
    gateway.will(Reply(pieces=tuple(wire.dumps(LINE).encode() + b"\n" for _ in range(3)), pause=60))
    async with aclosing(client.reports.period(START, END, timeout=5)) as found:
        assert (await anext(found)).order_id == "order1"


@pytest.mark.parametrize(("start", "end"), [(END, START), (START, START), (START.replace(tzinfo=None), END)])
async def test_a_period_is_a_period(client: GatewayClient, start: datetime, end: datetime) -> None:
    with pytest.raises(InvalidRequest):
        await anext(client.reports.period(start, end, timeout=5))


async def test_a_register_is_started_without_the_endpoints_key(
    http: httpx2.AsyncClient, credentials: Credentials, gateway: Counterpart
) -> None:
    elsewhere = replace(credentials, register_url=gateway.url + "/register-host")
    gateway.will(said({"report_id": 77, "count": 2}))
    kyiv = timezone(timedelta(hours=2))
    ticket = await GatewayClient(http, elsewhere).reports.start(
        RegisterRequest(
            start_date=datetime(2026, 11, 1, tzinfo=kyiv),
            end_date=datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=kyiv),
            statuses=(Status.SUCCESS,),
            methods=(Method.PURCHASE, Method.RECURRENT),
            transaction_details=(Detail.ORDER_ID, Detail.RECEIVER_FEE),
        ),
        timeout=5,
    )
    assert (ticket.report_id, ticket.count) == ("77", 2)
    assert gateway.last.path == "/register-host/streaming-report/start"
    assert "x-api-auth" in gateway.last.headers
    assert "x-api-key" not in gateway.last.headers
    assert gateway.last.json == {
        "project_id": POS_ID,
        "start_date": "2026-11-01T00:00:00+02:00",
        "end_date": "2026-11-21T12:00:00.500+02:00",
        "statuses": ["success"],
        "methods": ["purchase", "recurrent"],
        "transaction_details": ["orderId", "receiverFee"],
    }


async def test_a_register_of_another_account_is_not_started(client: GatewayClient, gateway: Counterpart) -> None:
    request = RegisterRequest(project_id="d2719cd9-7a1a-4b1f-9a53-6b2f3c1e0a01", start_date=START, end_date=END)
    with pytest.raises(InvalidRequest, match="project_id"):
        await client.reports.start(request, timeout=5)
    assert gateway.heard == []


async def test_a_register_is_waited_for_longer_and_longer(
    client: GatewayClient, gateway: Counterpart, naps: Naps
) -> None:
    line = {**LINE, "cardMask": "424242******4242", "receiverAmount": "70.00", "exchangeRate": "41.2345"}
    gateway.will(said(NOT_READY), said(NOT_READY, 404), said(NOT_READY, 503), lines(line, line))
    first, _ = await register(client)
    assert naps.taken == [1, 2, 4]
    assert gateway.last.path == "/streaming-report/fetch/r%2F1"
    assert "x-api-key" not in gateway.last.headers
    assert (first.card_mask, first.receiver_amount, first.exchange_rate) == (
        "424242******4242",
        Decimal("70.00"),
        Decimal("41.2345"),
    )


async def test_patience_ends(client: GatewayClient, gateway: Counterpart, naps: Naps) -> None:
    gateway.will(*[said(NOT_READY)] * 9)
    with pytest.raises(ReportNotReady) as caught:
        await register(client, patience=100)
    assert naps.taken == [1, 2, 4, 8, 16, 30, 30]
    assert caught.value.code == "report_not_ready"


async def test_a_register_with_fewer_records_than_announced_broke_off(
    client: GatewayClient, gateway: Counterpart
) -> None:
    gateway.will(lines(LINE), lines(LINE))
    with pytest.raises(OutcomeUnknown, match="1 of 2"):
        await register(client)
    assert len(await register(client, RegisterTicket(report_id="r"))) == 1


def test_what_a_register_holds_by_default() -> None:
    assert [detail.value for detail in DEFAULT_DETAILS] == [
        "orderId", "paymentId", "amount", "currency", "method", "status", "dateTime", "cardMask", "payway",
        "customerFee", "merchantFee",
    ]  # fmt: skip


def test_every_detail_has_its_field() -> None:
    names = {field.alias for field in RegisterLine.model_fields.values()}
    assert names == {detail.value for detail in Detail}


def test_a_register_covers_31_days_at_most() -> None:
    RegisterRequest(start_date=START, end_date=START + timedelta(days=31))
    with pytest.raises(InvalidRequest, match="31 days"):
        RegisterRequest(start_date=START, end_date=START + timedelta(days=31, seconds=1))


moments = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


@given(start=moments, days=st.floats(min_value=0.001, max_value=400))
def test_longer_periods_are_cut_without_a_gap(start: datetime, days: float) -> None:
    end = start + timedelta(days=days)
    cut = list(periods(start, end))
    assert cut[0][0] == start
    assert cut[-1][1] == end
    assert all(one[1] == other[0] for one, other in pairwise(cut))
    for one, other in cut:
        RegisterRequest(start_date=one, end_date=other)
