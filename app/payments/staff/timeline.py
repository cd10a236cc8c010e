"""The timeline of a payment, from its operations, events and notifications: what happened. Pure.

It holds what staff need to follow the money, and nothing of the shopper: no name, address or phone number, and of a
card no more than its mask.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

from app.db.aggregates import PaymentAggregate
from app.db.inbox import StoredNotification as Notified
from app.db.tables import EventState, Flow, Kind, Operation, Payment, SaleorEvent, State
from app.gateway.errors import UnreadableNotificationError
from app.gateway.notification import read_data
from app.i18n.messages import (
    Joined,
    LazyMessage,
    Money,
    StoredMessage,
    Verbatim,
    gettext_noop,
)
from app.payments.core.details import Details, wallet_name
from app.payments.core.labels import ENDS, NAMES, PAYOUT, RESERVATION, STATES
from app.payments.core.mapper import Observation
from app.payments.core.observation import seen_in
from app.payments.split.standing import is_split

Fact: TypeAlias = str | int | Decimal | datetime | dict[str, Any] | None
Facts: TypeAlias = dict[str, Fact]


class Who(StrEnum):
    """Who did it."""

    SALEOR = gettext_noop("Saleor")
    APP = gettext_noop("app")
    GATEWAY = gettext_noop("gateway")
    STAFF = gettext_noop("staff")


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
    words: LazyMessage
    tone: Tone = Tone.NEUTRAL
    facts: Facts = field(default_factory=dict)

    @property
    def is_routine(self) -> bool:
        """Whether nobody has to know of it while all goes well: the outcome that follows says it too."""
        return self.tone is Tone.NEUTRAL and self.what in _ROUTINE

    @property
    def trace_id(self) -> str | None:
        """The id by which the log lines of it are found."""
        return str(found) if (found := self.facts.get("trace_id")) else None


_ROUTINE = {"asked", "looked_up", "notified", "details", "reported"}


_DONE_BY_OTHERS = {Kind.DISPUTE, Kind.RECURRING}
_ASKED = {
    Kind.CREATE: gettext_noop("for a payment page"),
    Kind.CAPTURE: gettext_noop("to charge %(sum)s of the reservation"),
    Kind.VOID: gettext_noop("to release the reservation of %(sum)s"),
    Kind.REFUND: gettext_noop("to refund %(sum)s"),
    Kind.CANCEL: gettext_noop("to close the payment page"),
}
_CREATIONS = {Flow.AUTHORIZATION: RESERVATION, Flow.PAYOUT: PAYOUT}
_TONES = {State.SUCCESS: Tone.GOOD, State.FAILURE: Tone.BAD}


def timeline(
    aggregate: PaymentAggregate, notifications: Sequence[Notified], names: Mapping[str, str] | None = None
) -> list[Entry]:
    """Return what happened, oldest first. ``names`` is what people call the sub-merchants of a split payment."""
    said = [(row, _seen(row)) for row in notifications]
    notified = [(row.received_at, seen) for row, seen in said if seen is not None]
    entries = [_begun(aggregate)]
    for operation in aggregate.operations:
        entries += _of_operation(aggregate, operation, notified, names or {})
    entries += [_of_notification(row, seen, aggregate.payment.flow) for row, seen in said]
    entries += [_of_event(each, aggregate.payment.currency) for each in aggregate.events]
    if aggregate.payment.erased_at is not None:
        entries.append(_erased(aggregate.payment.erased_at))
    return sorted(entries, key=lambda entry: entry.at)


def _erased(at: datetime) -> Entry:
    words = LazyMessage("erases what it kept of the shopper, as it is kept no longer; what moved money stays")
    return Entry(at, Who.APP, "erased", words)


def _begun(aggregate: PaymentAggregate) -> Entry:
    payment = aggregate.payment
    if payment.flow is Flow.PAYOUT:
        words = LazyMessage("wants %(sum)s paid out to a card", sum=Money(payment.amount, payment.currency))
        told: Facts = {"flow": payment.flow.value, "amount": payment.amount}
        return Entry(payment.created_at, Who.STAFF, "payout_asked", words, facts=told)
    how = LazyMessage("taken at once") if payment.flow is Flow.CHARGE else LazyMessage("reserved first")
    sum_, number = Money(payment.amount, payment.currency), payment.order_number
    words = LazyMessage("asks for a payment: %(sum)s, %(how)s", sum=sum_, how=how)
    if number:
        words = LazyMessage(
            "asks for a payment of order %(number)s: %(sum)s, %(how)s", number=number, sum=sum_, how=how
        )
    if payment.trial:
        words = LazyMessage("tries the account out with a payment: %(sum)s, %(how)s", sum=sum_, how=how)
    who = Who.STAFF if payment.trial else Who.SALEOR
    facts: Facts = {"flow": payment.flow.value, "amount": payment.amount}
    return Entry(payment.created_at, who, "payment_asked", words, facts=facts)


def name_of(kind: Kind, flow: Flow) -> LazyMessage:
    """Return what people call an operation of a payment that was made for ``flow``."""
    return _CREATIONS.get(flow, NAMES[kind]) if kind is Kind.CREATE else NAMES[kind]


def _with_shares(
    words: LazyMessage, aggregate: PaymentAggregate, operation: Operation, names: Mapping[str, str]
) -> LazyMessage:
    """Say with it whose money an operation of a split payment moves."""
    shares = aggregate.shares_of(operation)
    if shares:
        each = (
            LazyMessage("%(amount)s of %(who)s", amount=amount, who=names.get(who, who))
            for who, amount in shares.items()
        )
        return LazyMessage("%(what)s (%(shares)s)", what=words, shares=Joined(tuple(each)))
    others = operation.idempotency_key.startswith("gateway:")
    if others and is_split(aggregate) and operation.kind in {Kind.CAPTURE, Kind.REFUND}:
        return LazyMessage(
            "%(what)s; nobody tells whose money it was, so it is assumed to be everybody's, in proportion", what=words
        )
    return words


def _what_was_asked(payment: Payment, operation: Operation) -> LazyMessage:
    if operation.kind is Kind.CREATE and payment.flow is Flow.PAYOUT:
        return LazyMessage("to pay %(sum)s out to a card", sum=Money(operation.amount, operation.currency))
    if operation.kind is Kind.CREATE and payment.saved_card_mask is not None:
        return LazyMessage("for a payment with a saved card (%(card)s)", card=f"****{payment.saved_card_mask[-4:]}")
    if operation.kind is Kind.CREATE and (wallet := wallet_name(payment.wallet)) is not None:
        return LazyMessage("for a payment with %(wallet)s", wallet=wallet)
    return LazyMessage(_ASKED[operation.kind], sum=Money(operation.amount, operation.currency))


def _what_was_seen(operation: Operation, name: LazyMessage) -> LazyMessage:
    sum_ = Money(operation.amount, operation.currency)
    match operation.kind:
        case Kind.DISPUTE:
            return LazyMessage("shows that the payer disputes %(sum)s", sum=sum_)
        case Kind.RECURRING:
            return LazyMessage("charges %(sum)s for the subscription", sum=sum_)
        case _:
            return LazyMessage("shows a %(what)s of %(sum)s that others asked for", what=name, sum=sum_)


def _of_operation(
    aggregate: PaymentAggregate,
    operation: Operation,
    notified: Sequence[tuple[datetime, Observation]],
    names: Mapping[str, str],
) -> Iterator[Entry]:
    name = name_of(operation.kind, aggregate.payment.flow)
    facts: Facts = {
        "kind": operation.kind.value,
        "amount": operation.amount,
        "psp_reference": operation.psp_reference,
        "operation_id": operation.operation_id,
        "trace_id": operation.trace_id,
    }

    def entry(at: datetime, who: Who, what: str, words: LazyMessage, tone: Tone = Tone.NEUTRAL, **more: Fact) -> Entry:
        return Entry(at, who, what, words, tone, {**facts, **more})

    begun = operation.created_at
    if operation.idempotency_key.startswith("gateway:") or operation.kind in _DONE_BY_OTHERS:
        words = _what_was_seen(operation, name)
        yield entry(begun, Who.GATEWAY, "seen", _with_shares(words, aggregate, operation, names))
    else:
        asked = _what_was_asked(aggregate.payment, operation)
        if operation.asked_by_saleor and operation.kind is not Kind.CREATE:
            yield entry(begun, Who.SALEOR, "requested", _for(operation, LazyMessage("asks %(what)s", what=asked)))
        if operation.asked_by is not None:
            words = LazyMessage("asks in the app %(what)s (%(by)s)", what=asked, by=operation.asked_by)
            yield entry(begun, Who.STAFF, "requested", _for(operation, words), by=operation.asked_by)
        if operation.state is State.WAITING:
            words = LazyMessage("lets it wait until the operation before it is settled")
            yield entry(begun, Who.APP, "postponed", words, Tone.OPEN)
        else:
            words = LazyMessage("asks the gateway %(what)s", what=asked)
            yield entry(begun, Who.APP, "asked", _with_shares(words, aggregate, operation, names))
    if operation.polled_at is not None:
        words = LazyMessage("has looked the %(what)s up %(times)s times until now", what=name, times=operation.polls)
        if operation.polls == 1:
            words = LazyMessage("has looked the %(what)s up once until now", what=name)
        yield entry(operation.polled_at, Who.APP, "looked_up", words, polls=operation.polls)
    if operation.decision is not None:
        yield _decided(operation.decision, name, operation.currency)
    elif operation.state not in {State.WAITING, State.INTENT}:
        who, what, words = _outcome(operation, name, notified)
        tone = _TONES.get(operation.state, Tone.OPEN)
        more: Facts = {"state": operation.state.value, "status_code": operation.status_code}
        yield entry(operation.updated_at, who, what, words, tone, **more)
    if operation.details:
        lines = Details.kept(operation.details).lines()
        told = tuple(LazyMessage("%(name)s %(value)s", name=label, value=value) for label, value in lines)
        words = LazyMessage("also says of the %(what)s: %(told)s", what=name, told=Joined(told, by="; "))
        yield entry(operation.updated_at, Who.GATEWAY, "details", words, details=operation.details)


def _decided(decision: dict[str, Any], name: LazyMessage, currency: str) -> Entry:
    by, reason, state = str(decision["by"]), str(decision["reason"]), State(str(decision["state"]))
    amount = Decimal(str(decision["amount"]))
    return Entry(
        datetime.fromisoformat(str(decision["at"])),
        Who.STAFF,
        "settled",
        LazyMessage(
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


def _outcome(
    operation: Operation, name: LazyMessage, notified: Sequence[tuple[datetime, Observation]]
) -> tuple[Who, str, LazyMessage]:
    """Return whose word the last known state is, and the words; a notification that said it first is not repeated."""
    state = STATES[operation.state]
    if operation.inferred or operation.state is State.UNKNOWN:
        words = LazyMessage("concludes that the %(what)s %(state)s", what=name, state=state)
        return Who.APP, "concluded", _because(words, operation.message)
    if operation.state is State.INIT and operation.kind is Kind.CREATE:
        return Who.GATEWAY, "answered", LazyMessage("opens the payment page")
    if any(
        (seen.kind, STATES[seen.state]) == (operation.kind, state) and at <= operation.updated_at
        for at, seen in notified
    ):
        return Who.APP, "recorded", LazyMessage("records that the %(what)s %(state)s", what=name, state=state)
    words = LazyMessage("answers that the %(what)s %(state)s", what=name, state=state)
    return Who.GATEWAY, "answered", _because(words, operation.message)


def _for(operation: Operation, words: LazyMessage) -> LazyMessage:
    """Return the words with the reason that was given, if there is one."""
    reason = operation.request.get("comment")
    return LazyMessage("%(what)s: “%(reason)s”", what=words, reason=Verbatim(reason)) if reason else words


def _because(words: LazyMessage, why: str | None) -> LazyMessage:
    return LazyMessage("%(what)s: %(why)s", what=words, why=StoredMessage(why)) if why else words


def _seen(row: Notified) -> Observation | None:
    if row.data is None:
        return None
    try:
        return seen_in(read_data(row.data), "en")
    except UnreadableNotificationError:
        return None


def _of_notification(row: Notified, seen: Observation | None, flow: Flow) -> Entry:
    said = LazyMessage("something that no key of ours opens")
    if not row.kept:
        said = LazyMessage("something of which the content is kept no longer")
    if row.data:
        said = LazyMessage("something that is no record of this payment")
    if seen is not None:
        name, sum_ = name_of(seen.kind, flow), Money(seen.amount, seen.currency)
        said = LazyMessage("%(what)s %(state)s, %(sum)s", what=name, state=STATES[seen.state], sum=sum_)
        said = _because(said, seen.message)
    words = LazyMessage("notifies: %(what)s", what=said)
    if row.deliveries > 1:
        words = LazyMessage("notifies (%(times)s times): %(what)s", times=row.deliveries, what=said)
    if not row.processed_at:
        words = LazyMessage("%(what)s; not worked on yet", what=words)
        if row.outcome:
            words = LazyMessage("%(what)s (%(why)s)", what=words, why=Verbatim(row.outcome))
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
        told.append(Verbatim(f"“{event.message}”"))
    outcome, tone = _what_saleor_said(event)
    if event.attempts > 1:
        outcome = LazyMessage("%(what)s after %(times)s attempts", what=outcome, times=event.attempts)
    return Entry(
        event.created_at,
        Who.APP,
        "reported",
        LazyMessage("tells Saleor %(what)s: %(outcome)s", what=Joined(tuple(told), by=" "), outcome=outcome),
        tone,
        {
            "type": event.type,
            "amount": event.amount,
            "psp_reference": event.psp_reference,
            "state": event.state.value,
            "attempts": event.attempts,
            "delivered_at": event.delivered_at,
            "last_error": event.last_error,
            "trace_id": event.trace_id,
        },
    )


def _what_saleor_said(event: SaleorEvent) -> tuple[LazyMessage, Tone]:
    error = Verbatim(event.last_error or "")
    match event.state:
        case EventState.DELIVERED if event.delivered_at:
            return LazyMessage("delivered at %(time)s", time=f"{event.delivered_at:%H:%M:%S}"), Tone.NEUTRAL
        case EventState.DELIVERED:
            return LazyMessage("delivered"), Tone.NEUTRAL
        case EventState.REFUSED:
            return LazyMessage("Saleor refused it for good (%(error)s)", error=error), Tone.BAD
        case EventState.SUPERSEDED:
            return LazyMessage("not needed any more"), Tone.NEUTRAL
        case _ if error:
            return LazyMessage("not delivered yet (%(error)s)", error=error), Tone.OPEN
        case _:
            return LazyMessage("not delivered yet"), Tone.OPEN
