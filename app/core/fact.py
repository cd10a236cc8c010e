"""What can happen to a payment, as data.

The store records a fact: it locks the payment, lets the fact decide what follows, and commits that. Several facts may
share a transaction, and a fact may decide again, about the payment as it is then, when a transaction failed. So
``decide`` uses only what it is given and what the fact holds: no clock, no log, no input or output. What was refused is
raised before anything is changed.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

from app.core.payment import PaymentAggregate

R_co = TypeVar("R_co", covariant=True)


class Fact(ABC, Generic[R_co]):
    """What has happened to a payment, or is requested of it."""

    __slots__ = ()

    @abstractmethod
    def decide(self, aggregate: PaymentAggregate) -> R_co:
        """Change the payment as follows from the fact, and return what the one who records it must know."""


class AttemptFact(ABC, Generic[R_co]):
    """What has happened to one of several attempts to pay the same."""

    __slots__ = ()

    @abstractmethod
    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> R_co:
        """Do the same as a ``Fact``; it may change all attempts, oldest first, of which ``aggregate`` is one."""


class PayoutFact(ABC):
    """A payout is about to begin; its account is locked. ``since``: from when on earlier payouts count."""

    __slots__ = ()

    since: datetime

    @abstractmethod
    def decide(self, account: Any, paid_out: Decimal) -> Exception | None:
        """Return why it must not begin, after the account has paid out so much ``since`` then; or None."""
