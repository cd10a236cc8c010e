"""Payments as a file for spreadsheets."""

import csv
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import Flow, Kind, PaymentStatus, State
from app.i18n.translation import translation
from app.reports import payment_rows
from app.reports.payment_rows import payment_rows as rows_of
from app.reports.sheet import SheetStyle, csv_lines, escape_formula
from app.store.search import PaymentFilter
from tests.commands.books import ORDER, TRANSACTION, moment_after, operation, store_payment
from tests.payments.problems import issue_saying
from tests.payments.shop import Shop


async def rows(shop: Shop, **wanted: Any) -> list[dict[str, str]]:
    """Return the lines by their columns."""
    text = await payments_csv(shop, SheetStyle(), **wanted)
    return list(csv.DictReader(StringIO(text, newline="")))


async def payments_csv(shop: Shop, style: SheetStyle, **wanted: Any) -> str:
    batches = rows_of(shop.services, PaymentFilter(**wanted), style)
    return "".join([csv_lines(rows, style) async for rows in batches])


async def test_a_line_says_how_a_payment_stands_and_nothing_of_the_shopper(shop: Shop) -> None:
    said = {
        "card_mask": "424242******4242",
        "processed_at": "2026-11-21T12:00:03Z",
        "fee": {"amount": "1.50", "currency": "UAH"},
    }
    paid = operation(details=said, message="olena@example.com", operation_id="36c59597")
    abroad = {"fee": {"amount": "0.1", "currency": "EUR"}}
    refund = operation(Kind.REFUND, amount=Decimal("30.5"), details=abroad)
    await store_payment(
        shop.services, shop.account, [paid, refund], order_number="1042", problem='Two\nlines, "quoted"'
    )
    (line,) = await rows(shop)
    assert line == {
        "Started (UTC)": "2026-11-21 12:00:00",
        "Order number": "1042",
        "Gateway order ID": ORDER,
        "Transaction in Saleor": TRANSACTION,
        "Amount": "100.00",
        "Currency": "UAH",
        "Status": "partially refunded",
        "Authorized": "0.00",
        "Charged": "100.00",
        "Refunded": "30.50",
        "Paid with": "424242******4242",
        "Channel": "default-channel",
        "Merchant account": "Main",
        "Project": "Live",
        "Needs attention": issue_saying('Two lines, "quoted"').message,
        "Released": "0.00",
        "Charged back": "0.00",
        "Gateway payment ID": "36c59597",
        "Processed (UTC)": "2026-11-21 12:00:03",
        "Fee": "1.50",
        "Activity": "charged 100.00, 2026-11-21 12:00:03, fee 1.50 UAH; "
        "refunded 30.50, 2026-11-21 12:00:01, fee 0.10 EUR",
        "Trial": "",
    }


async def test_an_accountant_in_ukraine_opens_it_as_it_is(shop: Shop) -> None:
    """Spreadsheets there read a comma as the decimal sign, and a semicolon between columns."""
    shop.account = await shop.services.accounts.change(shop.account.id, test_project=True)
    await store_payment(shop.services, shop.account, [operation(amount=Decimal("1.02"))], amount=Decimal("1.02"))
    text = await payments_csv(shop, SheetStyle(translation("uk"), ZoneInfo("Europe/Kyiv")))
    (line,) = csv.DictReader(StringIO(text, newline=""), delimiter=";")
    assert line["Розпочато (Europe/Kyiv)"] == "2026-11-21 14:00:00"
    assert (line["Сума"], line["Списано"], line["Статус"]) == ("1,02", "1,02", "оплачено")
    assert line["Проєкт"] == "Тестовий проєкт"
    assert line["Дії"] == "списано 1,02, 2026-11-21 14:00:01"


async def test_two_payments_in_the_hour_that_comes_twice_can_be_told_apart(shop: Shop) -> None:
    """Clocks in Kyiv go back from four to three at 01:00 UTC: both began at half past three, and read alike."""
    before = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    for number, began in enumerate((before, before + timedelta(hours=1), before + timedelta(hours=2))):
        said = {"processed_at": f"{began + timedelta(seconds=9):%Y-%m-%dT%H:%M:%SZ}"}
        await store_payment(
            shop.services, shop.account, [operation(details=said)], created_at=began,
            order_id=f"order{number}", transaction_id=f"{number}",
        )  # fmt: skip
    text = await payments_csv(shop, SheetStyle(translation("uk"), ZoneInfo("Europe/Kyiv")))
    late, second, first = csv.DictReader(StringIO(text, newline=""), delimiter=";")
    assert first["Розпочато (Europe/Kyiv)"] == second["Розпочато (Europe/Kyiv)"] == "2026-10-25 03:30:00"
    started, processed = "Розпочато: зсув від UTC", "Оброблено: зсув від UTC"
    assert list(first)[-2:] == [started, processed]
    assert [line[started] for line in (first, second, late)] == ["UTC+03:00", "UTC+02:00", "UTC+02:00"]
    assert [line[processed] for line in (first, second, late)] == ["UTC+03:00", "UTC+02:00", "UTC+02:00"]
    assert first["Дії"] == "списано 100,00, 2026-10-25 03:30:09 UTC+03:00"
    assert second["Дії"] == "списано 100,00, 2026-10-25 03:30:09 UTC+02:00"
    assert late["Дії"] == "списано 100,00, 2026-10-25 04:30:09", "no other has that time"


async def test_a_time_that_is_not_known_has_no_offset(shop: Shop) -> None:
    await store_payment(shop.services, shop.account, [operation()])
    text = await payments_csv(shop, SheetStyle(zone=ZoneInfo("America/St_Johns")))
    (line,) = csv.DictReader(StringIO(text, newline=""))
    assert (line["Started: UTC offset"], line["Processed: UTC offset"]) == ("UTC-03:30", "")


async def test_what_became_of_a_reservation(shop: Shop) -> None:
    reserved: dict[str, Any] = {"flow": Flow.AUTHORIZATION}
    await store_payment(
        shop.services, shop.account, [operation(), operation(Kind.CAPTURE, amount=Decimal("60.00"))], **reserved,
        order_id="a", transaction_id="1",
    )  # fmt: skip
    await store_payment(
        shop.services, shop.account, [operation(), operation(Kind.VOID)], **reserved, order_id="b", transaction_id="2"
    )
    await store_payment(shop.services, shop.account, [operation()], **reserved, order_id="c", transaction_id="3")
    lost = [operation(), operation(Kind.DISPUTE), operation(Kind.REFUND, State.FAILURE)]
    await store_payment(shop.services, shop.account, lost, order_id="d", transaction_id="4")
    found = {row["Gateway order ID"]: row for row in await rows(shop)}
    assert {name: row["Released"] for name, row in found.items()} == {
        "a": "40.00", "b": "100.00", "c": "0.00", "d": "0.00",
    }  # fmt: skip
    assert found["c"]["Activity"] == "authorized 100.00, 2026-11-21 12:00:01"
    assert (found["c"]["Fee"], found["c"]["Processed (UTC)"], found["c"]["Gateway payment ID"]) == ("", "", "")
    assert found["d"]["Charged back"] == "100.00"
    assert found["d"]["Activity"].endswith("charged back 100.00, 2026-11-21 12:00:01")


@pytest.mark.parametrize("many", [0, 1, 4, 5, 6, 11])
async def test_each_payment_has_one_line_however_many_are_read_at_once(
    shop: Shop, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payment_rows, "BATCH_SIZE", 5)
    for number in range(many):
        await store_payment(
            shop.services, shop.account, order_id=f"order{number}", transaction_id=f"{number}",
            created_at=moment_after(minutes=number // 3),
        )  # fmt: skip
    assert [row["Gateway order ID"] for row in await rows(shop)] == [
        f"order{number}" for number in reversed(range(many))
    ]


async def test_only_what_is_wanted_is_in_it(shop: Shop) -> None:
    await store_payment(shop.services, shop.account, [operation(state=State.INIT)], order_id="open", transaction_id="1")
    await store_payment(shop.services, shop.account, order_id="paid", transaction_id="2", channel="eur")
    assert [row["Gateway order ID"] for row in await rows(shop, status=PaymentStatus.PENDING)] == ["open"]
    assert [row["Gateway order ID"] for row in await rows(shop, channel="eur")] == ["paid"]
    assert await rows(shop, channel="pln") == []


@pytest.mark.threat("csv-formulas")
async def test_what_people_wrote_is_no_formula(shop: Shop) -> None:
    await store_payment(
        shop.services, shop.account, order_number="=1+1", channel="@SUM(A1)", problem=" \t+cmd|' /C calc'!A0"
    )
    (line,) = await rows(shop)
    assert (line["Order number"], line["Channel"]) == ("'=1+1", "'@SUM(A1)")
    assert line["Needs attention"].startswith("'")


@pytest.mark.threat("csv-formulas")
@given(st.text())
def test_no_text_begins_as_a_formula_does_and_none_is_lost(text: str) -> None:
    kept = escape_formula(text)
    assert kept.removeprefix("'") == text.removeprefix("'")
    assert not kept.lstrip().startswith(("=", "+", "-", "@"))
    assert not kept.startswith(("\t", "\r", "\n"))
