"""What is done to a payment: capture, void, refund, cancel (gateway interface, 3, 4, 5 and 7)."""

from decimal import Decimal

from app.gateway.models import Capture, Method, OperationRecord, PaymentRecord, Refund, Status, Void
from tests.gateway_contract.requests import AMOUNT, a_page
from tests.gateway_contract.stage import Stage


async def paid_on_the_page(stage: Stage, name: str, method: Method) -> str:
    """The order id of a payment that somebody paid."""
    checkout = await stage.client.create_hosted(a_page(stage, name, method=method), timeout=stage.timeout)
    assert not isinstance(checkout, PaymentRecord)
    order_id = stage.order_id(name)
    await stage.hands.pay(order_id, checkout.checkout_url)
    return order_id


async def test_reserved_money_is_taken_in_part(stage: Stage) -> None:
    order_id = await paid_on_the_page(stage, "taken", Method.AUTH)
    (held,) = await stage.client.operation(order_id, Method.AUTH, timeout=stage.timeout)
    assert (held.status, held.amount) == (Status.SUCCESS, AMOUNT)
    request = Capture(
        order_id=order_id,
        order_currency=stage.currency,
        charge_amount=Decimal("1.20"),
        comment="the rest is not in stock",
        server_url=stage.webhooks.url,
    )
    taken = await stage.client.capture(request, timeout=stage.timeout)
    assert (taken.method, taken.status, taken.amount) == (Method.CAPTURE, Status.SUCCESS, Decimal("1.20"))
    assert taken.payment_id == held.payment_id


async def test_reserved_money_is_released(stage: Stage) -> None:
    order_id = await paid_on_the_page(stage, "released", Method.AUTH)
    request = Void(order_id=order_id, order_currency=stage.currency, comment="called off")
    released = await stage.client.void(request, timeout=stage.timeout)
    assert (released.method, released.status, released.status_code) == (Method.VOID, Status.SUCCESS, "1009")
    assert released.amount == AMOUNT
    found = await stage.client.operation(order_id, Method.VOID, timeout=stage.timeout)
    assert [record.status for record in found] == [Status.SUCCESS]


async def test_money_goes_back_in_parts_and_in_all(stage: Stage) -> None:
    order_id = await paid_on_the_page(stage, "back", Method.PURCHASE)
    request = Refund(order_id=order_id, order_currency=stage.currency, refund_amount=Decimal("0.30"))
    part = await stage.client.refund(request, timeout=stage.timeout)
    assert (part.method, part.status, part.amount) == (Method.REFUND, Status.SUCCESS, Decimal("0.30"))
    assert part.status_code == "1004"
    rest = await stage.client.refund(
        request.model_copy(update={"refund_amount": Decimal("1.20")}), timeout=stage.timeout
    )
    assert rest.operation_id != part.operation_id
    records = await stage.client.order(order_id, timeout=stage.timeout)
    returned = [record.amount for record in records if isinstance(record, OperationRecord)]
    assert sum(returned) == AMOUNT

    whole = await paid_on_the_page(stage, "whole", Method.PURCHASE)
    all_of_it = await stage.client.refund(Refund(order_id=whole, order_currency=stage.currency), timeout=stage.timeout)
    assert (all_of_it.status, all_of_it.amount) == (Status.SUCCESS, AMOUNT)


async def test_an_unpaid_payment_is_cancelled(stage: Stage) -> None:
    await stage.client.create_hosted(a_page(stage, "unpaid"), timeout=stage.timeout)
    record = await stage.client.cancel(stage.order_id("unpaid"), timeout=stage.timeout)
    assert (record.status, record.status_code) == (Status.FAILURE, "6007")
    assert (record.user_action_required, record.user_action_url) == (False, None)
