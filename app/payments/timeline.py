"""The timeline of a payment, from its sheet and its notifications: what happened, and what is being waited for. Pure.

It holds what staff need to follow the money, and nothing of the shopper: no name, address or phone number, and of a
card no more than its mask.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

from app.gateway.errors import UnreadableNotification
from app.gateway.notification import read_data
from app.ledger.inbox import Kept
from app.ledger.sheets import Sheet
from app.ledger.tables import EventState, Flow, Kind, Operation, SaleorEvent, State
from app.payments.mapper import Seen
from app.payments.particulars import Particulars
from app.payments.seen import seen_in
from app.payments.split.standing import is_split

Fact: TypeAlias = str | int | Decimal | datetime | dict[str, Any] | None
Facts: TypeAlias = dict[str, Fact]


class Who(StrEnum):
    """Who did it."""

    SALEOR = "Saleor"
    APP = "app"
    GATEWAY = "gateway"
    STAFF = "staff"


class Tone(StrEnum):
    """How it reads: bad news stands out."""

    NEUTRAL = "neutral"
    GOOD = "good"
    OPEN = "open"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened. ``what`` is its name for scripts, ``facts`` are its details for them."""

    at: datetime
    who: Who
    what: str
    words: str
    tone: Tone = Tone.NEUTRAL
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expected:
    """Something that is waited for: ``until`` is when the app acts next, or when the time is over; None: no time."""

    words: str
    until: datetime | None = None


_ASKED = {
    Kind.CREATE: "for a payment page",
    Kind.CAPTURE: "to charge {sum} of the reservation",
    Kind.VOID: "to release the reservation of {sum}",
    Kind.REFUND: "to refund {sum}",
    Kind.CANCEL: "to close the payment page",
}
_NAMES = {
    Kind.CREATE: "payment",
    Kind.CAPTURE: "charge",
    Kind.VOID: "release",
    Kind.REFUND: "refund",
    Kind.CANCEL: "cancellation",
}
_STATES = {
    State.WAITING: "waits for its turn",
    State.INTENT: "is being asked",
    State.UNKNOWN: "has an unknown outcome",
    State.INIT: "waits for the shopper",
    State.PENDING: "is pending",
    State.SUCCESS: "succeeded",
    State.FAILURE: "failed",
}
_TONES = {State.SUCCESS: Tone.GOOD, State.FAILURE: Tone.BAD}


def timeline(sheet: Sheet, notifications: Sequence[Kept], names: Mapping[str, str] | None = None) -> list[Entry]:
    """Return what happened, oldest first. ``names`` is what people call the sub-merchants of a split payment."""
    said = [(row, _seen(row)) for row in notifications]
    notified = [(row.received_at, seen) for row, seen in said if seen is not None]
    entries = [_begun(sheet)]
    for operation in sheet.operations:
        entries += _of_operation(operation, sheet.payment.flow, notified, _whose(sheet, operation, names or {}))
    entries += [_of_notification(row, seen, sheet.payment.flow) for row, seen in said]
    entries += [_of_event(each, sheet.payment.currency) for each in sheet.events]
    return sorted(entries, key=lambda entry: entry.at)


def expectations(sheet: Sheet, notifications: Sequence[Kept]) -> list[Expected]:
    """Return what is being waited for, soonest first."""
    return sorted(
        [*_of_the_shopper(sheet), *_of_the_worker(sheet, notifications)],
        key=lambda each: (each.until is None, each.until or sheet.payment.created_at),
    )


def _begun(sheet: Sheet) -> Entry:
    payment = sheet.payment
    how = "taken at once" if payment.flow is Flow.CHARGE else "reserved first"
    number = f" of order {payment.order_number}" if payment.order_number else ""
    asks = "tries the account out with a payment" if payment.trial else f"asks for a payment{number}"
    return Entry(
        payment.created_at,
        Who.STAFF if payment.trial else Who.SALEOR,
        "payment_asked",
        f"{asks}: {payment.amount} {payment.currency}, {how}",
        facts={"flow": payment.flow.value, "amount": payment.amount},
    )


def _name(kind: Kind, flow: Flow) -> str:
    return "reservation" if kind is Kind.CREATE and flow is Flow.AUTHORIZATION else _NAMES[kind]


def _whose(sheet: Sheet, operation: Operation, names: Mapping[str, str]) -> str:
    """Return in words whose money an operation of a split payment moves; nothing for others."""
    shares = sheet.shares_of(operation)
    if shares:
        return f" ({', '.join(f'{amount} of {names.get(who, who)}' for who, amount in shares.items())})"
    others = operation.idempotency_key.startswith("gateway:")
    if others and is_split(sheet) and operation.kind in {Kind.CAPTURE, Kind.REFUND}:
        return "; nobody tells whose money it was, so it is assumed to be everybody's, in proportion"
    return ""


def _of_operation(
    operation: Operation, flow: Flow, notified: Sequence[tuple[datetime, Seen]], whose: str
) -> Iterator[Entry]:
    name, sum_ = _name(operation.kind, flow), f"{operation.amount} {operation.currency}"
    asked = _ASKED[operation.kind].format(sum=sum_)
    facts: Facts = {
        "kind": operation.kind.value,
        "amount": operation.amount,
        "psp_reference": operation.psp_reference,
        "operation_id": operation.operation_id,
    }

    def entry(at: datetime, who: Who, what: str, words: str, tone: Tone = Tone.NEUTRAL, **more: Fact) -> Entry:
        return Entry(at, who, what, words, tone, {**facts, **more})

    begun = operation.created_at
    if operation.idempotency_key.startswith("gateway:"):
        yield entry(begun, Who.GATEWAY, "seen", f"shows a {name} of {sum_} that others asked for{whose}")
    else:
        if operation.asked_by_saleor and operation.kind is not Kind.CREATE:
            yield entry(begun, Who.SALEOR, "requested", f"asks {asked}")
        if operation.asked_by is not None:
            words = f"asks in the app {asked} ({operation.asked_by})"
            yield entry(begun, Who.STAFF, "requested", words, by=operation.asked_by)
        if operation.state is State.WAITING:
            words = "lets it wait until the operation before it is settled"
            yield entry(begun, Who.APP, "postponed", words, Tone.OPEN)
        else:
            yield entry(begun, Who.APP, "asked", f"asks the gateway {asked}{whose}")
    if operation.looked_at is not None:
        times = "once" if operation.looks == 1 else f"{operation.looks} times"
        words = f"has looked the {name} up {times} until now"
        yield entry(operation.looked_at, Who.APP, "looked_up", words, looks=operation.looks)
    if operation.decision is not None:
        yield _decided(operation.decision, name, operation.currency)
    elif operation.state not in {State.WAITING, State.INTENT}:
        who, what, words = _outcome(operation, name, notified)
        tone = _TONES.get(operation.state, Tone.OPEN)
        more: Facts = {"state": operation.state.value, "status_code": operation.status_code}
        yield entry(operation.updated_at, who, what, words, tone, **more)
    if operation.particulars:
        told = "; ".join(f"{label} {text}" for label, text in Particulars.kept(operation.particulars).lines())
        words = f"also says of the {name}: {told}"
        yield entry(operation.updated_at, Who.GATEWAY, "particulars", words, particulars=operation.particulars)


def _decided(decision: dict[str, Any], name: str, currency: str) -> Entry:
    by, reason, state = str(decision["by"]), str(decision["reason"]), str(decision["state"])
    sum_ = f"{decision['amount']} {currency}"
    return Entry(
        datetime.fromisoformat(str(decision["at"])),
        Who.STAFF,
        "settled",
        f"settles the {name} of {sum_} as {state}, by hand ({by}): {reason}",
        _TONES[State(state)],
        {"state": state, "amount": Decimal(str(decision["amount"])), "by": by, "reason": reason},
    )


def _outcome(operation: Operation, name: str, notified: Sequence[tuple[datetime, Seen]]) -> tuple[Who, str, str]:
    """Return whose word the last known state is, and the words; a notification that said it first is not repeated."""
    said = f": {operation.message}" if operation.message else ""
    if operation.inferred or operation.state is State.UNKNOWN:
        return Who.APP, "concluded", f"concludes that the {name} {_STATES[operation.state]}{said}"
    if operation.state is State.INIT and operation.kind is Kind.CREATE:
        return Who.GATEWAY, "answered", "opens the payment page"
    if any(
        (seen.kind, _STATES[seen.state]) == (operation.kind, _STATES[operation.state]) and at <= operation.updated_at
        for at, seen in notified
    ):
        return Who.APP, "recorded", f"records that the {name} {_STATES[operation.state]}"
    return Who.GATEWAY, "answered", f"answers that the {name} {_STATES[operation.state]}{said}"


def _seen(row: Kept) -> Seen | None:
    if row.data is None:
        return None
    try:
        return seen_in(read_data(row.data), "en")
    except UnreadableNotification:
        return None


def _of_notification(row: Kept, seen: Seen | None, flow: Flow) -> Entry:
    said = "something that is no record of this payment" if row.data else "something that no key of ours opens"
    if seen is not None:
        said = f"{_name(seen.kind, flow)} {_STATES[seen.state]}, {seen.amount} {seen.currency}"
        said += f": {seen.message}" if seen.message else ""
    again = f" ({row.deliveries} times)" if row.deliveries > 1 else ""
    done = "" if row.processed_at else f"; not worked on yet{f' ({row.outcome})' if row.outcome else ''}"
    return Entry(
        row.received_at,
        Who.GATEWAY,
        "notified",
        f"notifies{again}: {said}{done}",
        Tone.NEUTRAL if row.processed_at else Tone.OPEN,
        {
            "deliveries": row.deliveries,
            "state": seen.state.value if seen else None,
            "status_code": seen.status_code if seen else None,
            "outcome": row.outcome,
            "attempts": row.attempts,
        },
    )


def _of_event(event: SaleorEvent, currency: str) -> Entry:
    tone = Tone.NEUTRAL
    match event.state:
        case EventState.DELIVERED:
            when = f" at {event.delivered_at:%H:%M:%S}" if event.delivered_at else ""
            outcome = f"delivered{when}"
        case EventState.REFUSED:
            outcome, tone = f"Saleor refused it for good ({event.last_error})", Tone.BAD
        case EventState.SUPERSEDED:
            outcome = "not needed any more"
        case _:
            tone = Tone.OPEN
            outcome = f"not delivered yet ({event.last_error})" if event.last_error else "not delivered yet"
    tries = f" after {event.attempts} attempts" if event.attempts > 1 else ""
    said = f" “{event.message}”" if event.message else ""
    sum_ = f" {event.amount} {currency}" if event.amount else ""
    return Entry(
        event.created_at,
        Who.APP,
        "reported",
        f"tells Saleor {event.type}{sum_}{said}: {outcome}{tries}",
        tone,
        {
            "type": event.type,
            "amount": event.amount,
            "psp_reference": event.psp_reference,
            "state": event.state.value,
            "attempts": event.attempts,
            "delivered_at": event.delivered_at,
            "last_error": event.last_error,
        },
    )


def _of_the_shopper(sheet: Sheet) -> Iterator[Expected]:
    create = sheet.create
    if create.state is State.INIT or (create.state is State.PENDING and create.waits_for_shopper):
        yield Expected("the shopper has until then to pay", sheet.payment.expires_at)


def _of_the_worker(sheet: Sheet, notifications: Sequence[Kept]) -> Iterator[Expected]:
    for operation in sheet.operations:
        name = _name(operation.kind, sheet.payment.flow)
        if operation.state is State.WAITING:
            yield Expected(f"the {name} is sent when the operation before it is settled", operation.next_look_at)
        elif operation.next_look_at is not None:
            yield Expected(
                f"the app looks the {name} up, if the gateway does not notify before", operation.next_look_at
            )
    for row in notifications:
        if row.next_attempt_at is not None:
            yield Expected("the app works on a notification of the gateway", row.next_attempt_at)
    for event in sheet.events:
        if event.next_attempt_at is not None:
            yield Expected(f"the app tells Saleor {event.type}", event.next_attempt_at)
