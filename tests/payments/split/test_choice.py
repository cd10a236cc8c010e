"""Staff choose from whom the next refund is taken."""

from decimal import Decimal

import pytest

from app.core.request import RequestDetails
from app.core.vocabulary import Flow, Kind, Origin, State
from app.rules.refusal import RefusalError
from app.rules.split.choice import choose_next_refund_split, clear_choice, parse_choice, update_choice
from app.rules.split.standing import chosen_shares
from app.store.aggregates import ByOrder
from integration_base_tests.loopback import json_reply
from tests.payments.aggregates import an_aggregate, an_operation
from tests.payments.changes import Change
from tests.payments.fake_gateway import operation, refusal_reply
from tests.payments.shop import Shop
from tests.payments.split.market import (
    MUGS,
    SHARES,
    enable_splitting,
    granted_refund_event,
    refund,
    shares,
    split_checkout,
    standing,
)
from tests.payments.split.people import MARKET, POTTER, SMITH, WEAVER


@pytest.fixture
async def sold(shop: Shop) -> Shop:
    """A marketplace whose shopper has paid 569.50."""
    await enable_splitting(shop)
    await shop.complete_payment(sourceObject=split_checkout())
    return shop


async def chosen(shop: Shop, **amounts: str) -> None:
    who = {"market": MARKET, "potter": POTTER.upper(), "smith": SMITH, "weaver": WEAVER, "nobody": "nobody"}
    shares = {who[name]: Decimal(amount) for name, amount in amounts.items()}
    await shop.services.payments.record(
        ByOrder(shop.order_id), Change(lambda aggregate: choose_next_refund_split(aggregate, shares, shop.clock.now))
    )


async def test_the_next_refund_is_taken_from_whom_staff_chose_and_the_one_after_it_is_not(sold: Shop) -> None:
    await chosen(sold, potter="40.00", smith="10.00")
    expected = {POTTER: Decimal("40.00"), SMITH: Decimal("10.00")}
    assert shares(await refund(sold, "50.00", "first", granted=granted_refund_event((MUGS, 1)))) == expected
    assert chosen_shares(await sold.aggregate()) is None
    assert shares(await refund(sold, "100.00", "second", granted=granted_refund_event((MUGS, 1)))) == {
        POTTER: Decimal("100.00")
    }


@pytest.mark.law(7)
async def test_refund_that_fails_leaves_the_choice_to_the_next_one(sold: Shop) -> None:
    """The gateway takes no refund as long as the store's balance does not cover it; staff request it once more."""
    await chosen(sold, potter="40.00")
    expected = {POTTER: Decimal("40.00")}
    sold.gateway.will_answer(refusal_reply("The balance is too low", "B-1"))
    assert (await sold.request_action("REFUND", "40.00", "first")).result == "REFUND_FAILURE"
    await sold.pass_time(minutes=5)
    assert chosen_shares(await sold.aggregate()) == expected
    assert shares(await refund(sold, "40.00", "second")) == expected
    assert chosen_shares(await sold.aggregate()) is None


@pytest.mark.law(7)
@pytest.mark.parametrize("newer", [None, "5.00"])
async def test_choice_of_a_refund_that_is_made_after_all_is_used_up(sold: Shop, newer: str | None) -> None:
    """Unless staff have chosen anew in the meantime."""
    await chosen(sold, potter="40.00")
    sold.gateway.will_answer(json_reply(operation("refund", sold.order_id, "40.00", "failure", operation_id="late")))
    await sold.request_action("REFUND", "40.00", "first")
    if newer is not None:
        await chosen(sold, potter=newer)
    await sold.notify(operation("refund", sold.order_id, "40.00", operation_id="late"))
    await sold.work()
    assert chosen_shares(await sold.aggregate()) == (None if newer is None else {POTTER: Decimal(newer)})


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("requester", "before", "state", "stands", "becomes"),
    [
        (Origin.SALEOR, State.PENDING, State.FAILURE, None, "40.00"),
        (Origin.SALEOR, State.PENDING, State.FAILURE, "5.00", "5.00"),  # chosen anew while it was pending
        (Origin.SALEOR, State.FAILURE, State.FAILURE, None, None),  # removed by staff since it has failed
        (Origin.STAFF, State.PENDING, State.FAILURE, None, None),  # chosen with the refund, in the app
        (Origin.SALEOR, State.PENDING, State.SUCCESS, "40.00", "40.00"),  # the same once more, for the next one
        (Origin.SALEOR, State.FAILURE, State.SUCCESS, "40.00", None),
        (Origin.SALEOR, State.FAILURE, State.SUCCESS, "5.00", "5.00"),
    ],
)
def test_choice_follows_the_refund_that_used_it_up(
    requester: Origin, before: State, state: State, stands: str | None, becomes: str | None
) -> None:
    used = RequestDetails(chosen_shares={POTTER: Decimal("40.00")}).write("order", "UAH")
    refused = an_operation(Kind.REFUND, state, Decimal("40.00"), request=used, origin=requester)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refused)
    aggregate.payment.next_refund_split = None if stands is None else {POTTER: stands}
    update_choice(aggregate, refused, before)
    assert chosen_shares(aggregate) == (None if becomes is None else {POTTER: Decimal(becomes)})


async def test_another_amount_than_chosen_is_refused_and_the_choice_stays(sold: Shop) -> None:
    await chosen(sold, potter="40.00")
    answer = await sold.request_action("REFUND", "50.00", "first")
    assert answer.result == "REFUND_FAILURE"
    assert "chosen who pays back the next 40.00 UAH, but 50.00 UAH is requested" in (answer.message or "")
    assert sold.gateway.requests == []
    assert chosen_shares(await sold.aggregate()) == {POTTER: Decimal("40.00")}
    await refund(sold, "40.00", "second")


async def test_a_choice_can_be_taken_back(sold: Shop) -> None:
    await chosen(sold, potter="40.00")
    await sold.services.payments.record(
        ByOrder(sold.order_id), Change(lambda aggregate: clear_choice(aggregate, sold.clock.now))
    )
    assert set(shares(await refund(sold, "40.00", "first"))) == set(SHARES)


@pytest.mark.parametrize(
    ("amounts", "said"),
    [
        ({"smith": "199.51"}, f"199.51 UAH cannot be taken from the sub-merchant {SMITH}: 199.50 UAH is left"),
        ({"weaver": "1.00"}, "0.00 UAH is left"),
        ({"smith": "0.00"}, "zero"),
        ({"smith": "1.001"}, "more than two decimal places"),
        ({"nobody": "1.00"}, "'nobody' is not a sub-merchant"),
        ({}, "No sub-merchant is chosen"),
    ],
)
async def test_what_cannot_be_is_refused_when_it_is_chosen(sold: Shop, amounts: dict[str, str], said: str) -> None:
    with pytest.raises(RefusalError, match=said):
        await chosen(sold, **amounts)
    assert chosen_shares(await sold.aggregate()) is None


async def test_a_payment_that_is_not_split_leaves_no_choice(paid_shop: Shop) -> None:
    with pytest.raises(RefusalError, match="not split"):
        await chosen(paid_shop, potter="1.00")
    take_back = Change(lambda aggregate: clear_choice(aggregate, paid_shop.clock.now))
    with pytest.raises(RefusalError, match="not split"):
        await paid_shop.services.payments.record(ByOrder(paid_shop.order_id), take_back)


async def test_what_was_refunded_elsewhere_may_have_been_somebody_elses(sold: Shop) -> None:
    """The portal refunded all of the potter's, the app assumes a part of everybody's: staff know better."""
    await sold.notify(operation("refund", sold.order_id, "300.00", operation_id="in-the-portal"))
    await sold.work()
    assert (await standing(sold)).left[SMITH] < SHARES[SMITH]
    await chosen(sold, market="70.00", smith="199.50")
    assert shares(await refund(sold, "269.50", "rest")) == {MARKET: SHARES[MARKET], SMITH: SHARES[SMITH]}


def test_everything_that_is_wrong_with_a_choice_is_refused_with_whose_it_is() -> None:
    """Three refusals, each beside the share that staff have entered."""
    typed = {
        POTTER: Decimal("0.001"),
        "nobody": Decimal("1.00"),
        SMITH: Decimal("1.00"),
        SMITH.upper(): Decimal("2.00"),
    }
    with pytest.raises(RefusalError) as refused:
        parse_choice(typed)
    assert {reason.field for reason in refused.value.reasons} == {POTTER, "nobody", SMITH.upper()}
