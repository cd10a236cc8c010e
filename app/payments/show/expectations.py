"""What is being waited for with a payment, and until when. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.ledger.inbox import Kept
from app.ledger.sheets import Sheet
from app.ledger.tables import State
from app.payments.said import Said
from app.payments.show.timeline import name_of


@dataclass(frozen=True, slots=True)
class Expected:
    """Something that is waited for: ``until`` is when the app acts next, or when the time is over; None: no time."""

    words: Said
    until: datetime | None = None


def expectations(sheet: Sheet, notifications: Sequence[Kept]) -> list[Expected]:
    """Return what is being waited for, soonest first."""
    return sorted(
        [*_of_the_shopper(sheet), *_of_the_worker(sheet, notifications)],
        key=lambda each: (each.until is None, each.until or sheet.payment.created_at),
    )


def _of_the_shopper(sheet: Sheet) -> Iterator[Expected]:
    create = sheet.create
    if create.state is State.INIT or (create.state is State.PENDING and create.waits_for_shopper):
        yield Expected(Said("the shopper has until then to pay"), sheet.payment.expires_at)


def _of_the_worker(sheet: Sheet, notifications: Sequence[Kept]) -> Iterator[Expected]:
    for operation in sheet.operations:
        name = name_of(operation.kind, sheet.payment.flow)
        if operation.state is State.WAITING:
            words = Said("the %(what)s is sent when the operation before it is settled", what=name)
            yield Expected(words, operation.next_look_at)
        elif operation.next_look_at is not None:
            words = Said("the app looks the %(what)s up, if the gateway does not notify before", what=name)
            yield Expected(words, operation.next_look_at)
    for row in notifications:
        if row.next_attempt_at is not None:
            yield Expected(Said("the app works on a notification of the gateway"), row.next_attempt_at)
    for event in sheet.events:
        if event.next_attempt_at is not None:
            yield Expected(Said("the app tells Saleor %(type)s", type=event.type), event.next_attempt_at)
