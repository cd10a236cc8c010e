"""What follows from the choice of staff from whom the next refund of a split payment is taken. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.core.fact import Fact
from app.core.payment import PaymentAggregate
from app.rules.split.choice import choose_next_refund_split, clear_choice
from app.rules.split.rules import names_of


@dataclass(frozen=True, slots=True)
class RefundSplitChosen(Fact[PaymentAggregate]):
    """Staff choose from which sub-merchant how much is taken; None leaves it to the rules. Returns the payment.

    ``decide`` raises RefusalError.
    """

    taken_from: Mapping[str, Decimal] | None
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> PaymentAggregate:
        """Store the choice for the next refund, which uses it up."""
        if self.taken_from is None:
            clear_choice(aggregate, self.now)
        else:
            names = names_of(aggregate.payment.account.split_rules)
            choose_next_refund_split(aggregate, self.taken_from, self.now, names)
        return aggregate
