"""A backup was put back: what was done since looks like others' doing, and is neither booked nor done twice.

The whole way is in ``tests.journeys.test_a_backup_is_put_back``.
"""

from decimal import Decimal

import pytest

from app.core.vocabulary import EventState, Kind, State
from app.store.restored_backup import mark_waiting_as_unknown
from integration_base_tests.loopback import HangUp
from saleor_app_sdk.reports import EventReport
from saleor_app_sdk.responses import EventType
from tests.payments.fake_gateway import operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop


async def told_before_the_loss(
    paid: Shop, amount: str, reference: str, event: EventType = EventType.REFUND_SUCCESS
) -> None:
    """Saleor was told of a refund, or of something else, by a database that is lost."""
    report = EventReport(
        transaction_id=paid.transaction.id,
        type=event,
        psp_reference=reference,
        amount=Decimal(amount),
        message="",
    )
    await paid.saleor.report(paid.installation, report)


async def found_at_the_gateway(paid: Shop, amount: str, named: str) -> None:
    await paid.notify(operation("refund", paid.order_id, amount, operation_id=named))
    await paid.pass_time(minutes=1)


@pytest.mark.fault("backup-restored")
@pytest.mark.law(9, 10)
async def test_what_saleor_has_heard_before_is_not_told_again(paid_shop: Shop) -> None:
    await told_before_the_loss(paid_shop, "30.00", "refund-of-the-lost-database")
    reports = len(paid_shop.saleor.reports)
    await found_at_the_gateway(paid_shop, "30.00", "made-then")
    assert paid_shop.amounts == amounts(charged="539.50", refunded="30.00")
    assert [
        report.psp_reference for report in paid_shop.saleor.reports[reports:] if report.type == "REFUND_SUCCESS"
    ] == []
    refund = await paid_shop.operation(Kind.REFUND)
    assert (refund.psp_reference, refund.operation_id) == ("refund-of-the-lost-database", "made-then")
    assert all(event.state is not EventState.WAITING for event in (await paid_shop.aggregate()).events)


@pytest.mark.law(9, 10)
async def test_of_two_of_the_same_amount_each_is_told_once(paid_shop: Shop) -> None:
    await told_before_the_loss(paid_shop, "30.00", "refund-of-the-lost-database")
    await found_at_the_gateway(paid_shop, "30.00", "made-then")
    await found_at_the_gateway(paid_shop, "30.00", "made-since")
    assert paid_shop.amounts == amounts(charged="509.50", refunded="60.00")
    references = {
        operation.psp_reference
        for operation in (await paid_shop.aggregate()).operations
        if operation.kind is Kind.REFUND
    }
    assert references == {"refund-of-the-lost-database", "made-since"}


@pytest.mark.law(9, 10)
async def test_the_rest_of_a_reservation_is_released_under_the_reference_that_saleor_knows(reserved_shop: Shop) -> None:
    await told_before_the_loss(reserved_shop, "500.00", "capture-of-the-lost-database", EventType.CHARGE_SUCCESS)
    reports = len(reserved_shop.saleor.reports)
    await reserved_shop.notify(operation("capture", reserved_shop.order_id, "500.00", operation_id="made-then"))
    await reserved_shop.pass_time(minutes=1)
    assert [(report.type, report.psp_reference) for report in reserved_shop.saleor.reports[reports:]] == [
        ("CANCEL_SUCCESS", "capture-of-the-lost-database-released")
    ]
    assert reserved_shop.amounts == amounts(charged="500.00", canceled="69.50")


@pytest.mark.law(10)
async def test_of_another_amount_it_is_another_refund(paid_shop: Shop) -> None:
    await told_before_the_loss(paid_shop, "30.00", "refund-of-the-lost-database")
    await found_at_the_gateway(paid_shop, "40.00", "in-the-portal")
    assert paid_shop.amounts == amounts(charged="499.50", refunded="70.00")


@pytest.mark.fault("backup-restored")
@pytest.mark.law(5)
async def test_when_saleor_cannot_say_it_is_told_later(paid_shop: Shop) -> None:
    await told_before_the_loss(paid_shop, "30.00", "refund-of-the-lost-database")
    paid_shop.saleor.is_down = True
    await found_at_the_gateway(paid_shop, "30.00", "made-then")
    assert paid_shop.amounts == amounts(charged="539.50", refunded="30.00")
    assert (await paid_shop.aggregate()).events[-1].state is EventState.WAITING
    paid_shop.saleor.is_down = False
    await paid_shop.pass_time(minutes=30)
    assert paid_shop.amounts == amounts(charged="539.50", refunded="30.00")
    assert (await paid_shop.aggregate()).events[-1].state is EventState.DELIVERED


@pytest.mark.fault("backup-restored")
@pytest.mark.law(1, 2)
@pytest.mark.parametrize("was_sent", [True, False])
async def test_what_waited_for_its_turn_is_looked_up_and_not_sent(paid_shop: Shop, was_sent: bool) -> None:
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "100.00", "one")
    await paid_shop.request_action("REFUND", "30.00", "two")
    assert (await paid_shop.operation(Kind.REFUND, 1)).state is State.WAITING
    asked = paid_shop.gateway.calls.count("refund")
    assert await mark_waiting_as_unknown(paid_shop.services.database, paid_shop.clock.now) == 1
    assert await mark_waiting_as_unknown(paid_shop.services.database, paid_shop.clock.now) == 0
    paid_shop.record_refund("100.00", "first")
    if was_sent:
        paid_shop.record_refund("30.00", "second")
    await paid_shop.pass_time(hours=1)
    second = await paid_shop.operation(Kind.REFUND, 1)
    assert (second.state, second.inferred) == ((State.SUCCESS, False) if was_sent else (State.FAILURE, True))
    assert paid_shop.gateway.calls.count("refund") == asked
    refunded = "130.00" if was_sent else "100.00"
    assert paid_shop.amounts == amounts(charged=str(Decimal("569.50") - Decimal(refunded)), refunded=refunded)
