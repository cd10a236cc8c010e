"""The timeline of a payment, from its sheet and its notifications: what happened. Pure.

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
from app.ledger.inbox import Kept as Notified
from app.ledger.sheets import Sheet
from app.ledger.tables import EventState, Flow, Kind, Operation, SaleorEvent, State
from app.payments.outcome.mapper import Seen
from app.payments.outcome.particulars import Particulars
from app.payments.outcome.seen import seen_in
from app.payments.said import Kept, Listed, Money, Quoted, Said, marked
from app.payments.show.names import ENDS, NAMES, RESERVATION, STATES
from app.payments.split.standing import is_split

Fact: TypeAlias = str | int | Decimal | datetime | dict[str, Any] | None
Facts: TypeAlias = dict[str, Fact]


class Who(StrEnum):
    """Who did it."""

    SALEOR = marked("Saleor")
    APP = marked("app")
    GATEWAY = marked("gateway")
    STAFF = marked("staff")


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
    words: Said
    tone: Tone = Tone.NEUTRAL
    facts: Facts = field(default_factory=dict)


_ASKED = {
    Kind.CREATE: marked("for a payment page"),
    Kind.CAPTURE: marked("to charge %(sum)s of the reservation"),
    Kind.VOID: marked("to release the reservation of %(sum)s"),
    Kind.REFUND: marked("to refund %(sum)s"),
    Kind.CANCEL: marked("to close the payment page"),
}
_TONES = {State.SUCCESS: Tone.GOOD, State.FAILURE: Tone.BAD}


def timeline(sheet: Sheet, notifications: Sequence[Notified], names: Mapping[str, str] | None = None) -> list[Entry]:
    """Return what happened, oldest first. ``names`` is what people call the sub-merchants of a split payment."""
    said = [(row, _seen(row)) for row in notifications]
    notified = [(row.received_at, seen) for row, seen in said if seen is not None]
    entries = [_begun(sheet)]
    for operation in sheet.operations:
        entries += _of_operation(sheet, operation, notified, names or {})
    entries += [_of_notification(row, seen, sheet.payment.flow) for row, seen in said]
    entries += [_of_event(each, sheet.payment.currency) for each in sheet.events]
    return sorted(entries, key=lambda entry: entry.at)


def _begun(sheet: Sheet) -> Entry:
    payment = sheet.payment
    how = Said("taken at once") if payment.flow is Flow.CHARGE else Said("reserved first")
    sum_, number = Money(payment.amount, payment.currency), payment.order_number
    words = Said("asks for a payment: %(sum)s, %(how)s", sum=sum_, how=how)
    if number:
        words = Said("asks for a payment of order %(number)s: %(sum)s, %(how)s", number=number, sum=sum_, how=how)
    if payment.trial:
        words = Said("tries the account out with a payment: %(sum)s, %(how)s", sum=sum_, how=how)
    who = Who.STAFF if payment.trial else Who.SALEOR
    facts: Facts = {"flow": payment.flow.value, "amount": payment.amount}
    return Entry(payment.created_at, who, "payment_asked", words, facts=facts)


def name_of(kind: Kind, flow: Flow) -> Said:
    """Return what people call an operation of a payment that was made for ``flow``."""
    return RESERVATION if kind is Kind.CREATE and flow is Flow.AUTHORIZATION else NAMES[kind]


def _with_shares(words: Said, sheet: Sheet, operation: Operation, names: Mapping[str, str]) -> Said:
    """Say with it whose money an operation of a split payment moves."""
    shares = sheet.shares_of(operation)
    if shares:
        each = (Said("%(amount)s of %(who)s", amount=amount, who=names.get(who, who)) for who, amount in shares.items())
        return Said("%(what)s (%(shares)s)", what=words, shares=Listed(tuple(each)))
    others = operation.idempotency_key.startswith("gateway:")
    if others and is_split(sheet) and operation.kind in {Kind.CAPTURE, Kind.REFUND}:
        return Said(
            "%(what)s; nobody tells whose money it was, so it is assumed to be everybody's, in proportion", what=words
        )
    return words


def _of_operation(
    sheet: Sheet, operation: Operation, notified: Sequence[tuple[datetime, Seen]], names: Mapping[str, str]
) -> Iterator[Entry]:
    name, sum_ = name_of(operation.kind, sheet.payment.flow), Money(operation.amount, operation.currency)
    facts: Facts = {
        "kind": operation.kind.value,
        "amount": operation.amount,
        "psp_reference": operation.psp_reference,
        "operation_id": operation.operation_id,
    }

    def entry(at: datetime, who: Who, what: str, words: Said, tone: Tone = Tone.NEUTRAL, **more: Fact) -> Entry:
        return Entry(at, who, what, words, tone, {**facts, **more})

    begun = operation.created_at
    if operation.idempotency_key.startswith("gateway:") or operation.kind is Kind.DISPUTE:
        words = Said("shows a %(what)s of %(sum)s that others asked for", what=name, sum=sum_)
        if operation.kind is Kind.DISPUTE:
            words = Said("shows that the payer disputes %(sum)s", sum=sum_)
        yield entry(begun, Who.GATEWAY, "seen", _with_shares(words, sheet, operation, names))
    else:
        asked = Said(_ASKED[operation.kind], sum=sum_)
        if operation.asked_by_saleor and operation.kind is not Kind.CREATE:
            yield entry(begun, Who.SALEOR, "requested", Said("asks %(what)s", what=asked))
        if operation.asked_by is not None:
            words = Said("asks in the app %(what)s (%(by)s)", what=asked, by=operation.asked_by)
            yield entry(begun, Who.STAFF, "requested", words, by=operation.asked_by)
        if operation.state is State.WAITING:
            words = Said("lets it wait until the operation before it is settled")
            yield entry(begun, Who.APP, "postponed", words, Tone.OPEN)
        else:
            words = Said("asks the gateway %(what)s", what=asked)
            yield entry(begun, Who.APP, "asked", _with_shares(words, sheet, operation, names))
    if operation.looked_at is not None:
        words = Said("has looked the %(what)s up %(times)s times until now", what=name, times=operation.looks)
        if operation.looks == 1:
            words = Said("has looked the %(what)s up once until now", what=name)
        yield entry(operation.looked_at, Who.APP, "looked_up", words, looks=operation.looks)
    if operation.decision is not None:
        yield _decided(operation.decision, name, operation.currency)
    elif operation.state not in {State.WAITING, State.INTENT}:
        who, what, words = _outcome(operation, name, notified)
        tone = _TONES.get(operation.state, Tone.OPEN)
        more: Facts = {"state": operation.state.value, "status_code": operation.status_code}
        yield entry(operation.updated_at, who, what, words, tone, **more)
    if operation.particulars:
        lines = Particulars.kept(operation.particulars).lines()
        told = tuple(Said("%(name)s %(value)s", name=label, value=value) for label, value in lines)
        words = Said("also says of the %(what)s: %(told)s", what=name, told=Listed(told, by="; "))
        yield entry(operation.updated_at, Who.GATEWAY, "particulars", words, particulars=operation.particulars)


def _decided(decision: dict[str, Any], name: Said, currency: str) -> Entry:
    by, reason, state = str(decision["by"]), str(decision["reason"]), State(str(decision["state"]))
    amount = Decimal(str(decision["amount"]))
    return Entry(
        datetime.fromisoformat(str(decision["at"])),
        Who.STAFF,
        "settled",
        Said(
            "settles the %(what)s of %(sum)s as %(state)s, by hand (%(by)s): %(reason)s",
            what=name,
            sum=Money(amount, currency),
            state=ENDS[state],
            by=by,
            reason=reason,
        ),
        _TONES[state],
        {"state": state.value, "amount": amount, "by": by, "reason": reason},
    )


def _outcome(operation: Operation, name: Said, notified: Sequence[tuple[datetime, Seen]]) -> tuple[Who, str, Said]:
    """Return whose word the last known state is, and the words; a notification that said it first is not repeated."""
    state = STATES[operation.state]
    if operation.inferred or operation.state is State.UNKNOWN:
        words = Said("concludes that the %(what)s %(state)s", what=name, state=state)
        return Who.APP, "concluded", _because(words, operation.message)
    if operation.state is State.INIT and operation.kind is Kind.CREATE:
        return Who.GATEWAY, "answered", Said("opens the payment page")
    if any(
        (seen.kind, STATES[seen.state]) == (operation.kind, state) and at <= operation.updated_at
        for at, seen in notified
    ):
        return Who.APP, "recorded", Said("records that the %(what)s %(state)s", what=name, state=state)
    words = Said("answers that the %(what)s %(state)s", what=name, state=state)
    return Who.GATEWAY, "answered", _because(words, operation.message)


def _because(words: Said, why: str | None) -> Said:
    return Said("%(what)s: %(why)s", what=words, why=Kept(why)) if why else words


def _seen(row: Notified) -> Seen | None:
    if row.data is None:
        return None
    try:
        return seen_in(read_data(row.data), "en")
    except UnreadableNotification:
        return None


def _of_notification(row: Notified, seen: Seen | None, flow: Flow) -> Entry:
    said = Said("something that no key of ours opens")
    if row.data:
        said = Said("something that is no record of this payment")
    if seen is not None:
        name, sum_ = name_of(seen.kind, flow), Money(seen.amount, seen.currency)
        said = Said("%(what)s %(state)s, %(sum)s", what=name, state=STATES[seen.state], sum=sum_)
        said = _because(said, seen.message)
    words = Said("notifies: %(what)s", what=said)
    if row.deliveries > 1:
        words = Said("notifies (%(times)s times): %(what)s", times=row.deliveries, what=said)
    if not row.processed_at:
        words = Said("%(what)s; not worked on yet", what=words)
        if row.outcome:
            words = Said("%(what)s (%(why)s)", what=words, why=Quoted(row.outcome))
    return Entry(
        row.received_at,
        Who.GATEWAY,
        "notified",
        words,
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
    told: list[str | Money] = [event.type]
    if event.amount:
        told.append(Money(event.amount, currency))
    if event.message:
        told.append(Quoted(f"“{event.message}”"))
    outcome, tone = _what_saleor_said(event)
    if event.attempts > 1:
        outcome = Said("%(what)s after %(times)s attempts", what=outcome, times=event.attempts)
    return Entry(
        event.created_at,
        Who.APP,
        "reported",
        Said("tells Saleor %(what)s: %(outcome)s", what=Listed(tuple(told), by=" "), outcome=outcome),
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


def _what_saleor_said(event: SaleorEvent) -> tuple[Said, Tone]:
    error = Quoted(event.last_error or "")
    match event.state:
        case EventState.DELIVERED if event.delivered_at:
            return Said("delivered at %(time)s", time=f"{event.delivered_at:%H:%M:%S}"), Tone.NEUTRAL
        case EventState.DELIVERED:
            return Said("delivered"), Tone.NEUTRAL
        case EventState.REFUSED:
            return Said("Saleor refused it for good (%(error)s)", error=error), Tone.BAD
        case EventState.SUPERSEDED:
            return Said("not needed any more"), Tone.NEUTRAL
        case _ if error:
            return Said("not delivered yet (%(error)s)", error=error), Tone.OPEN
        case _:
            return Said("not delivered yet"), Tone.OPEN
