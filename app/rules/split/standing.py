"""The standing of a split payment: what each sub-merchant received, gave back and has left. Pure.

Shares recorded with an operation are known. Operations can also be made in the merchant portal, and the gateway does
not report whose money they moved; their shares are assumed to be in proportion, and marked as assumed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.rules.split.allocation import Shares, total_of, without
from app.rules.split.remainder import Remainder, divide_capture, divide_refund


@dataclass(frozen=True, slots=True)
class OperationShares:
    """The shares of an operation. ``known`` is False when they are assumed, because the app did not make it."""

    operation: Operation
    shares: Shares
    known: bool


@dataclass(frozen=True, slots=True)
class SplitStanding:
    """``received`` and ``refunds`` of a payment; ``rest`` is the amount that each sub-merchant can still give back.

    ``at_most`` is that amount if none of the assumed refunds affected the sub-merchant.
    """

    received: tuple[OperationShares, ...]
    refunds: tuple[OperationShares, ...]
    rest: Remainder
    at_most: Shares

    @property
    def left(self) -> Shares:
        """The amount that each sub-merchant can still give back."""
        return self.rest.left

    @property
    def assumed(self) -> bool:
        """Whether any of its shares are assumed."""
        return any(not part.known for part in (*self.received, *self.refunds))


def is_split(aggregate: PaymentAggregate) -> bool:
    """Return whether the payment was created with shares."""
    return bool(aggregate.create.shares)


def allocated_shares(aggregate: PaymentAggregate) -> Shares:
    """Return the shares allocated of the whole payment, scaled if the shopper paid another amount than requested."""
    create = aggregate.create
    return _recorded_shares(create) or divide_capture(create.amount, create.shares, create.currency)


def unclaimed_shares(aggregate: PaymentAggregate, *, besides: Operation | None = None) -> Shares:
    """Return what no capture has taken of each sub-merchant's share; ``besides`` is a capture that does not count.

    What was captured elsewhere, without shares that are known, counts in proportion.
    """
    left = allocated_shares(aggregate)
    for capture in _captures(aggregate, besides):
        left = without(left, capture.shares)
    return left


def standing_of(aggregate: PaymentAggregate, *, with_waiting: bool = True) -> SplitStanding:
    """Return the standing of a split payment.

    Refunds that are not known to have failed count as given, including waiting ones (laws of money, 3); without these
    (``with_waiting``) for the one whose turn has come, which waits itself.
    """
    received = tuple(_received_parts(aggregate))
    sums = _sum_shares(received)
    counting = [
        operation
        for operation in aggregate.operations
        if operation.kind is Kind.REFUND
        and not operation.has_surely_failed
        and (with_waiting or operation.state is not State.WAITING)
    ]
    known = [
        OperationShares(operation, shares, known=True)
        for operation in counting
        if (shares := _recorded_shares(operation))
    ]
    rest = Remainder.of(sums)
    for part in known:
        rest = rest.after(part.shares, part.operation.currency)
    at_most = rest.left
    assumed = []
    for refund in counting:
        if not _recorded_shares(refund):
            amount = min(refund.amount, rest.total)
            shares = divide_refund(amount, rest, refund.currency) if amount else {}
            assumed.append(OperationShares(refund, shares, known=False))
            rest = rest.after(shares, refund.currency)
    return SplitStanding(received, tuple(known + assumed), rest, at_most)


def _received_parts(aggregate: PaymentAggregate) -> Iterator[OperationShares]:
    create = aggregate.create
    if create.state is not State.SUCCESS:
        return
    if aggregate.payment.flow is Flow.CHARGE:
        yield OperationShares(create, allocated_shares(aggregate), known=bool(_recorded_shares(create)))
        return
    yield from (capture for capture in _captures(aggregate) if capture.operation.state is State.SUCCESS)


def _captures(aggregate: PaymentAggregate, besides: Operation | None = None) -> Iterator[OperationShares]:
    """Yield the captures that have not failed; what others captured is divided by what those before it have left."""
    whole = left = allocated_shares(aggregate)
    for operation in aggregate.operations:
        if operation.kind is not Kind.CAPTURE or operation.has_surely_failed or operation is besides:
            continue
        recorded = _recorded_shares(operation)
        shares = recorded or divide_capture(operation.amount, left or whole, operation.currency)
        yield OperationShares(operation, shares, known=bool(recorded))
        left = without(left, shares)


def _recorded_shares(operation: Operation) -> Shares:
    """Return the recorded shares if they sum to the amount that was actually moved; else empty."""
    shares = operation.shares
    return shares if total_of(shares.values()) == operation.amount else {}


def _sum_shares(parts: tuple[OperationShares, ...]) -> Shares:
    sums: dict[str, Decimal] = {}
    for part in parts:
        for who, amount in part.shares.items():
            sums[who] = sums.get(who, Decimal()) + amount
    return sums


def chosen_shares(aggregate: PaymentAggregate) -> Shares | None:
    """Return the shares chosen for the next refund; None when the rules apply."""
    stored = aggregate.payment.next_refund_split
    return None if stored is None else {who: Decimal(amount) for who, amount in stored.items()}
