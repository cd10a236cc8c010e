"""A day of a store from the shoppers' payments to the accountant's file: the gateway's register and our books agree."""

import csv
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from app.store.reconciliations import next_time
from tests.dashboard.dashboard_app import open_staff_client
from tests.payments.reconciliation.conftest import Store, store
from tests.payments.split.market import enable_splitting, split_checkout
from tests.payments.split.people import POTTER, SMITH

__all__ = ["store"]
DAYS = {"from": "2026-11-24", "to": "2026-11-24"}
PAGE = "/money?from=2026-11-24&to=2026-11-24"


async def a_day(store: Store) -> None:
    """A fee that a payer pays, a refund, a charge-back, a part that was captured, and a basket of two sellers."""
    await store.control.options(customer_fee_percent=Decimal("2.5"), customer_fee_in=["registers"])
    refunded = await store.complete_payment("1000.10")
    await store.control.portal(refunded, "refund", Decimal("30.03"), silent=True)
    disputed = await store.complete_payment("50.00")
    await store.control.dispute(disputed, Decimal("50.00"), silent=True)
    reserved = await store.complete_payment("80.00", flow="AUTHORIZATION")
    await store.control.portal(reserved, "capture", Decimal("60.07"), silent=True)
    store.shop = await enable_splitting(store.shop)
    store.shop.transaction = store.shop.saleor.new_transaction()
    await store.shop.begin(sourceObject=split_checkout() | {"id": "Q2hlY2tvdXQ6OQ=="})
    split = store.shop.order_id
    await store.control.pay(split)
    taken = {UUID(POTTER): Decimal("5.00"), UUID(SMITH): Decimal("3.00")}
    await store.control.portal(split, "refund", Decimal("8.00"), split=taken, silent=True)
    for order_id in (refunded, disputed, reserved, split):
        await store.look(order_id)


async def test_from_the_shoppers_to_the_accountant(store: Store) -> None:
    clock = store.shop.clock
    clock.now = datetime(2026, 11, 24, 12, tzinfo=UTC)
    await a_day(store)
    async with open_staff_client(store.shop) as staff:
        page = (await staff.see(PAGE)).text
        assert "not yet compared" in page
        assert page.count("1,679.67") == 1  # by our books
    clock.now = next_time(2, clock.now) - timedelta(hours=1)
    await store.compare()
    async with open_staff_client(store.shop) as staff:
        page = (await staff.see(PAGE)).text
        assert "both agree" in page
        assert "agree up to" in page
        assert page.count("1,679.67") == 1  # the same by both books: one figure
        assert 'class="agrees">both agree<' in page
        assert page.count("300.00") == page.count("199.50") == 3  # of two sellers by both books, and as our net
        assert "only the gateway knows whose money all of it is" in page  # of what was refunded in the portal
        file = await staff.do("/money.csv", **DAYS)
        assert "Download by sub-merchant as CSV" in page
        divided = await staff.do("/money.csv", **DAYS, by="receiver")
    [line] = csv.DictReader(file.content.decode("utf-8-sig").splitlines())
    moved = (
        *("Charged", "Number of charges", "Refunded", "Number of refunds"),
        *("Charged back", "Number of chargebacks"),
    )
    assert [line[column] for column in moved] == ["1679.67", "4", "38.03", "2", "50.00", "1"]
    assert [line[f"{name} (the gateway’s)"] for name in moved] == [line[name] for name in moved]
    assert line["Our records and the gateway’s"] == "both agree"
    state = store.sandbox.state
    paid = [payment for payment in state.payments.values() if payment.method != "auth"]
    fees = sum((entry.fee.total for entry in [*paid, *state.operations.values()] if entry.fee), Decimal(0))
    assert Decimal(line["Fees (the gateway’s)"]) == Decimal(line["Fees"]) == fees
    assert Decimal(line["Net"]) == Decimal("1679.67") - Decimal("38.03") - Decimal("50.00") - fees
    lines = {
        parsed["Sub-merchant"]: parsed for parsed in csv.DictReader(divided.content.decode("utf-8-sig").splitlines())
    }
    assert {of_one["Day (UTC)"] for of_one in lines.values()} == {line["Day (UTC)"]}
    assert lines["Potter"]["Charged"] == lines["Potter"]["Charged (the gateway’s)"] == "300.00"
    assert lines["Smith"]["Charged"] == lines["Smith"]["Charged (the gateway’s)"] == "199.50"
    assert lines["(not divided)"]["Refunded"] == "8.00"  # in the portal: no record says whose
