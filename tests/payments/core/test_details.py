"""What the gateway says besides the state: kept whatever its source, shown to staff, never a secret."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from app.i18n.messages import LazyMessage
from app.rules.details import Details, StatedSum, card_mask, payment_means_text, update_details, web_address
from gateway_client.models import read_record
from integration_base_tests.loopback import json_reply
from tests.payments.aggregates import an_operation
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

FEES: dict[str, Any] = {
    "fee": {"amount": Decimal("8.54"), "currency": "UAH"},
    "fixed_fee": {"amount": Decimal("1.00"), "currency": "UAH"},
    "percent_fee": {"amount": Decimal("7.54"), "currency": "UAH"},
}
SAID: dict[str, Any] = FEES | {
    "transaction_id": "8f7e",
    "gateway_order_id": "acquirer-1",
    "billing_order_id": "billing-1",
    "cc_mask": "424242******4242",
    "cc_token": "tok_very_secret",
    "payway": "cc",
    "bank_short_name": "Privat",
    "eci": "05",
    "receipt_url": "https://gateway.example/public/receipt/1",
    "customer_email": "taras@example.com",
}


def details(record: dict[str, Any]) -> Details:
    return Details.from_record(read_record(record))


def shown(told: Details) -> dict[str, str]:
    """Return the lines as they are read in English."""
    return {str(name): str(LazyMessage("%(value)s", value=value)) for name, value in told.lines()}


def test_of_a_payment() -> None:
    told = details(payment("order-1", **SAID, processed_amount=Decimal("500.00"), processed_currency="UAH"))
    assert shown(told) == {
        "card": "424242******4242",
        "payment method": "cc",
        "bank": "Privat",
        "actually paid": "500.00 UAH",
        "fee": "8.54 UAH (1.00 UAH fixed, 7.54 UAH by percentage)",
        "receipt": "https://gateway.example/public/receipt/1",
        "payment at the gateway": "payment-of-order-1",
        "transaction at the gateway": "8f7e",
        "order at the acquirer": "acquirer-1",
        "billing order": "billing-1",
        "3-D Secure result (ECI)": "05",
        "processed at": "2026-11-21 12:01 UTC",
    }


def test_of_a_split_refund() -> None:
    fees = [{"amount": Decimal("1.10"), "currency": "UAH"}, {"amount": Decimal("0.005"), "currency": "UAH"}]
    told = details(operation("refund", "order-1", "10.00", split_fee=fees, fee={"amount": Decimal(2)}))
    assert told.split_fees == (
        StatedSum(amount=Decimal("1.10"), currency="UAH"),
        StatedSum(amount=Decimal("0.005"), currency="UAH"),
    )
    assert shown(told)["fees on the shares"] == "1.10 UAH, 0.005 UAH"
    assert shown(told)["fee"] == "2.00"


def test_of_a_decline_by_a_limit() -> None:
    info = {"retry_after": "2026-11-22T00:00:00.000", "description": "10 payments a day"}
    told = details(payment("order-1", "failure", status_code="4010", limit_info=info))
    assert told.retry_after == datetime(2026, 11, 22, tzinfo=UTC)
    assert shown(told)["limit"] == "10 payments a day"
    assert shown(told)["can be retried after"] == "2026-11-22 00:00 UTC"


@pytest.mark.threat("card-numbers")
def test_what_is_kept_is_exact_and_holds_no_secret() -> None:
    row = details(payment("order-1", **SAID)).to_row()
    assert row["fee"] == {"amount": "8.54", "currency": "UAH"}
    assert None not in row.values()
    assert Details.from_row(row) == details(payment("order-1", **SAID))
    assert "tok_very_secret" not in str(row)
    assert "taras@example.com" not in str(row)


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize("mask", ["4242424242424242", "4242-4242-4242-4242", "no mask", "", None])
def test_what_shows_more_than_a_mask_is_not_kept(mask: str | None) -> None:
    assert card_mask(mask) is None


@pytest.mark.threat("xss-dashboard")
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "ftp://gateway.example/1", "/receipt/1", "https://" + "x" * 3000]
)
def test_a_receipt_is_a_web_address_or_nothing(url: str) -> None:
    assert web_address(url) is None
    assert details(payment("order-1", receipt_url=url)).receipt_url is None


def test_a_receipts_address_may_be_as_long_as_two_thousand_characters() -> None:
    longest = "https://gateway.example/".ljust(2000, "x")
    assert web_address(longest) == longest
    assert web_address(f"{longest}x") is None


def test_later_words_go_before_earlier_ones_and_take_nothing_away() -> None:
    early = Details(payway="cc", eci="05")
    late = Details(payway="bank_pay", bank="Privat")
    assert early.merged_with(late) == Details(payway="bank_pay", eci="05", bank="Privat")


@pytest.mark.parametrize(("behind", "eci"), [(False, "07"), (True, "05")])
def test_a_record_from_further_back_replaces_nothing_and_adds_what_is_missing(behind: bool, eci: str) -> None:
    known, stated = Details(payway="cc", eci="05"), Details(eci="07", bank="Privat")
    operation = an_operation(Kind.CREATE, State.SUCCESS, details=known.to_row())
    update_details(operation, stated, behind=behind)
    assert Details.from_row(operation.details) == Details(payway="cc", eci=eci, bank="Privat")


async def kept(shop: Shop, kind: Kind = Kind.CREATE) -> Details:
    return Details.from_row((await shop.operation(kind)).details)


class TestWhereverItComesFrom:
    async def test_a_look_up(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, **SAID)]
        await shop.process_session()
        assert (await kept(shop)).fee == StatedSum(amount=Decimal("8.54"), currency="UAH")

    async def test_a_notification(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, **SAID))
        await shop.work()
        assert (await kept(shop)).gateway_order_id == "acquirer-1"

    async def test_an_answer(self, paid_shop: Shop) -> None:
        fee = {"amount": Decimal("0.50"), "currency": "UAH"}
        receipt = "https://gateway.example/public/receipt/2"
        paid_shop.gateway.will_answer(
            json_reply(
                operation("refund", paid_shop.order_id, "100.00", operation_id="r-1", fee=fee, receipt_url=receipt)
            )
        )
        await paid_shop.request_action("REFUND", "100.00")
        told = await kept(paid_shop, Kind.REFUND)
        assert (told.receipt_url, str(told.fee)) == (receipt, "0.50 UAH")

    async def test_a_refund_by_others(self, paid_shop: Shop) -> None:
        receipt = "https://gateway.example/public/receipt/3"
        await paid_shop.notify(
            operation("refund", paid_shop.order_id, "1.00", operation_id="portal-1", receipt_url=receipt)
        )
        await paid_shop.work()
        assert (await kept(paid_shop, Kind.REFUND)).receipt_url == receipt


@pytest.mark.law(7)
@pytest.mark.parametrize("written", ["uah", " Uah "])
async def test_a_fee_in_the_currency_of_the_payment_is_in_it_in_whatever_letters(shop: Shop, written: str) -> None:
    """The books of a day have one row for each currency, and its fees are those in this one."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, currency=written, fee={"amount": Decimal("8.54"), "currency": written}))
    await shop.work()
    create = (await shop.aggregate()).create
    assert (create.state, create.fee, create.fee_currency) == (State.SUCCESS, Decimal("8.54"), "UAH")
    assert str((await kept(shop)).fee) == "8.54 UAH"


async def test_a_fee_that_comes_late_is_added_and_moves_nothing(paid_shop: Shop) -> None:
    """Law 7 is about states: what explains a final operation may still come."""
    await paid_shop.notify(payment(paid_shop.order_id, **FEES))
    await paid_shop.work()
    assert str((await kept(paid_shop)).fee) == "8.54 UAH"
    assert (await paid_shop.operation(Kind.CREATE)).state is State.SUCCESS
    assert paid_shop.amounts == amounts(charged=TOTAL)
    assert paid_shop.saleor.reports == []


async def test_a_record_from_further_back_only_fills_in(paid_shop: Shop) -> None:
    await paid_shop.notify(payment(paid_shop.order_id, eci="05", payway="cc"))
    await paid_shop.notify(payment(paid_shop.order_id, "pending", eci="07", bank_short_name="Privat"))
    await paid_shop.work()
    told = await kept(paid_shop)
    assert (told.eci, told.payway, told.bank) == ("05", "cc", "Privat")


@pytest.mark.law(8)
async def test_staff_are_helped_to_find_a_payment_that_does_not_agree(shop: Shop) -> None:
    """It is no success, but whoever compares it with the merchant portal needs its names."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="1.00", gateway_order_id="acquirer-1"))
    await shop.work()
    assert (await kept(shop)).gateway_order_id == "acquirer-1"


async def test_the_storefront_hears_when_to_try_again(shop: Shop) -> None:
    """Gateway interface, ``limit_info``."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    info = {"retry_after": "2026-11-22T00:00:00.000", "description": "10 payments a day"}
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "failure", status_code="4010", limit_info=info)]
    answer = await shop.process_session()
    [error] = answer.data["errors"]
    assert (error["code"], error["retryAfter"]) == ("4010", "2026-11-22T00:00:00Z")


@pytest.mark.law(15)
@pytest.mark.parametrize(
    "moment",
    ["1970-01-01T00:00:00.000", "2026-11-21T11:59:59.000", "2027-11-23T12:00:00.000", "9999-12-31T23:59:59.999"],
)
async def test_a_time_to_try_again_that_cannot_be_is_told_nobody(shop: Shop, moment: str) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    info = {"retry_after": moment, "description": "10 payments a day"}
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "failure", status_code="4010", limit_info=info)]
    answer = await shop.process_session()
    [error] = answer.data["errors"]
    assert (error["code"], "retryAfter" in error) == ("4010", False)
    known = await kept(shop)
    assert (known.retry_after, known.limit) == (None, "10 payments a day")


async def test_a_limit_that_declined_one_card_is_not_told_of_the_card_that_paid(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    info = {"retry_after": "2026-11-22T00:00:00.000", "description": "10 payments a day"}
    await shop.notify(payment(shop.order_id, "failure", payment_id="first", status_code="4010", limit_info=info))
    await shop.work()
    assert (await kept(shop)).limit == "10 payments a day"
    await shop.notify(payment(shop.order_id, payment_id="second"))
    await shop.work()
    known = await kept(shop)
    assert (shop.amounts, known.retry_after, known.limit) == (amounts(charged=TOTAL), None, None)


@pytest.mark.parametrize(
    ("mask", "payway", "wallet", "text"),
    [
        ("424242******4242", None, None, "Visa •••• 4242"),
        ("424242******4242", "cc", "applepay", "Apple Pay · Visa •••• 4242"),
        ("999999******4242", "google_pay", None, "Google Pay · •••• 4242"),
        (None, "bank_pay", None, "Bank pay"),
        (None, "cc", None, None),
        (None, None, None, None),
    ],
)
def test_staff_read_how_it_was_paid_as_far_as_it_is_known(
    mask: str | None, payway: str | None, wallet: str | None, text: str | None
) -> None:
    assert payment_means_text(mask, payway, wallet) == text
