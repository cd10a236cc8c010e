"""Cards and tokens on the merchant's own page (gateway interface, 1a)."""

import pytest

from app.gateway.declined import Declined
from app.gateway.models import Method, PaymentRecord, Status
from app.sandbox.core.cards import coded_card
from tests.gateway_contract.requests import AMOUNT, a_card
from tests.gateway_contract.stage import Stage


async def test_a_card_pays(stage: Stage) -> None:
    order_id = stage.order_id("card")
    paid = await stage.client.create_direct(a_card(stage, "card"), timeout=stage.timeout)
    assert (paid.order_id, paid.method, paid.mode) == (order_id, Method.PURCHASE, "direct")
    assert (paid.status, paid.status_code, paid.amount, paid.currency) == (
        Status.SUCCESS,
        "1000",
        AMOUNT,
        stage.currency,
    )
    assert paid.cc_mask is not None
    assert paid.pos_id == stage.client.pos_id
    (found,) = await stage.client.order(order_id, timeout=stage.timeout)
    assert (found.payment_id, found.status, found.amount) == (paid.payment_id, Status.SUCCESS, AMOUNT)


async def test_a_token_pays_again(stage: Stage) -> None:
    first = await stage.client.create_direct(a_card(stage, "first"), timeout=stage.timeout)
    assert first.cc_token is not None
    again = await stage.client.create_direct(a_card(stage, "again", cc_token=first.cc_token), timeout=stage.timeout)
    assert again.status is Status.SUCCESS
    assert again.payment_id != first.payment_id


@pytest.mark.sandbox_only("which card asks for 3-D Secure is not published")
async def test_the_bank_asks_for_3ds(stage: Stage) -> None:
    request = a_card(stage, "secure", cc_number=coded_card("2122"))
    asked = await stage.client.create_direct(request, timeout=stage.timeout)
    assert (asked.status, asked.status_code, asked.user_action_required) == (Status.PENDING, "2122", True)
    assert asked.user_action_url is not None
    assert asked.user_action_url.startswith("http")


@pytest.mark.sandbox_only("which card is declined is not published")
async def test_the_bank_declines(stage: Stage) -> None:
    request = a_card(stage, "declined", cc_number=coded_card("4010"))
    declined = await stage.client.create_direct(request, timeout=stage.timeout)
    assert isinstance(declined, PaymentRecord)
    assert (declined.status, declined.status_code) == (Status.FAILURE, "4010")
    told = Declined.of(declined)
    assert told.try_again
    assert told.retry_after is not None
    assert told.limit
