"""Compares what the gateway's books say of an order with what is recorded of its payment. Pure.

The books of a period show a part of an order only: what is older or newer than the period is not in them. So each entry
must be explained by what is recorded, and what is recorded must be in the books only if it is of that period. Where the
books lag behind what is recorded there is no difference: nothing goes back (laws of money, 7).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from app.db.aggregates import PaymentAggregate
from app.db.tables import DiscrepancyKind, EventState, Flow, Kind, Operation, SaleorEvent, State
from app.payments.core.details import Details
from app.payments.core.mapper import event_of
from app.payments.core.subscription import charge_of
from app.payments.reconciliation.entries import Entry

_MARGIN = timedelta(hours=1)
_SECONDARY = (Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.DISPUTE, Kind.RECURRING)


@dataclass(frozen=True, slots=True)
class Period:
    """The period of which books were read. At its ends our clock and the gateway's may not agree."""

    start: datetime
    end: datetime

    def surely_holds(self, moment: datetime) -> bool:
        """Return True when what happened at that moment must be in the books."""
        return self.start + _MARGIN <= moment < self.end - _MARGIN


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the books do not agree. ``entry``: the gateway's; ``operation``: ours; one of them may be missing.

    ``copies``: of equal entries, how many there must be for this difference to be there.
    """

    kind: DiscrepancyKind
    entry: Entry | None = None
    operation: Operation | None = None
    copies: int = 1

    @property
    def aspect(self) -> str:
        """What of an entry differs: whether Saleor has it, who received it, or the entry itself, in whatever way."""
        return self.kind.value if self.kind in {DiscrepancyKind.UNTOLD, DiscrepancyKind.RECEIVER} else "entry"

    def key(self, order_id: str) -> str:
        """Return what this difference is known by, whenever and however often it is found."""
        if self.entry is None:
            about = ["ours", str(self.operation.id) if self.operation is not None else self.kind.value]
        else:
            about = [self.aspect, repr(sorted(self.entry.timeless.facts().items())), str(self.copies)]
        return hashlib.sha256("\n".join([order_id, *about]).encode()).hexdigest()[:32]

    def facts(self) -> dict[str, Any]:
        """Return the JSON that is kept of it."""
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


def differences(
    aggregate: PaymentAggregate, entries: Sequence[Entry], period: Period | None = None
) -> list[Difference]:
    """Return where ``entries`` and the payment do not agree. ``period`` None: what is not in them is not missing."""
    paid, subscribed = aggregate.create.operation_id, aggregate.payment.recurring_id is not None
    entries = [_as_charged(aggregate, each) for each in entries]
    ours = [each for each in entries if paid is None or subscribed or each.payment_id == paid]
    found = [Difference(DiscrepancyKind.UNKNOWN, each) for each in entries if each not in ours]
    found += [
        Difference(DiscrepancyKind.CURRENCY, each) for each in ours if each.currency != aggregate.payment.currency
    ]
    comparable = [each for each in ours if each.currency == aggregate.payment.currency]
    matched: list[tuple[Entry, Operation]] = []
    for entry in [each for each in comparable if each.kind is Kind.CREATE]:
        what = _of_payment(aggregate, entry)
        if what is not None:
            found.append(Difference(what, entry, aggregate.create))
        matched.append((entry, aggregate.create))
    for kind in _SECONDARY:
        found += _of_kind(aggregate, [each for each in comparable if each.kind is kind], kind, matched)
    differing = [each.operation for each in found]
    for entry, operation in matched:
        if entry.state is State.SUCCESS is operation.state and operation not in differing:
            found += _besides(aggregate, entry, operation)
    return _numbered(found, entries) + _not_shown(aggregate, [operation for _, operation in matched], period)


def _as_charged(aggregate: PaymentAggregate, entry: Entry) -> Entry:
    """A further payment of an order whose payment has begun a subscription is a later charge of it."""
    if entry.kind is Kind.CREATE and charge_of(aggregate, entry.payment_id) is not None:
        return replace(entry, kind=Kind.RECURRING, flow=None)
    return entry


def _is_of_charge(aggregate: PaymentAggregate, entry: Entry, operation: Operation) -> bool:
    """Return whether both are of the same charge: the payment itself, or the same later one of its subscription."""
    charge_id = operation.operation_id if operation.kind is Kind.RECURRING else operation.charge_id
    return charge_of(aggregate, entry.payment_id) == charge_id


def _numbered(found: Sequence[Difference], entries: Sequence[Entry]) -> list[Difference]:
    """Tell the differences of equal entries apart: no line says which of them is which."""
    said = [(each.aspect, None if each.entry is None else each.entry.timeless) for each in found]
    there = [each.timeless for each in entries]
    agreed = [there.count(entry) - said.count((aspect, entry)) if entry else 0 for aspect, entry in said]
    return [replace(each, copies=agreed[n] + 1 + said[:n].count(said[n])) for n, each in enumerate(found)]


def of_nobody(entries: Sequence[Entry]) -> list[Difference]:
    """Return the difference that an order makes of which no payment is ours: none unless money has moved."""
    moved = [each for each in entries if each.state is State.SUCCESS]
    return [Difference(DiscrepancyKind.UNKNOWN, moved[0])] if moved else []


def _of_payment(aggregate: PaymentAggregate, entry: Entry) -> DiscrepancyKind | None:
    create = aggregate.create
    if entry.state not in {State.SUCCESS, State.FAILURE}:
        return None  # what is on its way is looked up in any case
    if entry.flow is not aggregate.payment.flow:
        return DiscrepancyKind.STATE
    if not create.state.final or (create.inferred and create.state is not entry.state):
        return DiscrepancyKind.MISSED
    if create.state is not entry.state:
        return DiscrepancyKind.STATE
    return None if entry.state is State.FAILURE or _amount_agrees(aggregate, entry, create) else DiscrepancyKind.AMOUNT


def _amount_agrees(aggregate: PaymentAggregate, entry: Entry, operation: Operation) -> bool:
    if operation.amount in entry.amounts:
        return True
    # Where the payer has changed the amount, books may still show what was asked.
    changed = operation.kind is Kind.CREATE and Details.kept(operation.details).processed is not None
    return changed and aggregate.payment.amount in entry.amounts


def _of_kind(
    aggregate: PaymentAggregate, entries: Sequence[Entry], kind: Kind, matched: list[tuple[Entry, Operation]]
) -> list[Difference]:
    """Match equal things first, then those that may be the same; what is left on either side is a difference."""
    left = [each for each in aggregate.operations if each.kind is kind]
    waiting = sorted(entries, key=lambda each: (each.state is State.FAILURE, each.state is not State.SUCCESS))
    found: list[Difference] = []
    for fits, what in _STEPS:
        for strict in (True, False):  # of equal refunds of a split payment each is taken from others
            for entry in list(waiting):
                operation = next(
                    (
                        each
                        for each in left
                        if fits(entry, each)
                        and _is_of_charge(aggregate, entry, each)
                        and (not strict or _receivers_agree(aggregate, entry, each))
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
    # A failure that we know nothing of has moved nothing, whoever tried it.
    missing = [each for each in waiting if each.state is not State.FAILURE]
    return found + [Difference(DiscrepancyKind.MISSED, each) for each in missing]


def _same_amount(entry: Entry, operation: Operation) -> bool:
    return operation.kind is Kind.VOID or operation.amount in entry.amounts


def _agrees(entry: Entry, operation: Operation) -> bool:
    return _same_amount(entry, operation) and entry.state is operation.state and not operation.inferred


def _is_behind(entry: Entry, operation: Operation) -> bool:
    on_its_way = entry.state in {State.INIT, State.PENDING}
    return _same_amount(entry, operation) and on_its_way and operation.state is not State.WAITING


def _is_news(entry: Entry, operation: Operation) -> bool:
    is_open = not operation.state.final or (operation.inferred and operation.state is not entry.state)
    return _same_amount(entry, operation) and is_open and operation.state is not State.WAITING


def _is_concluded_alike(entry: Entry, operation: Operation) -> bool:
    return _same_amount(entry, operation) and entry.state is operation.state


def _contradicts(entry: Entry, operation: Operation) -> bool:
    return (
        _same_amount(entry, operation)
        and entry.state is State.SUCCESS
        and operation.state is State.FAILURE
        and operation.operation_id is not None
    )


def _has_another_amount(entry: Entry, operation: Operation) -> bool:
    return entry.state is State.SUCCESS and operation.state is State.SUCCESS


_STEPS = (
    (_agrees, None),
    (_is_concluded_alike, None),
    (_is_behind, None),
    (_is_news, DiscrepancyKind.MISSED),
    (_contradicts, DiscrepancyKind.STATE),
    (_has_another_amount, DiscrepancyKind.AMOUNT),
)


def _besides(aggregate: PaymentAggregate, entry: Entry, operation: Operation) -> list[Difference]:
    """Return what differs though both sides have it: who received it, and whether Saleor knows."""
    found = []
    if not _receivers_agree(aggregate, entry, operation):
        found.append(Difference(DiscrepancyKind.RECEIVER, entry, operation))
    if aggregate.payment.is_saleors and not _is_told(aggregate.payment.flow, operation, aggregate.events):
        found.append(Difference(DiscrepancyKind.UNTOLD, entry, operation))
    return found


def _receivers_agree(aggregate: PaymentAggregate, entry: Entry, operation: Operation) -> bool:
    """Return whether the same sub-merchants have the same of it, as far as both sides say."""
    shares = aggregate.shares_of(operation)
    return not (shares and entry.receivers) or _same_receivers(dict(entry.receivers), shares)


def _same_receivers(theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Compare by name where the books use ours; the interface calls it a name, and it may be any (10)."""
    if theirs.keys() & ours.keys():
        return theirs == {name: amount for name, amount in ours.items() if amount}
    return sorted(theirs.values()) == sorted(amount for amount in ours.values() if amount)


def _is_told(flow: Flow, operation: Operation, events: Sequence[SaleorEvent]) -> bool:
    """Return whether Saleor has what it must hear of a success, or is going to be told."""
    type_ = event_of(operation.kind, flow, State.SUCCESS)
    return type_ is None or any(
        each.type == type_.value
        and (each.psp_reference == operation.psp_reference or each.operation_id == operation.id)
        and each.state is not EventState.REFUSED
        for each in events
    )


def _not_shown(aggregate: PaymentAggregate, shown: Sequence[Operation], period: Period | None) -> list[Difference]:
    """Return what has succeeded in that period by our books, and is not in the gateway's at all."""
    if period is None:
        return []
    taken = {id(each) for each in shown}
    return [
        Difference(DiscrepancyKind.NOT_SHOWN, operation=each)
        for each in aggregate.operations
        if each.state is State.SUCCESS
        and each.kind in {Kind.CREATE, *_SECONDARY}
        and id(each) not in taken
        and period.surely_holds(each.created_at)
        and period.surely_holds(each.updated_at)
    ]
