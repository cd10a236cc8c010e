"""A notification of the gateway, and what came of it, as plain objects (laws of money, 6)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.alerts import AlertKind
from app.core.payment import Operation, PaymentAggregate


class OutcomeCode(StrEnum):
    """What came of a notification. It is stored, followed by words of the gateway's or of ours that are codes too."""

    APPLIED = "applied"  # the kind of an operation, its state
    TO_REVIEW = "to-review"  # the same, or the method of a record
    NOTHING_TO_DO = "nothing-to-do"  # the method of a record
    UNMATCHED = "unmatched"
    OF_ANOTHER_SHOP = "of-another-shop"  # as the account says
    UNREADABLE = "unreadable"
    NOT_DECRYPTED = "not-decrypted"
    ERASED = "erased"
    FAILED = "failed"  # the kind of error


UNMATCHED_BEFORE = "no payment of ours has this order"
"""What versions up to 0.2 stored instead of ``UNMATCHED``, which operators ask for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a notification; ``code`` is None for what a version up to 0.2 stored, which is a text."""

    code: OutcomeCode | None
    facts: tuple[str, ...] = ()

    @property
    def stored(self) -> str:
        """How it is stored."""
        return " ".join((self.code, *self.facts) if self.code else self.facts)


def outcome_from(stored: str) -> Outcome:
    """Return the outcome that was stored so."""
    code, *facts = stored.split(" ")
    known = next((member for member in OutcomeCode if member == code), None)
    return Outcome(None, (stored,)) if known is None else Outcome(known, tuple(facts))


@dataclass(frozen=True, slots=True)
class StoredNotification:
    """A notification as it was received. ``data`` is the signed text, ``attempts`` counts the attempts to process it.

    ``data`` is None when the secret key file has no key that opens it or, permanently, when it is no longer
    ``retained``. ``is_of_others``: no payment of ours has its order, and the account says that it is another shop's.
    """

    id: int
    account_id: str
    order_id: str
    data: str | None
    deliveries: int
    attempts: int
    outcome: Outcome | None
    received_at: datetime
    processed_at: datetime | None
    next_attempt_at: datetime | None
    retained: bool = True
    is_of_others: bool = False

    def __repr__(self) -> str:
        return f"<StoredNotification {self.id} order={self.order_id}>"


@dataclass(frozen=True, slots=True)
class ProcessingResult:
    """What came of a notification, and of which payment; ``trouble``: why a person must look at it.

    ``retry_at``: it is not processed yet, and is retried then. ``operation``: the one it reports on, if we have it.
    """

    outcome: Outcome
    trouble: AlertKind | None = None
    retry_at: datetime | None = None
    operation: Operation | None = None
    order_id: str | None = None


class NotificationFact(ABC):
    """A stored notification is processed: data, like a ``Fact``, and decided alike."""

    __slots__ = ()

    @abstractmethod
    def decide(self, notification: StoredNotification, aggregate: PaymentAggregate | None) -> ProcessingResult:
        """Change the payment that has the notification's order, if there is one, as follows from it."""
