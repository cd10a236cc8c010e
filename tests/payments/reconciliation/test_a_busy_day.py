"""A busy day of which nobody tells anything; after the night three ledgers agree, but for one wrong amount."""

from datetime import timedelta
from decimal import Decimal

import pytest

from app.rules.problems import problem_messages
from app.store.reconciliations import next_time, plan_run
from app.store.tables import RunState
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.testing.records import Amounts, Transaction
from tests.payments.alert_cases import subjects
from tests.payments.fake_saleor import amounts
from tests.payments.reconciliation.conftest import Store

HOURS = 24


async def hour(store: Store, number: int) -> Amounts:
    """What happens in an hour, and what must be true of its payment in the end."""
    match number % 6:
        case 0:
            order_id = await store.complete_payment()
            await store.control.portal(order_id, "refund", Decimal("10.00"), silent=True)
            return amounts(charged="90.00", refunded="10.00")
        case 1:
            await store.pay()
            return amounts(charged="100.00")
        case 2:
            order_id = await store.complete_payment()
            await store.control.dispute(order_id, Decimal("40.00"), silent=True)
            return amounts(charged="60.00")
        case 3:
            order_id = await store.complete_payment(flow="AUTHORIZATION")
            await store.control.portal(order_id, "capture", Decimal("60.00"), silent=True)
            return amounts(charged="60.00", canceled="40.00")
        case 4:
            order_id = await store.complete_payment(flow="AUTHORIZATION")
            await store.control.portal(order_id, "void", silent=True)
            return amounts(canceled="100.00")
        case _:
            await store.complete_payment()
            return amounts(charged="100.00")


@pytest.mark.law(13)
async def test_after_the_night_three_ledgers_agree_but_for_one_wrong_amount(store: Store) -> None:
    clock = store.shop.clock
    await store.control.options(customer_fee_percent=Decimal("2.5"), customer_fee_in=["registers"])
    expected: list[tuple[Transaction, Amounts]] = []
    for number in range(HOURS):
        clock.forward(hours=1)
        if number == HOURS // 2:
            store.shop.saleor.failures.extend([SaleorUnreachableError("nobody answers")] * 20)
        must_be = await hour(store, number)
        store.shop.saleor.order(store.shop.transaction)
        expected.append((store.shop.transaction, must_be))
    wrong = await store.complete_payment()
    await store.write(wrong, amount=Decimal("90.00"))
    expected.append((store.shop.transaction, amounts(charged="100.00")))
    assert sum(order.amounts != must_be for order, must_be in expected) > HOURS // 2  # nobody has told of them
    async with store.services.database.transaction() as session:
        await plan_run(session, store.shop.account, clock.now)
    clock.now = next_time(2, clock.now + timedelta(hours=1))
    for _ in range(12):  # the register is made, look-ups are done, and Saleor is told what it did not take
        await store.shop.work()
        clock.forward(minutes=5)
    [night] = [run for run in await store.runs() if run.state is not RunState.PLANNED]
    assert (night.state, night.orders, night.to_people) == (RunState.DONE, HOURS + 1, 1)
    assert [order.amounts for order, _ in expected] == [must_be for _, must_be in expected]
    payment = (await store.shop.aggregate()).payment
    assert [str(problem_message) for problem_message in problem_messages(payment)] == [
        "The gateway reports 90.00 UAH, but 100.00 UAH was requested."
    ]
    by_kind = {what.value: count for what, count in await subjects(store.shop)}
    assert by_kind == {"mismatch": 1, "dispute": HOURS // 6}
    asked = await store.looked_up()
    clock.now = next_time(2, clock.now)
    for _ in range(4):
        await store.shop.work()
        clock.forward(seconds=30)
    _, second, _ = await store.runs()
    assert (second.state, second.repaired) == (RunState.DONE, 0)
    assert [order.amounts for order, _ in expected] == [must_be for _, must_be in expected]
    assert await store.looked_up() - asked <= 2  # the wrong one
