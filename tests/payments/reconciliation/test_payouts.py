"""Payouts stand in the gateway's books too: ours agree with them, and what is nobody's is put to people."""

from datetime import timedelta
from decimal import Decimal

import pytest
from sqlmodel import select

from app.flows.pay_out import pay_out
from app.flows.reconciliation.compare import Period
from app.flows.reconciliation.orders import compare_orders
from app.reports.money import Agreement, GroupBy
from app.store.tables import Discrepancy, DiscrepancyKind
from gateway_client.models.payout import Payout as Request
from tests.payments.payouts import a_payout, enable_payouts
from tests.payments.reconciliation.books import line
from tests.payments.reconciliation.conftest import Store
from tests.payments.reconciliation.test_day_sums import NOON, money, night

pytestmark = pytest.mark.usefixtures("summing")


async def differences(store: Store) -> list[Discrepancy]:
    async with store.services.database.transaction() as session:
        return list((await session.exec(select(Discrepancy))).all())


async def test_a_payout_is_known_to_both_books_and_to_the_days_money(store: Store) -> None:
    store.shop.clock.now = NOON
    await enable_payouts(store.shop)
    await store.complete_payment("500.00")
    done = await pay_out(store.services, store.shop.account, a_payout(store.shop, "120.50"))
    assert done.create.state.value == "success", done.create.message
    await night(store)
    [day] = (await money(store)).rows(GroupBy.DAY)
    assert (day.ours.paid_out, day.ours.payouts, day.ours.charged) == (Decimal("120.50"), 1, Decimal("500.00"))
    assert (day.gateway.paid_out, day.gateway.payouts) == (Decimal("120.50"), 1)
    assert day.agreement is Agreement.AGREE, (day.compared, day.gateway)
    assert day.ours.net == Decimal("500.00") - Decimal("120.50") - day.ours.fee
    assert await differences(store) == []


async def others_pay_out(store: Store) -> None:
    """Another system of the merchant's pays out with the same point of sale."""
    request = Request(
        amount=Decimal("33.00"), currency="UAH", description="x", order_id="of-another-system",
        customer_ip="203.0.113.7", cc_number="4242424242424242",
    )  # fmt: skip
    client = store.services.gateways.client(store.shop.account)
    await client.pay_out(request, timeout=10)


async def test_one_of_another_system_is_put_to_people_once_staff_pay_out_here(store: Store) -> None:
    store.shop.clock.now = NOON
    await store.complete_payment("500.00")
    await others_pay_out(store)
    await night(store)
    assert await differences(store) == []
    [day] = (await money(store)).rows(GroupBy.DAY)
    assert (day.gateway.payouts, day.agreement) == (0, Agreement.AGREE)


async def test_it_is_told_of_where_staff_pay_out_here(store: Store) -> None:
    store.shop.clock.now = NOON
    await enable_payouts(store.shop)
    await store.complete_payment("500.00")
    await others_pay_out(store)
    await night(store)
    [found] = await differences(store)
    assert (found.kind, found.order_id) == (DiscrepancyKind.UNKNOWN, "of-another-system")


async def test_one_of_another_system_that_came_back_is_put_to_nobody(store: Store) -> None:
    """Staff do not pay out here: what another system has paid out, and what of it came back, are not ours."""
    lines = {"another": [line("credit", order_id="another"), line("refund", order_id="another")]}
    period = Period(NOON - timedelta(days=1), NOON + timedelta(days=1))
    assert await compare_orders(store.services, store.shop.account, lines, period) == ([], [])
