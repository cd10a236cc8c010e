"""What is being waited for with a payment, and until when. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.db.aggregates import PaymentAggregate
from app.db.inbox import StoredNotification
from app.db.tables import State
from app.payments.core.messages import LazyMessage
from app.payments.staff.timeline import name_of


@dataclass(frozen=True, slots=True)
class Expected:
    """Something that is waited for: ``until`` is when the app acts next, or when the time is over; None: no time."""

    words: LazyMessage
    until: datetime | None = None


def expectations(aggregate: PaymentAggregate, notifications: Sequence[StoredNotification]) -> list[Expected]:
    """Return what is being waited for, soonest first."""
    return sorted(
        [*_of_the_shopper(aggregate), *_of_the_worker(aggregate, notifications)],
        key=lambda each: (each.until is None, each.until or aggregate.payment.created_at),
    )


def _of_the_shopper(aggregate: PaymentAggregate) -> Iterator[Expected]:
    create = aggregate.create
    if create.state is State.INIT or (create.state is State.PENDING and create.waits_for_shopper):
        yield Expected(LazyMessage("the shopper has until then to pay"), aggregate.payment.expires_at)


def _of_the_worker(aggregate: PaymentAggregate, notifications: Sequence[StoredNotification]) -> Iterator[Expected]:
    for operation in aggregate.operations:
        name = name_of(operation.kind, aggregate.payment.flow)
        if operation.state is State.WAITING:
            words = LazyMessage("the %(what)s is sent when the operation before it is settled", what=name)
            yield Expected(words, operation.next_poll_at)
        elif operation.next_poll_at is not None:
            words = LazyMessage("the app looks the %(what)s up, if the gateway does not notify before", what=name)
            yield Expected(words, operation.next_poll_at)
    for row in notifications:
        if row.next_attempt_at is not None:
            yield Expected(LazyMessage("the app works on a notification of the gateway"), row.next_attempt_at)
    for event in aggregate.events:
        if event.next_attempt_at is not None:
            yield Expected(LazyMessage("the app tells Saleor %(type)s", type=event.type), event.next_attempt_at)
