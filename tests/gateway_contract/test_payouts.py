"""Money sent to a card (gateway interface, 1c)."""

from app.gateway.models import Method, Recipient, Status
from tests.gateway.examples import CARD
from tests.gateway_contract.requests import AMOUNT, a_payout
from tests.gateway_contract.stage import Stage


async def test_a_card_is_paid(stage: Stage) -> None:
    recipient = Recipient(recipient_first_name="Olena", recipient_last_name="Kovalenko")
    request = a_payout(stage, "out", cc_number=CARD["cc_number"], properties=recipient)
    sent = await stage.client.pay_out(request, timeout=stage.timeout)
    assert (sent.method, sent.status, sent.amount) == (Method.CREDIT, Status.SUCCESS, AMOUNT)
    assert sent.properties is not None
