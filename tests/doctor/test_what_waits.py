"""What waits too long, clocks that differ, and checks that come to nothing: each is told as what it is."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from app.ops.doctor.checks import Check, run_checks
from app.ops.doctor.clocks import clock_findings
from app.ops.doctor.findings import Finding, Level, Subject
from app.ops.doctor.workers import check_lag
from app.store.errors import DatabaseUnavailableError
from integration_base.server_clock import compare_clock
from integration_base_tests.loopback import ReceivedRequest, Reply, serve_replies
from integration_base_tests.waiting import LONGEST_WAIT
from tests.payments.fake_gateway import payment
from tests.payments.shop import Shop


async def levels(shop: Shop) -> dict[Subject, Level]:
    return {finding.subject: finding.level for finding in await check_lag(shop.services, shop.installation)}


async def test_what_nobody_works_at_is_a_warning_first_and_then_an_error(shop: Shop) -> None:
    """A shopper pays, the gateway notifies it, and no worker is there."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    assert {*(await levels(shop)).values()} == {Level.FINE}
    await shop.notify(payment(shop.order_id))
    shop.clock.forward(minutes=5)
    assert (await levels(shop))[Subject.NOTIFICATIONS] is Level.WARNING
    shop.clock.forward(minutes=15)
    found = await levels(shop)
    assert {found[subject] for subject in (Subject.EVENTS, Subject.NOTIFICATIONS, Subject.LOOK_UPS)} == {Level.ERROR}


@pytest.mark.fault("clock-differs")
@pytest.mark.parametrize(
    ("ahead", "level"),
    [
        (timedelta(), Level.FINE),
        (timedelta(minutes=1), Level.WARNING),
        (timedelta(minutes=-1), Level.WARNING),
        (timedelta(minutes=6), Level.ERROR),
        (timedelta(minutes=-6), Level.ERROR),
    ],
)
async def test_a_clock_that_differs(ahead: timedelta, level: Level) -> None:
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

    async def answer(_heard: ReceivedRequest) -> Reply:
        return Reply(404, headers={"Date": format_datetime(now + ahead, usegmt=True)})

    async with serve_replies(answer) as address, httpx2.AsyncClient(trust_env=False) as http:
        difference = await compare_clock(http, address, lambda: now, within=LONGEST_WAIT)
    (found,) = clock_findings(difference, "shop.example.com")
    assert (found.level, found.about) == (level, "shop.example.com")


async def test_a_server_that_does_not_say_the_time_is_no_finding() -> None:
    async def answer(_heard: ReceivedRequest) -> Reply:
        return Reply(headers={"Date": "today"})

    async with serve_replies(answer) as address, httpx2.AsyncClient(trust_env=False) as http:
        assert await compare_clock(http, address, lambda: datetime.now(UTC), within=LONGEST_WAIT) is None


async def test_a_check_that_comes_to_nothing_is_a_finding_as_well() -> None:
    async def never() -> Sequence[Finding]:
        await asyncio.Event().wait()
        return []

    async def away() -> Sequence[Finding]:
        raise DatabaseUnavailableError

    async def broken() -> Sequence[Finding]:
        raise RuntimeError("a-secret")

    made: list[None] = []
    checks = [Check(Subject.SALEOR, never), Check(Subject.WORKER, away), Check(Subject.CHANNELS, broken, "Shop")]
    found = await run_checks(checks, within=0.05, done=lambda: made.append(None))
    assert [(finding.subject, finding.level) for finding in found] == [(check.subject, Level.ERROR) for check in checks]
    assert len(made) == 3
    assert "a-secret" not in str(found)
