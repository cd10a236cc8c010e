"""Payments on the gateway's page (gateway interface, 1b)."""

from decimal import Decimal

import pytest

from gateway_client.models import Checkout, Method, PaymentRecord, Status
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_page


async def test_a_purchase_on_the_page(harness: Harness) -> None:
    order_id = harness.order_id("page")
    checkout = await harness.client.create_hosted(a_page(harness, "page"), timeout=harness.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url is not None
    assert checkout.qr_url == checkout.checkout_url.removesuffix("form") + "qr"
    (unpaid,) = await harness.client.get_order(order_id, timeout=harness.timeout)
    assert (unpaid.status, unpaid.mode, unpaid.amount) == (Status.INIT, "hosted", AMOUNT)

    await harness.hands.pay(order_id, checkout.checkout_url)
    (paid,) = await harness.client.get_operation(order_id, Method.PURCHASE, timeout=harness.timeout)
    assert isinstance(paid, PaymentRecord)
    assert (paid.status, paid.status_code, paid.amount) == (Status.SUCCESS, "1000", AMOUNT)
    assert paid.payment_id == unpaid.payment_id


async def test_the_page_as_a_qr_code(harness: Harness) -> None:
    request = a_page(harness, "qr", method=Method.AUTH)
    checkout = await harness.client.create_hosted(request, qr=True, timeout=harness.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.qr_url is not None
    assert checkout.checkout_url == checkout.qr_url.removesuffix("qr") + "form"


@pytest.mark.sandbox_only("which method lets a payer change the amount is not published")
async def test_a_payer_changes_the_amount(harness: Harness) -> None:
    order_id = harness.order_id("changed")
    await harness.client.create_hosted(a_page(harness, "changed"), timeout=harness.timeout)
    await harness.hands.pay_other(order_id, Decimal("2.00"))
    (paid,) = await harness.client.get_order(order_id, timeout=harness.timeout)
    assert isinstance(paid, PaymentRecord)
    assert (paid.amount, paid.processed_amount, paid.processed_currency) == (AMOUNT, Decimal("2.00"), harness.currency)


@pytest.mark.public_only("the interface redirects")
@pytest.mark.sandbox_only("a gateway answers one way or the other")
async def test_the_page_told_in_json(harness: Harness) -> None:
    await harness.hands.set_up(hosted_answer="json")
    checkout = await harness.client.create_hosted(a_page(harness, "json"), timeout=harness.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url is not None
    assert checkout.checkout_url.endswith("/form")
