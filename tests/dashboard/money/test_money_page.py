"""What staff are shown of a period's money, and the file that they take to the accountant."""

import csv
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from app.core.vocabulary import Kind
from app.flows.reconciliation.run import begin_run
from app.services import Services
from app.store.day_sums import UNKNOWN_CHANNEL, Total, store_days
from app.store.reconciliations import Finding, record_findings, update_run
from app.store.tables import (
    Booked,
    ComparedDay,
    DiscrepancyKind,
    DiscrepancyState,
    MerchantAccount,
    ReconciliationRun,
    RunState,
)
from tests.commands.books import operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names, other_store

DAY = date(2026, 11, 20)
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
SPACE = "\N{NO-BREAK SPACE}"


async def sold(staff_client: StaffClient, number: int = 1, **different: object) -> None:
    """Somebody paid 1234.50, at a fee of 18.52, and got 34.50 back."""
    fee = {"fee": {"amount": "18.52", "currency": "UAH"}}
    rows = [
        operation(Kind.CREATE, amount=Decimal("1234.50"), details=fee, updated_at=AT),
        operation(Kind.REFUND, amount=Decimal("34.50"), updated_at=AT),
    ]
    account = staff_client.shop.account
    await store_payment(staff_client.services, account, rows, **names(number), **different)  # type: ignore[arg-type] # any column


async def compared(
    services: Services, account: MerchantAccount, *totals: tuple[Booked, str, str], hours: int = 24
) -> int:
    """The books of that day were compared, and the gateway's have so much; or of so many hours of it."""
    await services.accounts.change(account.id, created_at=AT - timedelta(days=10))
    run_id = await begin_run(services, account)
    midnight = AT - timedelta(hours=12)
    day = ComparedDay(
        account_id=account.id,
        day=DAY,
        starts_at=midnight,
        ends_at=midnight + timedelta(hours=hours),
        run_id=run_id,
        compared_at=AT,
    )
    rows = [
        Total(DAY, account.id, channel, "UAH", kind, Decimal(amount), 1, Decimal("0.00"), 0)
        for kind, amount, channel in totals
    ]
    async with services.database.transaction() as session:
        await store_days(session, account.id, [(day, rows)])
        until = midnight + timedelta(days=1, hours=1, minutes=45)
        done = {"state": RunState.DONE, "due_at": None, "covered_until": until, "finished_at": until}
        await update_run(session, run_id, **done)
    return run_id


ALL_OF_IT = ((Booked.CHARGED, "1234.50", "default-channel"), (Booked.REFUNDED, "34.50", "default-channel"))


async def test_a_day_that_both_books_agree_on(staff_client: StaffClient) -> None:
    await sold(staff_client)
    page = (await staff_client.see(f"/money?from={DAY}&to={DAY}")).text
    assert 'aria-current="page">Money' in page
    assert "not yet compared" in page
    assert page.count("1,234.50") == 1  # ours alone
    await compared(staff_client.services, staff_client.shop.account, *ALL_OF_IT)
    page = (await staff_client.see(f"/money?from={DAY}&to={DAY}")).text
    assert "Nov 20, 2026" in page
    assert page.count("1,234.50") == 1  # one figure, and a mark
    assert 'class="agrees">both agree<' in page
    assert "1,181.48" in page  # 1234.50 - 34.50 - 18.52
    assert "both agree" in page
    assert "not known: 1" in page
    assert "not yet compared" not in page
    assert "agree up to" in page
    assert "2026-11-21T01:45:00Z" in page
    assert "This was checked on" in page


async def test_a_day_that_differs_is_marked_in_words(staff_client: StaffClient) -> None:
    await sold(staff_client)
    strays = (Booked.CHARGED, "5.00", UNKNOWN_CHANNEL)
    await compared(staff_client.services, staff_client.shop.account, *ALL_OF_IT, strays)
    page = (await staff_client.see("/money?from=2026-11-19&to=2026-11-21")).text
    assert "Some totals in these days differ" in page
    assert "they differ" in page
    assert "1,239.50" in page  # the gateway's, beside ours
    assert "Not made by this app" in page
    assert 'href="/attention"' in page
    assert "agree up to" not in page


async def test_trials_are_apart_from_what_was_sold(staff_client: StaffClient) -> None:
    await sold(staff_client)
    tried = [operation(amount=Decimal("1.00"), updated_at=AT)]
    account = staff_client.shop.account
    await store_payment(staff_client.services, account, tried, **names(2), channel="", trial=True)
    trial = (Booked.CHARGED, "1.00", "")
    await compared(staff_client.services, account, *ALL_OF_IT, trial)
    page = (await staff_client.see(f"/money?from={DAY}&to={DAY}")).text
    lines = re.findall(r"<tbody.*?</tbody>", page, re.DOTALL)
    shown = [[word.strip() for word in re.sub(r"<[^>]+>", "|", line).split("|") if word.strip()] for line in lines]
    assert [line[:3] for line in shown] == [["Total", "both agree", "1,234.50"], ["Trials", "both agree", "1.00"]]


async def test_trials_in_a_currency_of_their_own_have_no_total(staff_client: StaffClient) -> None:
    tried = [operation(amount=Decimal("1.00"), updated_at=AT)]
    await store_payment(staff_client.services, staff_client.shop.account, tried, **names(2), channel="", trial=True)
    page = (await staff_client.see(f"/money?from={DAY}&to={DAY}")).text
    assert "Trials" in page
    assert "Total" not in page
    assert "Nothing was charged" not in page


@one_database
async def test_single_payments_that_differ_are_told(staff_client: StaffClient) -> None:
    services, account = staff_client.services, staff_client.shop.account
    run_id = await compared(services, account)
    payment = await staff_client.payment(3)
    async with services.database.transaction() as session:
        run = await session.get_one(ReconciliationRun, run_id)
        facts: dict[str, object] = {"gateway": None, "ours": None}
        kind, state = DiscrepancyKind.MISSED, DiscrepancyState.FOUND
        found = Finding("key", kind, state, payment.order_id, facts, payment_id=payment.id)
        await record_findings(session, run, [found], AT)
    for path in ("/money", "/attention"):
        assert (
            "Payments that differ between our records and the gateway’s: 1." in (await staff_client.see(path)).text
        ), path


@one_database
async def test_part_of_a_day_does_not_claim_to_be_the_whole(staff_client: StaffClient) -> None:
    await sold(staff_client)
    await compared(staff_client.services, staff_client.shop.account, *ALL_OF_IT, hours=14)
    page = (await staff_client.see("/money?from=2026-11-19&to=2026-11-21")).text
    assert "compared only up to 14:00 UTC" in page
    assert page.count("1,234.50") == 2  # in all, and by day: ours
    assert "Days not yet fully compared: 3." in page


@pytest.mark.threat("staff-of-another-store")
@one_database
async def test_another_store_sees_nothing_of_it(staff_client: StaffClient) -> None:
    another = await other_store(staff_client.shop)
    rows = [operation(Kind.CREATE, amount=Decimal("777.77"), updated_at=AT)]
    await store_payment(staff_client.services, another, rows, **names(7))
    await compared(staff_client.services, another, (Booked.CHARGED, "777.77", "theirs"))
    for path in ("/money?from=2026-11-20", f"/money?from=2026-11-20&account={another.id}"):
        page = (await staff_client.see(path)).text
        assert "777.77" not in page
        assert "Next door" not in page
        assert "Nothing was charged" in page
    said = await staff_client.do("/money.csv", **{"from": str(DAY), "to": str(DAY), "account": another.id})
    assert said.text.count("\n") == 1


async def test_the_file(staff_client: StaffClient) -> None:
    await sold(staff_client, channel="=cmd|' /C calc'!A0")
    await compared(staff_client.services, staff_client.shop.account, (Booked.CHARGED, "1.00", "=cmd|' /C calc'!A0"))
    said = await staff_client.do("/money.csv", **{"from": "2026-11-01", "to": "2026-11-30"})
    assert said.headers["content-type"] == "text/csv; charset=utf-8"
    header, line = csv.reader(said.content.decode("utf-8-sig").splitlines())
    row = dict(zip(header, line, strict=True))
    assert (row["Day (UTC)"], row["Merchant account"], row["Channel"]) == ("2026-11-20", "Main", "'=cmd|' /C calc'!A0")
    assert (row["Charged"], row["Refunded"], row["Fees"], row["Net"]) == ("1234.50", "34.50", "18.52", "1181.48")
    assert (row["Charged (the gateway’s)"], row["Our records and the gateway’s"]) == ("1.00", "they differ")


@one_database
async def test_in_ukrainian(staff_client: StaffClient) -> None:
    await sold(staff_client)
    page = (await staff_client.see(f"/money?from={DAY}", **{"Accept-Language": "uk"})).text
    assert f"1{SPACE}234,50" in page
    assert "20 лист. 2026" in page
    assert "Гроші" in page


@one_database
async def test_days_that_cannot_be_meant(staff_client: StaffClient) -> None:
    for answer in (
        await staff_client.see("/money?from=tomorrow&to=2026-02-30"),
        await staff_client.do("/money.csv", **{"from": "tomorrow", "to": "2026-02-30"}),
    ):
        assert answer.status_code == 422
        assert set(answer.json()["detail"]["fields"]) == {"from", "to"}
    answer = await staff_client.see("/money?from=2020-01-01&to=2026-01-01")
    assert answer.json()["detail"]["fields"] == {"to": "You can view at most 366 days at once."}


@one_database
async def test_nothing_was_sold(staff_client: StaffClient) -> None:
    page = (await staff_client.see("/money")).text
    assert "Nothing was charged, refunded, charged back or paid out." in page
    assert "Download" not in page
