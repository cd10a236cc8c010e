"""What no notification has told is found by comparing the books, over real HTTP with the sandbox."""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from sqlmodel import delete, select

from app.core.vocabulary import Kind, State
from app.flows.staff.manual_resolution import acknowledge_problems, resend_refused_events
from app.store.tables import Booked, DiscrepancyState, GatewayTotal, RunState, SaleorEvent, Source
from gateway_client.sandbox.core.codes import Status
from saleor_app_sdk.errors import SaleorRefusedError, SaleorUnreachableError
from tests.payments.fake_saleor import amounts
from tests.payments.reconciliation.conftest import POINT, Store
from tests.payments.split.market import enable_splitting, split_checkout
from tests.payments.split.people import POTTER, SMITH

pytestmark = pytest.mark.law(13)


async def test_books_that_agree(store: Store) -> None:
    for _ in range(3):
        await store.complete_payment()
    asked = await store.looked_up()
    run = await store.compare()
    assert (run.lines, run.orders, run.looked_up, run.repaired, run.to_people) == (3, 3, 0, 0, 0)
    assert (run.state, run.source, run.failure) == (RunState.DONE, Source.REGISTER, None)
    assert await store.looked_up() == asked
    assert await store.differences() == []


@pytest.mark.fault("notification-lost")
async def test_a_refund_in_the_portal_of_which_nobody_has_told(store: Store) -> None:
    order_id = await store.complete_payment()
    await store.control.portal(order_id, "refund", Decimal("30.00"), silent=True)
    await store.shop.pass_time(days=1)
    assert store.shop.amounts == amounts(charged="100.00")  # nobody has looked
    run = await store.compare()
    assert store.shop.amounts == amounts(charged="70.00", refunded="30.00")
    assert await store.differences() == [("missed", "repaired")]
    assert (run.looked_up, run.repaired) == (1, 1)
    again = await store.compare()
    assert (again.looked_up, again.repaired) == (0, 0)
    assert await store.differences() == [("missed", "repaired")]
    assert store.shop.amounts == amounts(charged="70.00", refunded="30.00")


async def test_two_equal_refunds_in_the_portal(store: Store) -> None:
    order_id = await store.complete_payment()
    for _ in range(2):
        await store.control.portal(order_id, "refund", Decimal("10.00"), silent=True)
    await store.compare()
    assert store.shop.amounts == amounts(charged="80.00", refunded="20.00")
    assert await store.differences() == [("missed", "repaired")] * 2


@pytest.mark.fault("notification-lost")
async def test_a_success_that_was_missed(store: Store) -> None:
    await store.pay()
    await store.compare()
    assert store.shop.amounts == amounts(charged="100.00")
    assert await store.differences() == [("missed", "repaired")]


async def test_a_failure_that_was_missed(store: Store) -> None:
    await store.shop.begin(amount="100.00")
    await store.control.decline(store.shop.order_id)
    await store.compare()
    assert (await store.shop.operation(Kind.CREATE)).state is State.FAILURE
    assert await store.differences() == [("missed", "repaired")]


async def test_a_hold_that_was_released_by_itself(store: Store) -> None:
    await store.control.options(automatic_void_after=timedelta(hours=12))
    await store.complete_payment(flow="AUTHORIZATION")
    assert store.shop.amounts == amounts(authorized="100.00")
    store.shop.clock.forward(hours=13)
    await store.control.payments()  # time has passed at the gateway too
    await store.compare()
    assert store.shop.amounts == amounts(canceled="100.00")


async def test_a_charge_back(store: Store) -> None:
    order_id = await store.complete_payment()
    await store.control.dispute(order_id, Decimal("100.00"), silent=True)
    await store.compare()
    assert "CHARGE_BACK" in store.shop.saleor.reported_types
    assert await store.differences() == [("missed", "repaired")]
    assert "took back 100.00 UAH of this payment" in (await store.words())[0]


async def test_the_payers_fee_is_no_difference(store: Store) -> None:
    await store.control.options(customer_fee_percent=Decimal("2.5"), customer_fee_in=["registers"])
    await store.complete_payment()
    run = await store.compare()
    assert (run.lines, run.looked_up) == (1, 0)
    assert await store.differences() == []


async def test_another_amount_is_put_to_people_in_words_and_once(store: Store) -> None:
    order_id = await store.complete_payment()
    await store.write(order_id, amount=Decimal("90.00"))
    await store.compare()
    assert await store.differences() == [("amount", "put to people")]
    assert await store.words() == ["The gateway reports 90.00 UAH, but 100.00 UAH was requested."]
    assert store.shop.amounts == amounts(charged="100.00")
    await acknowledge_problems(store.services, store.shop.installation.id, order_id)
    await store.compare()
    assert await store.differences() == [("amount", "put to people")]
    assert await store.words() == []  # the same, and staff have seen it


async def test_what_ends_otherwise_is_put_to_people(store: Store) -> None:
    order_id = await store.complete_payment()
    await store.write(order_id, status_code="4009", status=Status.FAILURE)
    await store.compare()
    assert await store.differences() == [("state", "put to people")]
    assert len(await store.words()) == 1


async def test_what_only_we_know_is_put_to_people_and_ends_when_it_is_shown(store: Store) -> None:
    order_id = await store.complete_payment()
    state = store.sandbox.state
    [payment] = state.payments_of(POINT.pos_id, order_id)
    store.shop.clock.forward(hours=3)
    hidden = state.payments.pop(payment.payment_id)
    state.payments_of(POINT.pos_id, order_id).clear()
    await store.compare()
    assert await store.differences() == [("not shown", "put to people")]
    assert "have no trace of the payment of 100.00 UAH" in (await store.words())[0]
    aggregate = await store.shop.aggregate()
    assert [problem.operation_id for problem in aggregate.payment.problems] == [aggregate.create.id]
    state.add_payment(hidden)
    await store.compare()
    assert await store.differences() == [("not shown", "ended")]
    assert await store.words() == []


async def test_a_payment_of_somebody_else_at_our_point_of_sale(store: Store) -> None:
    await store.complete_payment()
    [payment] = store.sandbox.state.payments.values()
    stranger = payment.model_copy(
        update={"order_id": "invoice-7", "payment_id": store.sandbox.state.new_id(), "checkout_id": payment.payment_id}
    )
    store.sandbox.state.add_payment(stranger)
    for _ in range(2):
        run = await store.compare()
        assert (run.to_people, run.looked_up) == (1, 0)
    [found] = await store.discrepancies()
    assert (found.order_id, found.payment_id, found.state) == ("invoice-7", None, DiscrepancyState.TO_PEOPLE)


async def test_an_order_that_the_account_says_is_anothers_disturbs_nobody_and_is_in_no_sum(store: Store) -> None:
    order_id = await store.complete_payment()
    [payment] = store.sandbox.state.payments.values()
    for name in ("woo-7", "woo?8", "shop-9"):
        anothers = {"order_id": name, "payment_id": store.sandbox.state.new_id(), "checkout_id": payment.payment_id}
        store.sandbox.state.add_payment(payment.model_copy(update=anothers))
    # An order of ours is compared, whatever is said of its id.
    others = ["woo-*", "*?8", order_id[:5] + "*"]
    store.shop.account = await store.services.accounts.change(store.shop.account.id, other_orders=others)
    await store.control.portal(order_id, "refund", Decimal("1.00"), silent=True)

    await store.compare()

    found = {(discrepancy.order_id, discrepancy.kind.value) for discrepancy in await store.discrepancies()}
    assert found == {("shop-9", "unknown"), (order_id, "missed")}
    async with store.services.database.transaction() as session:
        charged = (await session.exec(select(GatewayTotal).where(GatewayTotal.kind == Booked.CHARGED))).all()
    assert sum(total.count for total in charged) == 2  # ours, and the one of which nothing was said


async def test_what_saleor_has_refused_is_put_to_people_until_it_has_taken_it(store: Store) -> None:
    order_id = await store.pay()
    store.shop.saleor.failures.append(SaleorRefusedError("INVALID", "amount", "no"))
    await store.look(order_id)
    [words] = await store.words()
    await store.compare()
    assert await store.differences() == [("untold", "put to people")]
    assert await store.words() == [words]  # the refusal is a problem already
    assert await resend_refused_events(store.services, store.shop.installation.id) == 1
    await store.shop.work()
    await store.compare()
    assert await store.differences() == [("untold", "ended")]
    assert store.shop.amounts == amounts(charged="100.00")


async def test_what_was_never_written_down_for_saleor_is_put_to_people(store: Store) -> None:
    order_id = await store.complete_payment()
    async with store.services.database.transaction() as session:
        await session.exec(delete(SaleorEvent))
    await store.compare()
    assert await store.differences() == [("untold", "put to people")]
    assert "Saleor does not know of the payment of 100.00 UAH" in (await store.words())[0]
    assert order_id == store.shop.order_id


async def test_a_saleor_that_is_down_is_told_later_and_that_is_no_difference(store: Store) -> None:
    order_id = await store.pay()
    store.shop.saleor.failures.extend([SaleorUnreachableError("nobody answers")] * 1000)
    await store.look(order_id)
    await store.compare()
    assert await store.differences() == []


class TestAMarketplace:
    async def test_lines_of_several_receivers_are_one_payment(self, store: Store) -> None:
        await self.sold(store)
        run = await store.compare()
        assert (run.lines, run.orders, run.looked_up) == (3, 1, 0)
        assert await store.differences() == []

    async def test_another_division_is_put_to_people(self, store: Store) -> None:
        order_id = await self.sold(store)
        [payment] = store.sandbox.state.payments_of(POINT.pos_id, order_id)
        payment.shares[0].amount, payment.shares[1].amount = payment.shares[1].amount, payment.shares[0].amount
        run = await store.compare()
        assert await store.differences() == [("receiver", "put to people")]
        assert run.looked_up == 0  # no record of the gateway says whose the money is
        assert "among other sub-merchants" in (await store.words())[0]

    async def test_a_refund_in_the_portal(self, store: Store) -> None:
        order_id = await self.sold(store)
        taken = {UUID(POTTER): Decimal("5.00"), UUID(SMITH): Decimal("3.00")}
        await store.control.portal(order_id, "refund", Decimal("8.00"), split=taken, silent=True)
        await store.compare()
        assert await store.differences() == [("missed", "repaired")]
        assert store.shop.amounts == amounts(charged="561.50", refunded="8.00")

    async def sold(self, store: Store) -> str:
        """Somebody has bought at a marketplace, for 569.50."""
        store.shop = await enable_splitting(store.shop)
        await store.shop.begin(sourceObject=split_checkout())
        await store.control.pay(store.shop.order_id)
        await store.look(store.shop.order_id)
        return store.shop.order_id
