"""A shopper who has tried several times reads on each page what became of the other times, as far as it is known."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import httpx2
import pytest

from app.core.vocabulary import State
from app.i18n.messages import LazyMessage
from app.i18n.translation import translation
from app.web.shopper.view import OtherAttempt, PaymentState
from app.web.shopper.view_builder import MAX_ATTEMPTS, find_view
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import payment as record
from tests.payments.shop import TOTAL, Shop
from tests.payments.shop_fixtures import gateway, shop
from tests.shopper.conftest import Payments
from tests.shopper.views import CHECKOUT, PAID, payment

__all__ = ["gateway", "shop"]

NO_MONEY = "3005"
PAID_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def another(shop: Shop) -> Shop:
    """The same shop, with one more attempt to pay the same checkout."""
    shop.clock.forward(minutes=5)
    return replace(shop, transaction=shop.saleor.new_transaction())


async def declined(shop: Shop) -> Shop:
    shop.gateway.will_answer(shop.gateway.page(shop.order_id))
    await shop.begin()
    await shop.notify(record(shop.order_id, "failure", status_code=NO_MONEY))
    await shop.work()
    return shop


async def attempts(shop: Shop) -> list[OtherAttempt]:
    view = await find_view(shop.services, shop.order_id)
    assert view is not None
    return list(view.attempts)


async def test_a_declined_attempt_is_told_on_the_page_of_the_next(shop: Shop) -> None:
    first = await declined(shop)
    assert await attempts(first) == []
    second = another(shop)
    second.gateway.will_answer(second.gateway.page(second.order_id))
    await second.begin()

    [told] = await attempts(second)

    assert (told.state, told.amount, told.currency) == (PaymentState.FAILED, Decimal(TOTAL), "UAH")
    assert told.at == shop.clock.now - timedelta(minutes=5)
    recorded = await first.aggregate()
    assert told.message is not None
    assert translation(recorded.payment.language).plain_text(told.message) == recorded.create.shopper_message
    # Nobody has paid on the second one's page: there is nothing to tell of it.
    assert await attempts(first) == []


async def test_reason_recorded_in_one_language_is_shown_in_another(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page(shop.order_id))
    await shop.begin(data={"language": "uk"})
    await shop.notify(record(shop.order_id, "failure", status_code=NO_MONEY))
    await shop.work()
    recorded = (await shop.aggregate()).create.shopper_message

    view = await find_view(shop.services, shop.order_id)

    assert view is not None
    assert isinstance(view.message, LazyMessage)
    assert translation("uk").plain_text(view.message) == recorded
    assert translation("en").plain_text(view.message) != recorded


async def test_what_is_paid_by_another_attempt_is_told_until_it_is_given_back(shop: Shop) -> None:
    first = await declined(shop)
    second = another(shop)
    await second.complete_payment()
    assert [attempt.state for attempt in await attempts(first)] == [PaymentState.PAID]
    second.gateway.will_answer(json_reply(second.record_refund(TOTAL, "back")))
    await second.request_action("REFUND", TOTAL)
    assert await attempts(first) == []


async def test_what_the_payers_bank_has_taken_back_is_not_called_paid(shop: Shop) -> None:
    first = await declined(shop)
    second = another(shop)
    await second.complete_payment()
    dispute = record(second.order_id, amount="100.00", method="dispute", payment_id="dispute-1")
    await second.notify(dispute)
    await second.work()
    assert [attempt.amount for attempt in await attempts(first)] == [Decimal(TOTAL) - 100]
    await second.notify(dispute | {"amount": Decimal(TOTAL)})
    await second.work()
    assert await attempts(first) == []


async def test_an_attempt_at_the_bank_is_not_settled(shop: Shop) -> None:
    first = await declined(shop)
    second = another(shop)
    second.gateway.will_answer(second.gateway.page(second.order_id))
    await second.begin()
    await second.notify(record(second.order_id, "pending", status_code="2119"))
    await second.work()
    assert (await second.aggregate()).create.state is State.PENDING
    assert [attempt.state for attempt in await attempts(first)] == [PaymentState.WAITING]


@pytest.mark.law(7, 12)
async def test_another_card_at_the_bank_is_what_the_shopper_reads_of(shop: Shop) -> None:
    """Neither on the payment's own page nor on that of another attempt do they read the first card's decline."""
    first = await declined(shop)
    await first.notify(record(first.order_id, "pending", payment_id="another-card", status_code="2119"))
    await first.work()
    view = await find_view(first.services, first.order_id)
    assert view is not None
    assert (view.state, view.message) == (PaymentState.WAITING, None)
    second = await declined(another(shop))
    assert [(attempt.state, attempt.message) for attempt in await attempts(second)] == [(PaymentState.WAITING, None)]


async def test_of_many_attempts_the_last_are_told(shop: Shop) -> None:
    each = await declined(shop)
    for _ in range(MAX_ATTEMPTS + 1):
        each = await declined(another(each))
    told = await attempts(each)
    assert len(told) == MAX_ATTEMPTS
    assert [other_attempt.at for other_attempt in told] == sorted(other_attempt.at for other_attempt in told)
    assert told[-1].at == shop.clock.now - timedelta(minutes=5)


SAID = {
    PaymentState.FAILED: (
        "Saturday: 1,234.50 UAH did not go through. Nothing was charged. Not enough money on the card.",
        "Saturday: 1 234,50 UAH — оплата не пройшла, гроші не списано. Not enough money on the card.",
    ),
    PaymentState.EXPIRED: (
        "Saturday: 1,234.50 UAH was not paid: the time ran out, or the payment was cancelled. Nothing was charged.",
        "Saturday: 1 234,50 UAH — не оплачено: час минув або платіж скасовано. Гроші не списано.",
    ),
    PaymentState.PAID: ("Saturday: 1,234.50 UAH was paid.", "Saturday: 1 234,50 UAH — сплачено."),
    PaymentState.AUTHORISED: (
        "Saturday: 1,234.50 UAH is on hold on the card.",
        "Saturday: 1 234,50 UAH — заблоковано на картці.",
    ),
    PaymentState.WAITING: (
        "Saturday: 1,234.50 UAH is still pending. Please wait before you pay again.",
        "Saturday: 1 234,50 UAH — ще не відомо, чи пройшла оплата. Зачекайте, перш ніж платити знову.",
    ),
}


@pytest.mark.parametrize("state", SAID)
@pytest.mark.parametrize("language", ["en", "uk"])
async def test_each_is_told_in_words_that_promise_nothing(
    state: PaymentState, language: str, payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    message = "Not enough money on the card." if state is PaymentState.FAILED else None
    other = OtherAttempt(state, PAID.amount, PAID.currency, PAID_AT, message)
    for view in (
        payment(PaymentState.FAILED, attempts=(other,), language=language),
        payment(PaymentState.WAITING, attempts=(other,), language=language, checkout_url=CHECKOUT),
    ):
        payments.add(view)
        for path in ("/pay/T1a2b3c", "/pay/return/T1a2b3c"):
            answer = await visitor.get(path)
            [shown] = re.findall(r'<ul class="attempts">(.*?)</ul>', answer.text, re.DOTALL)
            words = " ".join(unescape(re.sub(r"<time.*?</time>", "Saturday", shown)).split())
            assert re.sub(r"\s+", " ", re.sub(r"<.*?>", "", words)).strip() == SAID[state][language == "uk"]
