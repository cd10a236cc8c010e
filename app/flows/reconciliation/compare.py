"""Compares the entries of an order in the gateway's books with our records of its payment. Pure.

The books of a period show only a part of an order: entries before or after the period are not in them. So each entry
must match a record, but a record must be in the books only if it is of that period. Where the books lag behind the
records there is no difference: states never go back (laws of money, 7).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.flows.reconciliation.entries import Entry, is_repeated_payment
from app.rules.details import Details
from app.rules.mapper import event_type_of
from app.rules.references import as_known
from app.rules.subscription import charge_id_of
from app.store.tables import DiscrepancyKind

_MARGIN = timedelta(hours=1)
_MOVED_NOTHING = (State.INIT, State.FAILURE)
_SECONDARY = (Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.DISPUTE, Kind.RECURRING)


@dataclass(frozen=True, slots=True)
class Period:
    """The period covered by the books. At its ends our clock and the gateway's may not agree."""

    start: datetime
    end: datetime

    def surely_contains(self, moment: datetime) -> bool:
        """Return True when an event at that moment must be in the books."""
        return self.start + _MARGIN <= moment < self.end - _MARGIN


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the books. ``entry``: the gateway's; ``operation``: ours; one of them may be missing.

    ``copies``: the number of equal entries that must exist for this difference to exist.
    """

    kind: DiscrepancyKind
    entry: Entry | None = None
    operation: Operation | None = None
    copies: int = 1

    @property
    def aspect(self) -> str:
        """The aspect that differs: whether Saleor has the entry, who received it, or the entry itself in any way."""
        return self.kind.value if self.kind in {DiscrepancyKind.UNTOLD, DiscrepancyKind.RECEIVER} else "entry"

    def key(self, order_id: str) -> str:
        """Return a stable key, the same whenever and however often this difference is found."""
        if self.entry is None:
            about = ["ours", str(self.operation.id) if self.operation is not None else self.kind.value]
        else:
            about = [self.aspect, repr(sorted(self.entry.without_time.facts().items())), str(self.copies)]
        return hashlib.sha256("\n".join([order_id, *about]).encode()).hexdigest()[:32]

    def facts(self) -> dict[str, Any]:
        """Return the JSON to store."""
        ours = self.operation
        return {
            "gateway": None if self.entry is None else self.entry.facts(),
            "copies": self.copies,
            "ours": None
            if ours is None
            else {
                "operation": ours.id,
                "kind": ours.kind.value,
                "state": ours.state.value,
                "amount": str(ours.amount),
                "currency": ours.currency,
            },
        }


def find_differences(
    aggregate: PaymentAggregate, entries: Sequence[Entry], period: Period | None = None
) -> list[Difference]:
    """Return the differences between ``entries`` and the payment. ``period`` None: do not check for missing entries."""
    paid, subscribed = aggregate.create.operation_id, aggregate.payment.recurring_id is not None
    listed = [entry for number, entry in enumerate(entries) if not is_repeated_payment(entry, entries[:number])]
    named = [replace(entry, payment_id=as_known(aggregate, entry.payment_id)) for entry in listed]
    entries = [_as_subscription_charge(aggregate, entry) for entry in named]
    ours = [
        entry
        for entry in entries
        if paid is None or subscribed or entry.payment_id == paid or _is_turn(aggregate, entry)
    ]
    # A declined card, or a page that was only opened, has moved nothing: whoever paid it and in whatever currency.
    of_others = [entry for entry in entries if entry not in ours and entry.state not in _MOVED_NOTHING]
    in_another = [
        entry for entry in ours if entry.currency != aggregate.payment.currency and entry.state not in _MOVED_NOTHING
    ]
    found = [Difference(DiscrepancyKind.UNKNOWN, entry) for entry in of_others]
    comparable = [entry for entry in ours if entry.currency == aggregate.payment.currency]
    matched: list[tuple[Entry, Operation]] = []
    shown: list[Operation] = []
    for entry in [entry for entry in comparable if entry.kind is Kind.CREATE]:
        what = _payment_difference(aggregate, entry)
        if what is not None:
            found.append(Difference(what, entry, aggregate.create))
        matched.append((entry, aggregate.create))
    for kind in _SECONDARY:
        found += _match_kind(aggregate, [entry for entry in comparable if entry.kind is kind], kind, matched)
    for entry in in_another:
        operation = _operation_in_another_currency(aggregate, entry, [*shown, *(known for _, known in matched)])
        found.append(Difference(DiscrepancyKind.CURRENCY, entry, operation))
        shown += [] if operation is None else [operation]
    differing = [difference.operation for difference in found]
    for entry, operation in matched:
        if entry.state is State.SUCCESS is operation.state and operation not in differing:
            found += _match_differences(aggregate, entry, operation)
    return _number_copies(found, entries) + _missing_from_books(
        aggregate, [*shown, *(operation for _, operation in matched)], period
    )


def _operation_in_another_currency(
    aggregate: PaymentAggregate, entry: Entry, taken: Sequence[Operation]
) -> Operation | None:
    """Return the operation that the books have in another currency; they show it, so it is not missing from them."""
    left = [
        operation
        for operation in aggregate.operations
        if operation.kind is entry.kind
        and operation.state is State.SUCCESS
        and not any(operation is known for known in taken)
        and (entry.kind is Kind.CREATE or _is_same_charge(aggregate, entry, operation))
    ]
    return min(left, key=lambda operation: not _same_amount(entry, operation), default=None)


def _as_subscription_charge(aggregate: PaymentAggregate, entry: Entry) -> Entry:
    """Return a further payment of an order whose payment started a subscription as a later charge of it."""
    if entry.kind is Kind.CREATE and charge_id_of(aggregate, entry.payment_id) is not None:
        return replace(entry, kind=Kind.RECURRING, flow=None)
    return entry


def _is_same_charge(aggregate: PaymentAggregate, entry: Entry, operation: Operation) -> bool:
    """Return whether both belong to the same charge: the payment itself, or one later charge of its subscription."""
    charge_id = operation.operation_id if operation.kind is Kind.RECURRING else operation.charge_id
    return charge_id_of(aggregate, entry.payment_id) == charge_id


def _number_copies(found: Sequence[Difference], entries: Sequence[Entry]) -> list[Difference]:
    """Number the differences of equal entries to tell them apart: no line identifies them."""
    named = [
        (difference.aspect, None if difference.entry is None else difference.entry.without_time) for difference in found
    ]
    present = [entry.without_time for entry in entries]
    agreed = [present.count(entry) - named.count((aspect, entry)) if entry else 0 for aspect, entry in named]
    return [replace(entry, copies=agreed[n] + 1 + named[:n].count(named[n])) for n, entry in enumerate(found)]


def differences_of_unknown_order(entries: Sequence[Entry]) -> list[Difference]:
    """Return the difference of an order that is not a payment of ours: none unless money has moved."""
    moved = [entry for entry in entries if entry.state is State.SUCCESS]
    return [Difference(DiscrepancyKind.UNKNOWN, moved[0])] if moved else []


def _payment_difference(aggregate: PaymentAggregate, entry: Entry) -> DiscrepancyKind | None:
    create = aggregate.create
    if entry.state not in {State.SUCCESS, State.FAILURE}:
        return None  # a pending payment is looked up anyway
    if entry.flow is not aggregate.payment.flow:
        return DiscrepancyKind.STATE
    if not create.state.final or _is_turn(aggregate, entry):
        return DiscrepancyKind.MISSED
    if entry.state is State.FAILURE and _is_taken_back(aggregate, create):
        return None
    if create.state is not entry.state:
        return DiscrepancyKind.STATE
    return None if entry.state is State.FAILURE or _amount_agrees(aggregate, entry, create) else DiscrepancyKind.AMOUNT


def _is_turn(aggregate: PaymentAggregate, entry: Entry) -> bool:
    """Return whether an entry is a success after the payment had failed: another card on the same page, for one."""
    return entry.kind is Kind.CREATE and entry.state is State.SUCCESS and aggregate.create.state is State.FAILURE


def _is_taken_back(aggregate: PaymentAggregate, operation: Operation) -> bool:
    """Return whether staff have settled a charge as failed: the gateway does not show it, nor the chargeback for it."""
    charges = {
        charge.operation_id
        for charge in aggregate.operations
        if charge.kind in {Kind.CREATE, Kind.CAPTURE, Kind.RECURRING}
    }
    return operation.operation_id in charges and any(
        (dispute.kind, dispute.state, dispute.operation_id) == (Kind.DISPUTE, State.SUCCESS, operation.operation_id)
        and dispute.decision is not None
        for dispute in aggregate.operations
    )


def _amount_agrees(aggregate: PaymentAggregate, entry: Entry, operation: Operation) -> bool:
    if operation.amount in entry.amounts:
        return True
    # If the payer has changed the amount, the books may still show the requested one.
    changed = operation.kind is Kind.CREATE and Details.from_row(operation.details).processed is not None
    return changed and aggregate.payment.amount in entry.amounts


def _match_kind(
    aggregate: PaymentAggregate, entries: Sequence[Entry], kind: Kind, matched: list[tuple[Entry, Operation]]
) -> list[Difference]:
    """Match equal ones first, then those that may be the same; whatever remains on either side is a difference."""
    left = [operation for operation in aggregate.operations if operation.kind is kind]
    waiting = sorted(entries, key=lambda entry: (entry.state is State.FAILURE, entry.state is not State.SUCCESS))
    found: list[Difference] = []
    for fits, what in _MATCHING_STEPS:
        for strict in (True, False):  # equal refunds of a split payment may be of different sub-merchants
            for entry in list(waiting):
                operation = next(
                    (
                        operation
                        for operation in left
                        if fits(entry, operation)
                        and _is_same_charge(aggregate, entry, operation)
                        and (not strict or _receivers_agree(entry, operation))
                    ),
                    None,
                )
                if operation is None:
                    continue
                waiting.remove(entry)
                left.remove(operation)
                matched.append((entry, operation))
                if what is not None:
                    found.append(Difference(what, entry, operation))
    # A failure that we have no record of has moved nothing, wherever it was attempted.
    missing = [entry for entry in waiting if entry.state is not State.FAILURE]
    return found + [Difference(DiscrepancyKind.MISSED, entry) for entry in missing]


def _same_amount(entry: Entry, operation: Operation) -> bool:
    return operation.kind is Kind.VOID or operation.amount in entry.amounts


def _agrees(entry: Entry, operation: Operation) -> bool:
    return _same_amount(entry, operation) and entry.state is operation.state and not operation.inferred


def _is_behind(entry: Entry, operation: Operation) -> bool:
    on_its_way = entry.state in {State.INIT, State.PENDING}
    return _same_amount(entry, operation) and on_its_way and operation.state is not State.WAITING


def _is_new_outcome(entry: Entry, operation: Operation) -> bool:
    is_open = not operation.state.final or (operation.inferred and operation.state is not entry.state)
    return _same_amount(entry, operation) and is_open and operation.state is not State.WAITING


def _has_same_state(entry: Entry, operation: Operation) -> bool:
    return _same_amount(entry, operation) and entry.state is operation.state


def _is_turned(entry: Entry, operation: Operation) -> bool:
    return (
        _same_amount(entry, operation)
        and entry.state is State.SUCCESS
        and operation.state is State.FAILURE
        and operation.operation_id is not None
    )


def _has_different_amount(entry: Entry, operation: Operation) -> bool:
    return entry.state is State.SUCCESS and operation.state is State.SUCCESS


_MATCHING_STEPS = (
    (_agrees, None),
    (_has_same_state, None),
    (_is_behind, None),
    (_is_new_outcome, DiscrepancyKind.MISSED),
    (_is_turned, DiscrepancyKind.MISSED),
    (_has_different_amount, DiscrepancyKind.AMOUNT),
)


def _match_differences(aggregate: PaymentAggregate, entry: Entry, operation: Operation) -> list[Difference]:
    """Return the differences of a matched pair: its receivers, and whether Saleor has it."""
    found = []
    if not _receivers_agree(entry, operation):
        found.append(Difference(DiscrepancyKind.RECEIVER, entry, operation))
    if aggregate.payment.is_known_to_saleor and not _is_reported(aggregate.payment.flow, operation, aggregate.events):
        found.append(Difference(DiscrepancyKind.UNTOLD, entry, operation))
    return found


def _receivers_agree(entry: Entry, operation: Operation) -> bool:
    """Return whether the same sub-merchants received the same amounts, as far as both sides state them.

    If the payer has changed the amount, the shares are those of the requested one, and state nothing.
    """
    shares = operation.shares if sum(operation.shares.values()) == operation.amount else {}
    return not (shares and entry.receivers) or _same_receivers(dict(entry.receivers), shares)


def _same_receivers(theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Compare by name if the books use ours, else amounts only; the interface allows any name (10)."""
    if theirs.keys() & ours.keys():
        return theirs == {name: amount for name, amount in ours.items() if amount}
    return sorted(theirs.values()) == sorted(amount for amount in ours.values() if amount)


def _is_reported(flow: Flow, operation: Operation, events: Sequence[SaleorEvent]) -> bool:
    """Return whether the event that a success requires is delivered to Saleor, or pending."""
    type_ = event_type_of(operation.kind, flow, State.SUCCESS)
    return type_ is None or any(
        event.type == type_.value
        and (event.psp_reference == operation.psp_reference or event.operation_id == operation.id)
        and event.state is not EventState.REFUSED
        for event in events
    )


def _missing_from_books(
    aggregate: PaymentAggregate, shown: Sequence[Operation], period: Period | None
) -> list[Difference]:
    """Return the operations that succeeded in the period by our books, but are not in the gateway's at all."""
    if period is None:
        return []
    taken = {id(operation) for operation in shown}
    return [
        Difference(DiscrepancyKind.NOT_SHOWN, operation=operation)
        for operation in aggregate.operations
        if operation.state is State.SUCCESS
        and operation.kind in {Kind.CREATE, *_SECONDARY}
        and id(operation) not in taken
        and not _is_taken_back(aggregate, operation)
        and period.surely_contains(operation.created_at)
        and period.surely_contains(operation.updated_at)
    ]
