"""What follows from a difference between a payment and the gateway's books that a look-up has not explained. Pure."""

from dataclasses import dataclass
from datetime import datetime

from app.core.fact import Fact
from app.core.payment import PaymentAggregate
from app.core.vocabulary import EventState
from app.rules.decision_context import raise_problem
from app.rules.issues import Issue
from app.rules.problems import Cause, clear_problem, has_mismatch, has_problem


@dataclass(frozen=True, slots=True)
class DifferenceFound(Fact[None]):
    """A payment and the books differ. ``is_untold``: Saleor does not know what both of them say."""

    cause: Cause
    issue: Issue
    is_untold: bool
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Raise a problem, unless the payment already has one for the same cause (laws of money, 13)."""
        refused = self.is_untold and any(
            event.state is EventState.REFUSED for event in aggregate.events
        )  # which is a problem of its own
        if not (refused or has_mismatch(aggregate.payment) or has_problem(aggregate.payment, self.cause)):
            raise_problem(aggregate, self.issue, self.now, cause=self.cause)


@dataclass(frozen=True, slots=True)
class DifferenceEnded(Fact[None]):
    """A payment and the books agree again."""

    cause: Cause
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Clear the problem."""
        clear_problem(aggregate.payment, self.cause, self.now)
