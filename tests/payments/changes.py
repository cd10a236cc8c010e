"""Changes of payments that no fact makes: to bring one into a state, or to see what is stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.core.fact import AttemptFact, Fact
from app.core.payment import PaymentAggregate

R = TypeVar("R")


@dataclass(frozen=True)
class Change(Fact[R]):
    """A change by a function."""

    step: Callable[[PaymentAggregate], R]

    def decide(self, aggregate: PaymentAggregate) -> R:
        """Call the function."""
        return self.step(aggregate)


@dataclass(frozen=True)
class AttemptChange(AttemptFact[R]):
    """A change of attempts to pay the same, by a function."""

    step: Callable[[PaymentAggregate, Sequence[PaymentAggregate]], R]

    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> R:
        """Call the function."""
        return self.step(aggregate, attempts)
