"""A trial: a payment like any other under every law of money, and Saleor never hears of it."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from sqlmodel import select

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Kind, State
from app.flows.staff.actions import StaffRequest, request_action
from app.flows.trial_payment import Trial, begin_trial
from app.reports.status import standing
from app.reports.timeline import Actor, timeline
from app.rules.problems import problem_text
from app.rules.refusal import RefusalCode, RefusalError
from app.store.aggregates import find_by_order
from app.store.tables import Payment, SaleorEvent
from integration_base_tests.loopback import HangUp, ReceivedRequest, json_reply
from tests.payments.fake_gateway import BROKEN, operation, payment, refusal_reply
from tests.payments.shop import Shop


def a_trial(**different: object) -> Trial:
    """Return the wish of somebody to try the account out."""
    usual = Trial(
        key=uuid4().hex,
        by="VXNlcjox",
        amount=Decimal("1.00"),
        currency="UAH",
        email="staff@example.com",
        phone="+380501234567",
        first_name="Тарас",
        last_name="Шевченко",
    )
    return replace(usual, **different)  # type: ignore[arg-type] # the story chooses


async def sheet_of(shop: Shop, order_id: str) -> PaymentAggregate:
    async with shop.services.database.transaction() as session:
        aggregate = await find_by_order(session, order_id)
    assert aggregate is not None
    return aggregate


async def begun(shop: Shop) -> str:
    """Begin a trial; return its order."""
    shop.gateway.will_answer(shop.gateway.page())
    return (await begin_trial(shop.services, shop.account, a_trial())).payment.order_id


async def paid(shop: Shop) -> str:
    """Begin a trial and pay it; return its order."""
    order_id = await begun(shop)
    record = payment(order_id, amount="1.00")
    shop.gateway.book[order_id] = [record]
    await shop.notify(record)
    await shop.work()
    return order_id


@pytest.mark.law(5)
async def test_it_is_paid_and_saleor_is_told_nothing(shop: Shop) -> None:
    order_id = await begun(shop)
    aggregate = await sheet_of(shop, order_id)
    assert (aggregate.payment.trial, aggregate.payment.amount, standing(aggregate)) == (
        True,
        Decimal("1.00"),
        "waiting for the shopper",
    )
    assert aggregate.payment.checkout_url is not None
    asked = shop.gateway.requests[-1].json
    assert (asked["order_id"], asked["amount"], asked["description"]) == (
        order_id,
        Decimal("1.00"),
        f"Trial payment {order_id}",
    )
    assert asked["server_url"] == shop.services.addresses.notifications(shop.account.id)

    await shop.notify(payment(order_id, amount="1.00"))
    await shop.work()
    assert standing(await sheet_of(shop, order_id)) == "paid"
    await told_nothing(shop)


async def told_nothing(shop: Shop) -> None:
    """Saleor was not told anything, and nothing waits to be told."""
    assert shop.saleor.reports == []
    async with shop.services.database.transaction() as session:
        assert (await session.exec(select(SaleorEvent))).all() == []


@pytest.mark.law(1)
async def test_it_is_journaled_before_the_gateway_is_asked(shop: Shop) -> None:
    states = []

    async def look(request: ReceivedRequest) -> None:
        states.append((await sheet_of(shop, request.json["order_id"])).create.state)

    shop.gateway.on_request = look
    await begun(shop)
    assert states == [State.INTENT]


@pytest.mark.law(4)
async def test_the_same_wish_twice_is_one_payment(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    trial = a_trial()
    first = await begin_trial(shop.services, shop.account, trial)
    again = await begin_trial(shop.services, shop.account, trial)
    assert again.payment.order_id == first.payment.order_id
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(2)
async def test_an_account_that_was_just_deleted_is_not_tried(shop: Shop) -> None:
    assert await shop.services.accounts.remove(shop.account.id)
    with pytest.raises(RefusalError, match="This store has no such merchant account"):
        await begin_trial(shop.services, shop.account, a_trial())
    assert not shop.gateway.requests


async def test_staff_refund_it(shop: Shop) -> None:
    order_id = await paid(shop)
    shop.gateway.will_answer(json_reply(operation("refund", order_id, "1.00")))
    staff_request = StaffRequest(Kind.REFUND, by="VXNlcjox", key="k", amount=Decimal("1.00"))
    await request_action(shop.services, order_id, staff_request, installation_id=shop.installation.id)
    assert standing(await sheet_of(shop, order_id)) == "refunded"
    await shop.work()
    await told_nothing(shop)


async def test_staff_cancel_it_while_nobody_has_paid(shop: Shop) -> None:
    order_id = await begun(shop)
    shop.gateway.will_answer(json_reply([payment(order_id, amount="1.00", status="failure", status_code="6007")]))
    await request_action(
        shop.services, order_id, StaffRequest(Kind.CANCEL, by="VXNlcjox", key="k"), installation_id=shop.installation.id
    )
    assert standing(await sheet_of(shop, order_id)) == "cancelled"
    await shop.work()
    await told_nothing(shop)


@pytest.mark.parametrize("answer", [BROKEN, HangUp()])
async def test_a_page_whose_link_got_lost_is_looked_up(shop: Shop, answer: object) -> None:
    shop.gateway.will_answer(answer)  # type: ignore[arg-type] # either
    order_id = (await begin_trial(shop.services, shop.account, a_trial())).payment.order_id
    create = (await sheet_of(shop, order_id)).create
    assert (create.state, create.inferred) == (State.FAILURE, True)
    shop.gateway.book[order_id] = [payment(order_id, amount="1.00")]
    shop.clock.forward(seconds=60)
    await shop.work()
    assert standing(await sheet_of(shop, order_id)) == "paid"
    await told_nothing(shop)


async def test_a_page_that_nobody_pays_is_closed_when_its_time_is_over(shop: Shop) -> None:
    order_id = await begun(shop)
    record = payment(order_id, amount="1.00", status="init")
    shop.gateway.book[order_id] = [record]
    closed = payment(order_id, amount="1.00", status="failure", status_code="6007")
    shop.gateway.will_answer(json_reply([closed]))
    shop.clock.forward(hours=1, minutes=3)
    await shop.work()
    assert shop.gateway.calls == ["payment", "cancel"]
    assert (await sheet_of(shop, order_id)).create.state is State.FAILURE
    await told_nothing(shop)


async def test_what_the_gateway_refuses_is_said(shop: Shop) -> None:
    shop.gateway.will_answer(refusal_reply("The terminal is closed", "P-412"))
    aggregate = await begin_trial(shop.services, shop.account, a_trial())
    assert aggregate.create.state is State.FAILURE
    assert "The terminal is closed" in (aggregate.create.message or "")
    await told_nothing(shop)


async def test_another_amount_than_was_asked_is_a_problem_here_too(shop: Shop) -> None:
    order_id = await begun(shop)
    await shop.notify(payment(order_id, amount="100.00"))
    await shop.work()
    aggregate = await sheet_of(shop, order_id)
    assert problem_text(aggregate.payment) is not None
    assert aggregate.create.state is State.INIT
    await told_nothing(shop)


@pytest.mark.parametrize(
    ("different", "code"),
    [
        ({"amount": Decimal(0)}, RefusalCode.INVALID_AMOUNT),
        ({"amount": Decimal("1.001")}, RefusalCode.AMOUNT_NOT_ACCEPTED),
        ({"currency": "EUR"}, RefusalCode.CURRENCY_NOT_SUPPORTED),
        ({"email": ""}, RefusalCode.INVALID_DATA),
        ({"phone": ""}, RefusalCode.INVALID_DATA),
    ],
)
async def test_what_cannot_be_is_refused_before_anything_is_recorded(
    shop: Shop, different: dict[str, object], code: RefusalCode
) -> None:
    with pytest.raises(RefusalError) as refusal:
        await begin_trial(shop.services, shop.account, a_trial(**different))
    assert refusal.value.code is code
    assert shop.gateway.requests == []
    async with shop.services.database.transaction() as session:
        assert (await session.exec(select(Payment))).all() == []


@pytest.mark.parametrize(
    ("merchant", "different", "field"),
    [
        ({"sector": "microfinance"}, {}, "customer_birthday"),
        ({"sector": "microfinance"}, {"birthday": date(1991, 8, 24), "amount": Decimal(50000)}, "customer_tax_id"),
        ({"sector": "gambling"}, {"last_name": ""}, "customer_lname"),
        ({"names_required": True}, {"first_name": ""}, "customer_fname"),
    ],
)
async def test_what_only_some_merchants_require_is_refused_where_it_is_missing(
    shop: Shop, merchant: dict[str, Any], different: dict[str, object], field: str
) -> None:
    account = await shop.services.accounts.change(shop.account.id, **merchant)
    with pytest.raises(RefusalError) as refusal:
        await begin_trial(shop.services, account, a_trial(**different))
    assert refusal.value.field == field
    async with shop.services.database.transaction() as session:
        assert (await session.exec(select(Payment))).all() == []


async def test_an_account_that_is_switched_off_is_not_tried(shop: Shop) -> None:
    account = await shop.services.accounts.change(shop.account.id, enabled=False)
    with pytest.raises(RefusalError):
        await begin_trial(shop.services, account, a_trial())


async def test_its_timeline_says_who_tried(shop: Shop) -> None:
    aggregate = await sheet_of(shop, await paid(shop))
    begun_by, *_ = timeline(aggregate, [], {})
    assert (begun_by.who, begun_by.words) == (
        Actor.STAFF,
        "tests the account with a payment: 1.00 UAH, charged immediately",
    )


async def test_a_payment_of_the_shop_beside_it_is_told_as_always(shop: Shop) -> None:
    await paid(shop)
    await shop.complete_payment()
    assert shop.amounts.charged == Decimal("569.50")
