"""Payments of several sub-merchants (gateway interface, 2, 3 and 6)."""

import pytest

from gateway_client.models import Capture, Checkout, Method, SplitRefund, Status
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, PARTS, a_card, a_page, shares

pytestmark = pytest.mark.splits


async def test_a_card_pays_two_and_one_gives_back(harness: Harness) -> None:
    request = a_card(harness, "two", split=shares(harness))
    paid = await harness.client.create_direct(request, timeout=harness.timeout)
    assert (paid.method, paid.status, paid.amount) == (Method.PURCHASE, Status.SUCCESS, AMOUNT)

    back = SplitRefund(
        order_id=paid.order_id,
        currency=harness.currency,
        refund_amount=PARTS[1],
        split=shares(harness)[1:],
        comment="one mug came back",
        server_url=harness.webhooks.url,
    )
    refund = await harness.client.split_refund(back, timeout=harness.timeout)
    assert (refund.method, refund.status, refund.amount) == (Method.REFUND, Status.SUCCESS, PARTS[1])
    assert refund.processed_at is not None


async def test_a_page_for_two(harness: Harness) -> None:
    request = a_page(harness, "shared", split=shares(harness))
    checkout = await harness.client.create_hosted(request, timeout=harness.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url is not None
    assert checkout.checkout_url.endswith("/form")


async def test_reserved_money_is_taken_for_two(harness: Harness) -> None:
    request = a_card(harness, "held", method=Method.AUTH, split=shares(harness))
    held = await harness.client.create_direct(request, timeout=harness.timeout)
    assert (held.method, held.status) == (Method.AUTH, Status.SUCCESS)
    take = Capture(order_id=held.order_id, order_currency=harness.currency, charge_amount=AMOUNT, split=shares(harness))
    taken = await harness.client.capture(take, timeout=harness.timeout)
    assert (taken.method, taken.status, taken.amount) == (Method.CAPTURE, Status.SUCCESS, AMOUNT)
    assert taken.processed_at is not None
