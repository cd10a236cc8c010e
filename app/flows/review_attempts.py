"""Reviews the other attempts to pay the same debt after a payment has progressed (laws of money, 12)."""

from app.core.ids import PaymentRowId
from app.rules.decisions.competing_attempts import AttemptsDue
from app.services import Services
from app.store.aggregates import ById, Payable


async def compare_attempts(services: Services, payment_id: PaymentRowId) -> None:
    """Compare a payment with all attempts to pay the same, locked together."""
    known = await services.payments.read(payment_id)
    payable = Payable(known.installation_id, known.source_id)
    await services.payments.record_of_attempt(ById(payment_id), payable, AttemptsDue(services.decision_context()))
