"""What follows for a payment from a session webhook that is answered from the record. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.fact import AttemptFact
from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.rules.addresses import PaymentPage
from app.rules.decision_context import DecisionContext
from app.rules.decisions.competing_attempts import compare_with_debt
from app.rules.references import ensure_reference
from app.rules.responses import session_response
from saleor_app_sdk.responses import SessionResponse
from saleor_app_sdk.source import Checkout, Order


@dataclass(frozen=True, slots=True)
class SessionAsked(AttemptFact[SessionResponse]):
    """Saleor asks where a payment stands. Returns the answer.

    ``source``: less of it is owed by now than the page is for. Then nobody is sent there any more, and it is closed
    (laws of money, 12).
    """

    page: PaymentPage
    context: DecisionContext
    source: Checkout | Order | None = None

    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> SessionResponse:
        """Prepare the payment for the answer.

        The reference in the answer is stored before the answer is sent (laws of money, 9). While Saleor reads a
        failure, no event of the payment is reported: should it have succeeded after all, the success comes after that
        (5).
        """
        create = aggregate.create
        if self.source is not None:
            compare_with_debt(attempts, self.source, self.context)
        ensure_reference(aggregate.payment, create)
        if create.state is State.FAILURE:
            create.answer_awaited_until = self.context.now + self.context.schedule.answer_window
        return session_response(aggregate, self.page.address(aggregate.payment.order_id))
