"""Payments on the gateway's page (gateway interface, 1b)."""

import pytest

from app.gateway.models import Checkout, Method, PaymentRecord, Status
from tests.gateway_contract.requests import AMOUNT, a_page
from tests.gateway_contract.stage import Stage


async def test_a_purchase_on_the_page(stage: Stage) -> None:
    order_id = stage.order_id("page")
    checkout = await stage.client.create_hosted(a_page(stage, "page"), timeout=stage.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url is not None
    assert checkout.qr_url == checkout.checkout_url.removesuffix("form") + "qr"
    (unpaid,) = await stage.client.order(order_id, timeout=stage.timeout)
    assert (unpaid.status, unpaid.mode, unpaid.amount) == (Status.INIT, "hosted", AMOUNT)

    await stage.hands.pay(order_id, checkout.checkout_url)
    (paid,) = await stage.client.operation(order_id, Method.PURCHASE, timeout=stage.timeout)
    assert isinstance(paid, PaymentRecord)
    assert (paid.status, paid.status_code, paid.amount) == (Status.SUCCESS, "1000", AMOUNT)
    assert paid.payment_id == unpaid.payment_id


async def test_the_page_as_a_qr_code(stage: Stage) -> None:
    request = a_page(stage, "qr", method=Method.AUTH)
    checkout = await stage.client.create_hosted(request, qr=True, timeout=stage.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.qr_url is not None
    assert checkout.checkout_url == checkout.qr_url.removesuffix("qr") + "form"


@pytest.mark.sandbox_only("a gateway answers one way or the other")
async def test_the_page_told_in_json(stage: Stage) -> None:
    await stage.hands.set_up(hosted_answer="json")
    checkout = await stage.client.create_hosted(a_page(stage, "json"), timeout=stage.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url is not None
    assert checkout.checkout_url.endswith("/form")
