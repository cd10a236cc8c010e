"""Money sent to a card (gateway interface, 1c)."""

from gateway_client.models import Method, Recipient, Status
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_card, a_payout
from gateway_client_tests.examples import CARD


async def test_a_card_is_paid(harness: Harness) -> None:
    recipient = Recipient(recipient_first_name="Olena", recipient_last_name="Kovalenko")
    request = a_payout(harness, "out", cc_number=CARD["cc_number"], properties=recipient)
    sent = await harness.client.pay_out(request, timeout=harness.timeout)
    assert (sent.method, sent.status, sent.amount) == (Method.CREDIT, Status.SUCCESS, AMOUNT)
    assert sent.properties is not None


async def test_a_card_that_paid_before_is_paid(harness: Harness) -> None:
    """By the token of its payment; whoever has to confirm it comes back to an address of ours."""
    first = await harness.client.create_direct(a_card(harness, "paid-in"), timeout=harness.timeout)
    request = a_payout(harness, "out-to-token", cc_token=first.cc_token, result_url="https://shop.example/back")
    sent = await harness.client.pay_out(request, timeout=harness.timeout)
    assert (sent.method, sent.status, sent.amount) == (Method.CREDIT, Status.SUCCESS, AMOUNT)
