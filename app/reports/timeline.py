"""The timeline of a payment, from its operations, events and notifications. Pure.

It contains what staff need to follow the money, and no data of the shopper: no name, address or phone number, and of a
card no more than its mask.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

from app.core.notification import StoredNotification
from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, Origin, State
from app.i18n.messages import Joined, LazyMessage, Money, StoredMessage, Verbatim, gettext_noop
from app.reports.descriptions import (
    DONE_BY_OTHERS,
    describe_external,
    describe_operation,
    describe_request,
    event_name,
    operation_name,
    with_reason,
    with_shares,
)
from app.rules.decisions.notification import outcome_message
from app.rules.details import Details
from app.rules.labels import ENDS, STATES
from app.rules.mapper import Observation
from app.rules.observation import observation_from_record
from gateway_client.errors import UnreadableNotificationError
from gateway_client.notification import read_data

EntryValue: TypeAlias = str | int | Decimal | datetime | dict[str, Any] | None
Facts: TypeAlias = dict[str, EntryValue]


class Actor(StrEnum):
    """Who performed the action of an entry."""

    SALEOR = gettext_noop("Saleor")
    APP = gettext_noop("app")
    GATEWAY = gettext_noop("gateway")
    STAFF = gettext_noop("staff")


class Tone(StrEnum):
    """How an entry is displayed: bad news stands out."""

    NEUTRAL = "neutral"
    GOOD = "good"
    OPEN = "open"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of the timeline. ``what`` is its name for scripts, ``facts`` are its details for them."""

    at: datetime
    who: Actor
    what: str
    words: LazyMessage
    tone: Tone = Tone.NEUTRAL
    facts: Facts = field(default_factory=dict)
    outcome_follows: bool = False

    @property
    def is_routine(self) -> bool:
        """Whether the entry can be left out while all goes well: the outcome that follows states it too."""
        return self.tone is Tone.NEUTRAL and (self.outcome_follows or self.what in _ROUTINE)

    @property
    def trace_id(self) -> str | None:
        """The id by which its log lines are found."""
        return str(found) if (found := self.facts.get("trace_id")) else None


_ROUTINE = {"asked", "looked_up", "notified", "details", "reported"}
_TONES = {State.SUCCESS: Tone.GOOD, State.FAILURE: Tone.BAD}


def timeline(
    aggregate: PaymentAggregate, notifications: Sequence[StoredNotification], names: Mapping[str, str] | None = None
) -> list[Entry]:
    """Return the entries, oldest first. ``names`` are the display names of a split payment's sub-merchants."""
    observations = [(row, _read_observation(row)) for row in notifications]
    notified = [(row.received_at, seen) for row, seen in observations if seen is not None]
    entries = [_creation_entry(aggregate)]
    for operation in aggregate.operations:
        entries += _operation_entries(aggregate, operation, notified, names or {})
    entries += [_notification_entry(row, seen, aggregate.payment.flow) for row, seen in observations]
    entries += [_event_entry(event, aggregate.payment.currency) for event in aggregate.events]
    if aggregate.payment.erased_at is not None:
        entries.append(_erasure_entry(aggregate.payment.erased_at))
    return sorted(entries, key=lambda entry: entry.at)


def _erasure_entry(at: datetime) -> Entry:
    message = LazyMessage("erases the shopper's data, which is no longer kept; what moved money stays")
    return Entry(at, Actor.APP, "erased", message)


def _creation_entry(aggregate: PaymentAggregate) -> Entry:
    payment = aggregate.payment
    facts: Facts = {"flow": payment.flow.value, "amount": payment.amount}
    if payment.flow is Flow.PAYOUT:
        message = LazyMessage("requests a payout of %(sum)s to a card", sum=Money(payment.amount, payment.currency))
        return Entry(payment.created_at, Actor.STAFF, "payout_asked", message, facts=facts)
    how = LazyMessage("charged immediately") if payment.flow is Flow.CHARGE else LazyMessage("authorized first")
    sum_, number = Money(payment.amount, payment.currency), payment.order_number
    message = LazyMessage("requests a payment: %(sum)s, %(how)s", sum=sum_, how=how)
    if number:
        message = LazyMessage(
            "requests a payment for order %(number)s: %(sum)s, %(how)s", number=number, sum=sum_, how=how
        )
    if payment.trial:
        message = LazyMessage("tests the account with a payment: %(sum)s, %(how)s", sum=sum_, how=how)
    who = Actor.STAFF if payment.trial else Actor.SALEOR
    return Entry(payment.created_at, who, "payment_asked", message, facts=facts)


def _operation_entries(
    aggregate: PaymentAggregate,
    operation: Operation,
    notified: Sequence[tuple[datetime, Observation]],
    names: Mapping[str, str],
) -> Iterator[Entry]:
    name = operation_name(operation.kind, aggregate.payment.flow)
    facts: Facts = {
        "kind": operation.kind.value,
        "amount": operation.amount,
        "psp_reference": operation.psp_reference,
        "operation_id": operation.operation_id,
        "trace_id": operation.trace_id,
    }

    def entry(
        at: datetime, who: Actor, what: str, message: LazyMessage, tone: Tone = Tone.NEUTRAL, **more: EntryValue
    ) -> Entry:
        outcome_follows = has_outcome and what in {"seen", "requested"}
        return Entry(at, who, what, message, tone, {**facts, **more}, outcome_follows)

    has_outcome = operation.decision is not None or operation.state not in {State.WAITING, State.INTENT}
    begun = operation.created_at
    if operation.requester is Origin.GATEWAY or operation.kind in DONE_BY_OTHERS:
        message = describe_external(operation, name)
        yield entry(begun, Actor.GATEWAY, "seen", with_shares(message, aggregate, operation, names))
    else:
        requested = describe_request(aggregate.payment, operation)
        if operation.requester is Origin.SALEOR and operation.kind is not Kind.CREATE:
            yield entry(
                begun, Actor.SALEOR, "requested", with_reason(operation, LazyMessage("asks %(what)s", what=requested))
            )
        if operation.asked_by is not None:
            message = LazyMessage("asks in the app %(what)s (%(by)s)", what=requested, by=operation.asked_by)
            yield entry(begun, Actor.STAFF, "requested", with_reason(operation, message), by=operation.asked_by)
        if operation.state is State.WAITING:
            message = LazyMessage("lets it wait until the operation before it has ended")
            yield entry(begun, Actor.APP, "postponed", message, Tone.OPEN)
        else:
            message = LazyMessage("asks the gateway %(what)s", what=requested)
            yield entry(begun, Actor.APP, "asked", with_shares(message, aggregate, operation, names))
    if operation.polled_at is not None:
        message = LazyMessage("has looked up the %(what)s %(times)s times so far", what=name, times=operation.polls)
        if operation.polls == 1:
            message = LazyMessage("has looked up the %(what)s once so far", what=name)
        yield entry(operation.polled_at, Actor.APP, "looked_up", message, polls=operation.polls)
    if operation.decision is not None:
        yield _decision_entry(operation.decision, name, operation.currency)
    elif has_outcome:
        who, what, message = _outcome(operation, describe_operation(operation, name), notified)
        tone = _TONES.get(operation.state, Tone.OPEN)
        more: Facts = {"state": operation.state.value, "status_code": operation.status_code}
        yield entry(operation.updated_at, who, what, message, tone, **more)
    lines = Details.from_row(operation.details).lines()
    details = tuple(LazyMessage("%(name)s %(value)s", name=label, value=value) for label, value in lines)
    if details:
        message = LazyMessage("also reports for the %(what)s: %(told)s", what=name, told=Joined(details, by="; "))
        yield entry(operation.updated_at, Actor.GATEWAY, "details", message, details=operation.details)


def _decision_entry(decision: dict[str, Any], name: LazyMessage, currency: str) -> Entry:
    by, reason, state = str(decision["by"]), str(decision["reason"]), State(str(decision["state"]))
    amount = Decimal(str(decision["amount"]))
    return Entry(
        datetime.fromisoformat(str(decision["at"])),
        Actor.STAFF,
        "settled",
        LazyMessage(
            "settles the %(what)s of %(sum)s by hand as %(state)s (%(by)s): %(reason)s",
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
) -> tuple[Actor, str, LazyMessage]:
    """Return the actor, name and text of the last known state; an earlier notification of it is not repeated."""
    state = STATES[operation.state]
    if operation.inferred or operation.state is State.UNKNOWN:
        message = LazyMessage("concludes that the %(what)s %(state)s", what=name, state=state)
        return Actor.APP, "concluded", _with_cause(message, operation.message)
    if operation.state is State.INIT and operation.kind is Kind.CREATE:
        return Actor.GATEWAY, "answered", LazyMessage("opens the payment page")
    if any(
        (seen.kind, STATES[seen.state]) == (operation.kind, state) and at <= operation.updated_at
        for at, seen in notified
    ):
        return Actor.APP, "recorded", LazyMessage("records that the %(what)s %(state)s", what=name, state=state)
    message = LazyMessage("responds that the %(what)s %(state)s", what=name, state=state)
    return Actor.GATEWAY, "answered", _with_cause(message, operation.message)


def _with_cause(message: LazyMessage, why: str | None) -> LazyMessage:
    return LazyMessage("%(what)s: %(why)s", what=message, why=StoredMessage(why)) if why else message


def _read_observation(row: StoredNotification) -> Observation | None:
    if row.data is None:
        return None
    try:
        return observation_from_record(read_data(row.data), "en")
    except UnreadableNotificationError:
        return None


def _notification_entry(row: StoredNotification, seen: Observation | None, flow: Flow) -> Entry:
    content = LazyMessage("something that none of our keys can decrypt")
    if not row.retained:
        content = LazyMessage("something whose content is no longer stored")
    if row.data:
        content = LazyMessage("something that is not a record of this order")
    if seen is not None:
        name, sum_ = operation_name(seen.kind, flow), Money(seen.amount, seen.currency)
        content = LazyMessage("%(what)s %(state)s, %(sum)s", what=name, state=STATES[seen.state], sum=sum_)
        content = _with_cause(content, seen.message)
    message = LazyMessage("notifies: %(what)s", what=content)
    if row.deliveries > 1:
        message = LazyMessage("notifies (%(times)s times): %(what)s", times=row.deliveries, what=content)
    if not row.processed_at:
        message = LazyMessage("%(what)s; not processed yet", what=message)
        if row.outcome:
            message = LazyMessage("%(what)s (%(why)s)", what=message, why=outcome_message(row.outcome))
    return Entry(
        row.received_at,
        Actor.GATEWAY,
        "notified",
        message,
        Tone.NEUTRAL if row.processed_at else Tone.OPEN,
        {
            "deliveries": row.deliveries,
            "state": seen.state.value if seen else None,
            "status_code": seen.status_code if seen else None,
            "outcome": None if row.outcome is None else outcome_message(row.outcome),
            "attempts": row.attempts,
        },
    )


def _event_entry(event: SaleorEvent, currency: str) -> Entry:
    what = event_name(event.type)
    if event.amount:
        what = LazyMessage("%(what)s, %(sum)s", what=what, sum=Money(event.amount, currency))
    outcome, tone = _delivery_status(event)
    if event.attempts > 1:
        outcome = LazyMessage("%(what)s after %(times)s attempts", what=outcome, times=event.attempts)
    return Entry(
        event.created_at,
        Actor.APP,
        "reported",
        LazyMessage("reports to Saleor: %(what)s; %(outcome)s", what=what, outcome=outcome),
        tone,
        {
            "type": event.type,
            "message": event.message,
            "amount": event.amount,
            "psp_reference": event.psp_reference,
            "state": event.state.value,
            "attempts": event.attempts,
            "delivered_at": event.delivered_at,
            "last_error": event.last_error,
            "trace_id": event.trace_id,
        },
    )


def _delivery_status(event: SaleorEvent) -> tuple[LazyMessage, Tone]:
    error = Verbatim(event.last_error or "")
    match event.state:
        case EventState.DELIVERED:
            return LazyMessage("delivered"), Tone.NEUTRAL
        case EventState.REFUSED:
            return LazyMessage("Saleor refused it permanently (%(error)s)", error=error), Tone.BAD
        case EventState.SUPERSEDED:
            return LazyMessage("no longer needed"), Tone.NEUTRAL
        case _ if error:
            return LazyMessage("not delivered yet (%(error)s)", error=error), Tone.OPEN
        case _:
            return LazyMessage("not delivered yet"), Tone.OPEN
