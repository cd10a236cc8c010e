"""The database is lost, and an older backup put back: both books agree again, and no money moves twice."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from gateway_client.sandbox.scripting import FaultRule
from tests.journeys.backups import back_up
from tests.journeys.stack import Stack
from tests.journeys.stories import TOTAL, assert_books_agree, begin, order_id_of, wait_for_event, wait_until_quiet
from tests.journeys.terminal import Terminal
from tests.journeys.test_staff_act import paid, reserved

PART = Decimal("30.00")


async def moved(shop: Stack) -> dict[str, list[tuple[str, str, str]]]:
    """Return what the gateway has done, by order."""
    return {
        payment.order_id: sorted((o.method, str(o.amount), o.status) for o in payment.operations)
        for payment in await shop.gateway.payments()
    }


@pytest.mark.long
@pytest.mark.fault("backup-restored")
@pytest.mark.law(9, 10, 13)
async def test_what_happened_since_is_found_and_nothing_is_booked_or_paid_twice(
    shop: Stack, terminal: Terminal, tmp_path: Path
) -> None:
    since = f"{datetime.now(UTC):%Y-%m-%d}"  # it may be midnight before all is done
    untouched, to_refund, to_refund_unheard = await paid(shop), await paid(shop), await paid(shop)
    to_capture, to_void = await reserved(shop), await reserved(shop)
    _, to_pay = await begin(shop)
    known = [
        transaction.id
        for transaction in (untouched, to_refund, to_refund_unheard, to_capture, to_void, to_pay.required_transaction)
    ]
    for transaction_id in known:
        await wait_until_quiet(shop, transaction_id)
    put_back = back_up(shop.settings.database, tmp_path)

    for _ in range(2):
        await shop.saleor.refund(to_refund.id, PART)
        await shop.saleor.wait_for_background()
        await wait_until_quiet(shop, to_refund.id)
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/refund", moment="after", effect="drop"))
    await shop.saleor.refund(to_refund_unheard.id, PART)
    await wait_for_event(shop, to_refund_unheard.id, "REFUND_SUCCESS")
    await shop.gateway.clear_rules()
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/capture", moment="after", effect="drop"))
    await shop.saleor.charge(to_capture.id, Decimal("300.00"))
    await wait_for_event(shop, to_capture.id, "CANCEL_SUCCESS")
    await shop.gateway.clear_rules()
    await shop.saleor.cancel(to_void.id)
    await shop.gateway.pay(order_id_of(to_pay))
    await wait_for_event(shop, to_pay.required_transaction.id, "CHARGE_SUCCESS")
    (_, begun_since), paid_since = await begin(shop), await paid(shop)
    saleor = {
        transaction_id: (await wait_until_quiet(shop, transaction_id)).amounts
        for transaction_id in (*known, paid_since.id)
    }
    gateway = await moved(shop)

    await shop.app.stop()
    put_back()
    assert await terminal.type("data", "restored") == {"looked_up_instead": 0}
    until = f"{datetime.now(UTC):%Y-%m-%d}"
    (compared,) = await terminal.type("reconcile", "run", "--from", since, "--to", until)
    assert (compared["state"], compared["repaired"], compared["put_to_people"]) == ("done", 6, 1)
    await shop.app.start()
    for transaction_id in known:
        assert (await wait_until_quiet(shop, transaction_id)).amounts == saleor[transaction_id]
        await assert_books_agree(shop, transaction_id)
    assert await moved(shop) == gateway

    # What was begun since is not known: of what was paid a person is told, and Saleor's refund of it moves nothing.
    (unknown,) = await terminal.type("attention")
    assert (unknown["what"], unknown["count"]) == ("unknown-orders", 1)
    await shop.saleor.refund(paid_since.id, PART)
    await shop.saleor.wait_for_background()
    assert "This payment was not made with this app" in (await wait_until_quiet(shop, paid_since.id)).events[0].message
    assert (await shop.saleor.transaction(paid_since.id)).amounts == saleor[paid_since.id]
    # A page that is open since then is asked for again under its burnt order id: it is closed, and nobody pays on it.
    again = await shop.saleor.process(begun_since.required_transaction.id)
    assert again.data is not None
    assert again.data["errors"][0]["code"] == "TRY_AGAIN"
    # A refund that staff ask for now is one more refund, of what is left; and no more than that.
    left = TOTAL - 2 * PART
    await shop.saleor.refund(to_refund.id, left)
    await wait_for_event(shop, to_refund.id, "REFUND_SUCCESS")
    assert (await wait_until_quiet(shop, to_refund.id)).amounts.refunded == TOTAL
    await assert_books_agree(shop, to_refund.id)
