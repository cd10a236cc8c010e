"""How a split payment stands: what each sub-merchant received, gave back and has left. Pure.

What is recorded with an operation is known. Others can act too, in the merchant portal, and the gateway does not say
whose money they moved; then the shares are assumed to be in proportion, and said to be assumed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from app.db.aggregates import PaymentAggregate
from app.db.tables import Flow, Kind, Operation, State
from app.payments.split.allocation import Shares, total_of
from app.payments.split.remainder import Remainder, captured, given_back


@dataclass(frozen=True, slots=True)
class Part:
    """What of an operation is whose. ``known`` is False when it is assumed, because others acted."""

    operation: Operation
    shares: Shares
    known: bool


@dataclass(frozen=True, slots=True)
class SplitStanding:
    """``received`` and ``refunds`` of a payment; ``rest`` is what can be given back by whom.

    ``at_most`` is the same if none of the assumed refunds touched that sub-merchant.
    """

    received: tuple[Part, ...]
    refunds: tuple[Part, ...]
    rest: Remainder
    at_most: Shares

    @property
    def left(self) -> Shares:
        """What can be given back by whom."""
        return self.rest.left

    @property
    def assumed(self) -> bool:
        """Whether anything in it is only assumed."""
        return any(not part.known for part in (*self.received, *self.refunds))


def is_split(aggregate: PaymentAggregate) -> bool:
    """Return whether the payment was made with shares."""
    return bool(aggregate.shares_of(aggregate.create))


def allocated(aggregate: PaymentAggregate) -> Shares:
    """Return what each was to get of the whole payment, in proportion if the shopper paid another amount than asked."""
    create = aggregate.create
    return _of(aggregate, create) or captured(create.amount, aggregate.shares_of(create), create.currency)


def standing_of(aggregate: PaymentAggregate, *, turn_of: Operation | None = None) -> SplitStanding:
    """Return how a split payment stands.

    Refunds that are not known to have failed count as given, also those that still wait (laws of money, 3). When it is
    the ``turn_of`` one that waited, neither it nor those that wait behind it count.
    """
    received = tuple(_received(aggregate))
    sums = _added(received)
    counting = [
        each
        for each in aggregate.operations
        if each.kind is Kind.REFUND
        and each.state is not State.FAILURE
        and (turn_of is None or (each is not turn_of and each.state is not State.WAITING))
    ]
    known = [Part(each, shares, known=True) for each in counting if (shares := _of(aggregate, each))]
    rest = Remainder.of(sums)
    for part in known:
        rest = rest.after(part.shares, part.operation.currency)
    at_most = rest.left
    assumed = []
    for each in counting:
        if not _of(aggregate, each):
            amount = min(each.amount, rest.total)
            shares = given_back(amount, rest, each.currency) if amount else {}
            assumed.append(Part(each, shares, known=False))
            rest = rest.after(shares, each.currency)
    return SplitStanding(received, tuple(known + assumed), rest, at_most)


def _received(aggregate: PaymentAggregate) -> Iterator[Part]:
    create = aggregate.create
    if create.state is not State.SUCCESS:
        return
    whole = allocated(aggregate)
    if aggregate.payment.flow is Flow.CHARGE:
        yield Part(create, whole, known=bool(_of(aggregate, create)))
        return
    for each in aggregate.operations:
        if each.kind is Kind.CAPTURE and each.state is State.SUCCESS:
            shares = _of(aggregate, each)
            yield Part(each, shares or captured(each.amount, whole, each.currency), known=bool(shares))


def _of(aggregate: PaymentAggregate, operation: Operation) -> Shares:
    """Return the recorded shares, as long as they are shares of what was really moved; else nothing."""
    shares = aggregate.shares_of(operation)
    return shares if total_of(shares.values()) == operation.amount else {}


def _added(parts: tuple[Part, ...]) -> Shares:
    sums: dict[str, Decimal] = {}
    for part in parts:
        for who, amount in part.shares.items():
            sums[who] = sums.get(who, Decimal()) + amount
    return sums
