"""Payments as a file for spreadsheets."""

import csv
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import Flow, Kind, PaymentStatus, State
from app.db.search import PaymentFilter
from app.payments.staff import csv_export
from app.payments.staff.csv_export import COLUMNS, escape_formula, payments_csv
from tests.commands.books import ORDER, TRANSACTION, moment_after, operation, store_payment
from tests.payments.problems import issue_saying
from tests.payments.shop import Shop


async def rows(shop: Shop, **wanted: Any) -> list[dict[str, str]]:
    """Return the lines by their columns."""
    text = "".join([lines async for lines in payments_csv(shop.services, PaymentFilter(**wanted))])
    return list(csv.DictReader(StringIO(text, newline="")))


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
        "begun": "2026-11-21T12:00:00Z",
        "order_number": "1042",
        "order_id": ORDER,
        "transaction_id": TRANSACTION,
        "amount": "100.00",
        "currency": "UAH",
        "standing": "partly refunded",
        "reserved": "0.00",
        "charged": "100.00",
        "refunded": "30.50",
        "paid_with": "424242******4242",
        "channel": "default-channel",
        "account": "Main",
        "problem": issue_saying('Two\nlines, "quoted"').message,
        "released": "0.00",
        "charged_back": "0.00",
        "gateway_payment_id": "36c59597",
        "processed": "2026-11-21T12:00:03Z",
        "fee": "1.50",
        "operations": "charged 100.00 on 2026-11-21T12:00:03Z, fee 1.50 UAH; "
        "refunded 30.50 on 2026-11-21T12:00:01Z, fee 0.10 EUR",
    }


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
    found = {each["order_id"]: each for each in await rows(shop)}
    assert {name: each["released"] for name, each in found.items()} == {
        "a": "40.00", "b": "100.00", "c": "0.00", "d": "0.00",
    }  # fmt: skip
    assert found["c"]["operations"] == "reserved 100.00 on 2026-11-21T12:00:01Z"
    assert (found["c"]["fee"], found["c"]["processed"], found["c"]["gateway_payment_id"]) == ("", "", "")
    assert found["d"]["charged_back"] == "100.00"
    assert found["d"]["operations"].endswith("charged back 100.00 on 2026-11-21T12:00:01Z")


@pytest.mark.parametrize("many", [0, 1, 4, 5, 6, 11])
async def test_each_payment_has_one_line_however_many_are_read_at_once(
    shop: Shop, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_export, "BATCH_SIZE", 5)
    for number in range(many):
        await store_payment(
            shop.services, shop.account, order_id=f"order{number}", transaction_id=f"{number}",
            created_at=moment_after(minutes=number // 3),
        )  # fmt: skip
    assert [each["order_id"] for each in await rows(shop)] == [f"order{number}" for number in reversed(range(many))]


async def test_only_what_is_wanted_is_in_it(shop: Shop) -> None:
    await store_payment(shop.services, shop.account, [operation(state=State.INIT)], order_id="open", transaction_id="1")
    await store_payment(shop.services, shop.account, order_id="paid", transaction_id="2", channel="eur")
    assert [each["order_id"] for each in await rows(shop, status=PaymentStatus.PENDING)] == ["open"]
    assert [each["order_id"] for each in await rows(shop, channel="eur")] == ["paid"]
    assert await rows(shop, channel="pln") == []


@pytest.mark.threat("csv-formulas")
async def test_what_people_wrote_is_no_formula(shop: Shop) -> None:
    await store_payment(
        shop.services, shop.account, order_number="=1+1", channel="@SUM(A1)", problem=" \t+cmd|' /C calc'!A0"
    )
    (line,) = await rows(shop)
    assert (line["order_number"], line["channel"]) == ("'=1+1", "'@SUM(A1)")
    assert line["problem"].startswith("'")


@pytest.mark.threat("csv-formulas")
@given(st.text())
def test_no_text_begins_as_a_formula_does_and_none_is_lost(text: str) -> None:
    kept = escape_formula(text)
    assert kept.removeprefix("'") == text.removeprefix("'")
    assert not kept.lstrip().startswith(("=", "+", "-", "@"))
    assert not kept.startswith(("\t", "\r", "\n"))


def test_columns_are_named_once() -> None:
    assert len(set(COLUMNS)) == len(COLUMNS)
