"""Money sent to a card (gateway interface, 1c)."""

from app.gateway.models import Method, Recipient, Status
from tests.gateway.examples import CARD
from tests.gateway_contract.harness import Harness
from tests.gateway_contract.requests import AMOUNT, a_payout


async def test_a_card_is_paid(harness: Harness) -> None:
    recipient = Recipient(recipient_first_name="Olena", recipient_last_name="Kovalenko")
    request = a_payout(harness, "out", cc_number=CARD["cc_number"], properties=recipient)
    sent = await harness.client.pay_out(request, timeout=harness.timeout)
    assert (sent.method, sent.status, sent.amount) == (Method.CREDIT, Status.SUCCESS, AMOUNT)
    assert sent.properties is not None
