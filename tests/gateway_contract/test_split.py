"""Payments of several sub-merchants (gateway interface, 2, 3 and 6)."""

import pytest

from app.gateway.models import Capture, Checkout, Method, SplitRefund, Status
from tests.gateway_contract.requests import AMOUNT, PARTS, a_card, a_page, shares
from tests.gateway_contract.stage import Stage

pytestmark = pytest.mark.splits


async def test_a_card_pays_two_and_one_gives_back(stage: Stage) -> None:
    request = a_card(stage, "two", split=shares(stage))
    paid = await stage.client.create_direct(request, timeout=stage.timeout)
    assert (paid.method, paid.status, paid.amount) == (Method.PURCHASE, Status.SUCCESS, AMOUNT)

    back = SplitRefund(
        order_id=paid.order_id,
        currency=stage.currency,
        refund_amount=PARTS[1],
        split=shares(stage)[1:],
        server_url=stage.webhooks.url,
    )
    refund = await stage.client.split_refund(back, timeout=stage.timeout)
    assert (refund.method, refund.status, refund.amount) == (Method.REFUND, Status.SUCCESS, PARTS[1])
    assert refund.processed_at is not None


async def test_a_page_for_two(stage: Stage) -> None:
    request = a_page(stage, "shared", split=shares(stage))
    checkout = await stage.client.create_hosted(request, timeout=stage.timeout)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url is not None
    assert checkout.checkout_url.endswith("/form")


async def test_reserved_money_is_taken_for_two(stage: Stage) -> None:
    request = a_card(stage, "held", method=Method.AUTH, split=shares(stage))
    held = await stage.client.create_direct(request, timeout=stage.timeout)
    assert (held.method, held.status) == (Method.AUTH, Status.SUCCESS)
    take = Capture(order_id=held.order_id, order_currency=stage.currency, charge_amount=AMOUNT, split=shares(stage))
    taken = await stage.client.capture(take, timeout=stage.timeout)
    assert (taken.method, taken.status, taken.amount) == (Method.CAPTURE, Status.SUCCESS, AMOUNT)
    assert taken.processed_at is not None
