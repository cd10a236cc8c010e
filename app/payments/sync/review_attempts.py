"""Reviews the other attempts to pay the same debt after a payment has progressed (laws of money, 12)."""

from functools import partial

from app.db.aggregates import ById, SameDebt
from app.payments.decisions.competing_attempts import review_attempts
from app.payments.services import Services


async def compare_attempts(services: Services, payment_id: int) -> None:
    """Compare a payment with all attempts to pay the same, locked together (``review_attempts``)."""
    known = await services.payments.read(payment_id)
    debt = SameDebt(known.installation_id, known.source_id)
    await services.payments.update_attempts(
        ById(payment_id), debt, partial(review_attempts, posting=services.posting())
    )
