"""What is done to a payment: capture, void, refund, cancel (gateway interface, 3, 4, 5 and 7)."""

from decimal import Decimal

from gateway_client.models import Capture, Method, OperationRecord, PaymentRecord, Refund, Status, Void
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_page


async def paid_on_the_page(harness: Harness, name: str, method: Method) -> str:
    """The order id of a payment that somebody paid."""
    checkout = await harness.client.create_hosted(a_page(harness, name, method=method), timeout=harness.timeout)
    assert not isinstance(checkout, PaymentRecord)
    order_id = harness.order_id(name)
    await harness.hands.pay(order_id, checkout.checkout_url)
    return order_id


async def test_reserved_money_is_taken_in_part(harness: Harness) -> None:
    order_id = await paid_on_the_page(harness, "taken", Method.AUTH)
    (held,) = await harness.client.get_operation(order_id, Method.AUTH, timeout=harness.timeout)
    assert (held.status, held.amount) == (Status.SUCCESS, AMOUNT)
    request = Capture(
        order_id=order_id,
        order_currency=harness.currency,
        charge_amount=Decimal("1.20"),
        comment="the rest is not in stock",
        server_url=harness.webhooks.url,
    )
    taken = await harness.client.capture(request, timeout=harness.timeout)
    assert (taken.method, taken.status, taken.amount) == (Method.CAPTURE, Status.SUCCESS, Decimal("1.20"))
    assert taken.payment_id == held.payment_id


async def test_reserved_money_is_released(harness: Harness) -> None:
    order_id = await paid_on_the_page(harness, "released", Method.AUTH)
    request = Void(
        order_id=order_id, order_currency=harness.currency, comment="called off", server_url=harness.webhooks.url
    )
    released = await harness.client.void(request, timeout=harness.timeout)
    assert (released.method, released.status, released.status_code) == (Method.VOID, Status.SUCCESS, "1009")
    assert released.amount == AMOUNT
    found = await harness.client.get_operation(order_id, Method.VOID, timeout=harness.timeout)
    assert [record.status for record in found] == [Status.SUCCESS]


async def test_money_goes_back_in_parts_and_in_all(harness: Harness) -> None:
    order_id = await paid_on_the_page(harness, "back", Method.PURCHASE)
    request = Refund(
        order_id=order_id,
        order_currency=harness.currency,
        refund_amount=Decimal("0.30"),
        comment="a scratch",
        server_url=harness.webhooks.url,
    )
    part = await harness.client.refund(request, timeout=harness.timeout)
    assert (part.method, part.status, part.amount) == (Method.REFUND, Status.SUCCESS, Decimal("0.30"))
    assert part.status_code == "1004"
    rest = await harness.client.refund(
        request.model_copy(update={"refund_amount": Decimal("1.20")}), timeout=harness.timeout
    )
    assert rest.operation_id != part.operation_id
    records = await harness.client.get_order(order_id, timeout=harness.timeout)
    returned = [record.amount for record in records if isinstance(record, OperationRecord)]
    assert sum(returned) == AMOUNT

    whole = await paid_on_the_page(harness, "whole", Method.PURCHASE)
    all_of_it = await harness.client.refund(
        Refund(order_id=whole, order_currency=harness.currency), timeout=harness.timeout
    )
    assert (all_of_it.status, all_of_it.amount) == (Status.SUCCESS, AMOUNT)


async def test_an_unpaid_payment_is_cancelled(harness: Harness) -> None:
    await harness.client.create_hosted(a_page(harness, "unpaid"), timeout=harness.timeout)
    record = await harness.client.cancel(harness.order_id("unpaid"), timeout=harness.timeout)
    assert (record.status, record.status_code) == (Status.FAILURE, "6007")
    assert (record.user_action_required, record.user_action_url) == (False, None)
