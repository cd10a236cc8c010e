"""What follows for a payment from a session webhook that is answered from the record. Pure."""

from collections.abc import Sequence

from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.payments.core.posting import Posting
from app.payments.core.references import ensure_reference
from app.payments.decisions.competing_attempts import compare_with_debt
from app.saleor.source import Checkout, Order


def answer_session(
    aggregate: PaymentAggregate,
    attempts: Sequence[PaymentAggregate],
    posting: Posting,
    *,
    source: Checkout | Order | None = None,
) -> None:
    """Prepare a payment for the answer that states where it stands.

    ``source``: less of it is owed by now than the page is for. Then nobody is sent there any more, and it is closed
    (laws of money, 12); ``attempts`` are all attempts to pay it. The reference in the answer is stored before the
    answer is sent (9). While Saleor reads a failure, no event of the payment is reported: should it have succeeded
    after all, the success comes after that (5).
    """
    create = aggregate.create
    if source is not None:
        compare_with_debt(attempts, source, posting)
    ensure_reference(aggregate.payment, create)
    if create.state is State.FAILURE:
        create.answer_awaited_until = posting.now + posting.schedule.answer_window
