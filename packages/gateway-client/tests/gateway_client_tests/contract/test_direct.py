"""Cards and tokens on the merchant's own page (gateway interface, 1a)."""

import pytest

from gateway_client.declined import Declined
from gateway_client.models import Method, PaymentRecord, Status
from gateway_client.sandbox.core.cards import coded_card
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_card


async def test_a_card_pays(harness: Harness) -> None:
    order_id = harness.order_id("card")
    paid = await harness.client.create_direct(a_card(harness, "card"), timeout=harness.timeout)
    assert (paid.order_id, paid.method, paid.mode) == (order_id, Method.PURCHASE, "direct")
    assert (paid.status, paid.status_code, paid.amount, paid.currency) == (
        Status.SUCCESS,
        "1000",
        AMOUNT,
        harness.currency,
    )
    assert paid.cc_mask is not None
    assert paid.pos_id == harness.client.pos_id
    (found,) = await harness.client.get_order(order_id, timeout=harness.timeout)
    assert (found.payment_id, found.status, found.amount) == (paid.payment_id, Status.SUCCESS, AMOUNT)


async def test_a_token_pays_again(harness: Harness) -> None:
    first = await harness.client.create_direct(a_card(harness, "first"), timeout=harness.timeout)
    assert first.cc_token is not None
    again = await harness.client.create_direct(
        a_card(harness, "again", cc_token=first.cc_token), timeout=harness.timeout
    )
    assert again.status is Status.SUCCESS
    assert again.payment_id != first.payment_id


@pytest.mark.sandbox_only("only a phone's wallet makes one")
async def test_a_cryptogram_pays(harness: Harness) -> None:
    request = a_card(harness, "cryptogram", cryptogram={"eci": "07"})
    paid = await harness.client.create_direct(request, timeout=harness.timeout)
    assert (paid.status, paid.amount) == (Status.SUCCESS, AMOUNT)


@pytest.mark.sandbox_only("which card asks for 3-D Secure is not published")
async def test_the_bank_asks_for_3ds(harness: Harness) -> None:
    request = a_card(harness, "secure", cc_number=coded_card("2122"))
    asked = await harness.client.create_direct(request, timeout=harness.timeout)
    assert (asked.status, asked.status_code, asked.user_action_required) == (Status.PENDING, "2122", True)
    assert asked.user_action_url is not None
    assert asked.user_action_url.startswith("http")


@pytest.mark.sandbox_only("which card is declined is not published")
async def test_the_bank_declines(harness: Harness) -> None:
    request = a_card(harness, "declined", cc_number=coded_card("4010"))
    declined = await harness.client.create_direct(request, timeout=harness.timeout)
    assert isinstance(declined, PaymentRecord)
    assert (declined.status, declined.status_code) == (Status.FAILURE, "4010")
    told = Declined.of(declined)
    assert told.try_again
    assert told.retry_after is not None
    assert told.limit
