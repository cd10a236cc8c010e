"""What the gateway's books say of one order: lines of a register or of a by-period list, made into entries. Pure.

A split transaction has a line for each of its receivers (gateway interface, 10), which together are one entry. No line
names an operation: of two equal refunds there are two equal entries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.amounts import in_cents, is_in_cents
from app.db.columns import fitting
from app.db.tables import Flow, Kind, State
from app.gateway.models.reports import RegisterLine, TransactionLine, UnreadableLine
from app.gateway.models.values import Method

_LONGEST_ORDER, _LONGEST_NAME = 256, 100  # what ``Discrepancy`` has room for
_KINDS: dict[str, tuple[Kind, Flow | None]] = {
    Method.PURCHASE.value: (Kind.CREATE, Flow.CHARGE),
    Method.AUTH.value: (Kind.CREATE, Flow.AUTHORIZATION),
    Method.CREDIT.value: (Kind.CREATE, Flow.PAYOUT),
    Method.CAPTURE.value: (Kind.CAPTURE, None),
    Method.VOID.value: (Kind.VOID, None),
    Method.REFUND.value: (Kind.REFUND, None),
    "dispute": (Kind.DISPUTE, None),
}
METHODS = tuple(Method(each) for each in _KINDS)
"""What a payment of ours is made of: nothing else of the gateway's books is compared."""


@dataclass(frozen=True, slots=True)
class BookLine:
    """A line of the gateway's books, as far as it is compared. None: the line does not say, or it cannot be read.

    ``amount`` may be with the payer's fee (``customer_fee``); ``original_amount`` is without. ``merchant_fee`` and
    ``receiver_fee`` are compared with nothing, and summed up.
    """

    order_id: str
    payment_id: str | None = None
    method: str | None = None
    status: str | None = None
    at: datetime | None = None
    amount: Decimal | None = None
    original_amount: Decimal | None = None
    customer_fee: Decimal | None = None
    currency: str | None = None
    receiver: str | None = None
    receiver_amount: Decimal | None = None
    merchant_fee: Decimal | None = None
    receiver_fee: Decimal | None = None

    @property
    def is_compared(self) -> bool:
        """Return False for what is nobody's payment here: a check of a card, a transfer between cards."""
        return self.method is None or self.method in _KINDS

    @property
    def is_readable(self) -> bool:
        """Return whether it says whose money moved, how much, and how it went."""
        said = (self.payment_id, self.method, self.status, self.currency)
        return None not in said and not (self.amount is None and self.original_amount is None)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that the gateway's books have of an order.

    ``amounts``: what it may be over, the payer's fee left out; where the books do not say whether that is in it there
    are two. ``receivers``: what each sub-merchant has of it, by the name that the books give them.
    """

    payment_id: str
    kind: Kind
    state: State
    amounts: tuple[Decimal, ...]
    currency: str
    at: datetime | None = None
    flow: Flow | None = None
    receivers: tuple[tuple[str, Decimal], ...] = ()

    @property
    def amount(self) -> Decimal:
        """The amount as it is shown to people."""
        return self.amounts[0]

    @property
    def timeless(self) -> "Entry":
        """The same, whenever it was: no line names its operation, so by nothing else are equal ones told apart."""
        return replace(self, at=None)

    def facts(self) -> dict[str, Any]:
        """Return the JSON that a discrepancy keeps."""
        return {
            "payment_id": self.payment_id,
            "kind": self.kind.value,
            "state": self.state.value,
            "amounts": [str(each) for each in self.amounts],
            "currency": self.currency,
            "at": None if self.at is None else self.at.isoformat(),
            "flow": None if self.flow is None else self.flow.value,
            "receivers": [[name, str(amount)] for name, amount in self.receivers],
        }

    @classmethod
    def kept(cls, facts: dict[str, Any]) -> "Entry":
        """Return what a discrepancy has kept."""
        return cls(
            payment_id=facts["payment_id"],
            kind=Kind(facts["kind"]),
            state=State(facts["state"]),
            amounts=tuple(Decimal(each) for each in facts["amounts"]),
            currency=facts["currency"],
            at=None if facts["at"] is None else datetime.fromisoformat(facts["at"]),
            flow=None if facts["flow"] is None else Flow(facts["flow"]),
            receivers=tuple((name, Decimal(amount)) for name, amount in facts["receivers"]),
        )


def book_line(line: TransactionLine | UnreadableLine) -> BookLine | None:
    """Return what is compared of a line; None when it does not say of which order it tells."""
    if not line.order_id:
        return None
    order_id = fitting(line.order_id, _LONGEST_ORDER)
    payment_id = None if line.payment_id is None else fitting(line.payment_id, _LONGEST_NAME)
    if isinstance(line, UnreadableLine):
        return BookLine(order_id, payment_id=payment_id)
    register = line if isinstance(line, RegisterLine) else None
    return BookLine(
        order_id=order_id,
        payment_id=payment_id,
        method=None if line.method is None else fitting(str(line.method)),
        status=None if line.status is None else line.status.value,
        at=line.date_time,
        amount=line.amount,
        original_amount=None if register is None else register.original_amount,
        customer_fee=line.customer_fee,
        currency=None if line.currency is None else fitting(line.currency, _LONGEST_NAME),
        receiver=None if register is None else fitting(register.receiver_name or "", _LONGEST_NAME),
        receiver_amount=None if register is None else register.receiver_amount,
        merchant_fee=line.merchant_fee,
        receiver_fee=None if register is None else register.receiver_fee,
    )


def entries_of(lines: Iterable[BookLine]) -> list[Entry]:
    """Return what the lines of one order say; those that cannot be read say nothing."""
    entries = [entry for entry, _ in transactions_of(lines)]
    return sorted(entries, key=repr) if len(entries) > 1 else entries


def transactions_of(lines: Iterable[BookLine]) -> list[tuple[Entry, list[BookLine]]]:
    """Return what the lines of one order say, each with its lines; those that cannot be read say nothing.

    The lines of one split transaction are taken for those that say the same, one after the other, until its receivers
    have all of it or one of them comes again.
    """
    found: dict[tuple[object, ...], list[tuple[Entry, list[BookLine]]]] = {}
    for line in lines:
        if not (line.is_readable and line.is_compared):
            continue
        same = found.setdefault(
            (line.payment_id, line.method, line.status, line.at, line.amount, line.original_amount, line.currency), []
        )
        share = _share(line)
        if share is not None:
            place = next((n for n, (each, _) in enumerate(same) if _lacks(each, *share)), None)
            if place is not None:
                entry, its_lines = same[place]
                receivers = tuple(sorted((*entry.receivers, share)))
                same[place] = (replace(entry, receivers=receivers), [*its_lines, line])
                continue
        same.append((_entry(line, () if share is None else (share,)), [line]))
    return [each for same in found.values() for each in same]


def _share(line: BookLine) -> tuple[str, Decimal] | None:
    return None if line.receiver_amount is None else (line.receiver or "", _written(line.receiver_amount))


def _lacks(entry: Entry, receiver: str, amount: Decimal) -> bool:
    """Return whether a further receiver of that amount can belong to a transaction."""
    given = sum((each for _, each in entry.receivers), amount)
    return bool(entry.receivers) and given <= max(entry.amounts) and receiver not in dict(entry.receivers)


def _entry(line: BookLine, receivers: Sequence[tuple[str, Decimal]]) -> Entry:
    kind, flow = _KINDS[line.method or ""]
    return Entry(
        payment_id=line.payment_id or "",
        kind=kind,
        state=State(line.status or ""),
        amounts=_amounts(line),
        currency=line.currency or "",
        at=line.at,
        flow=flow,
        receivers=tuple(receivers),
    )


def _amounts(line: BookLine) -> tuple[Decimal, ...]:
    if line.original_amount is not None:
        return (_written(line.original_amount),)
    amount = line.amount or Decimal(0)
    possible = (amount - line.customer_fee, amount) if line.customer_fee else (amount,)
    return tuple(map(_written, possible))


def _written(amount: Decimal) -> Decimal:
    """Return an amount as all are written: what is kept of it must be the same when it is found again."""
    return in_cents(amount) if is_in_cents(amount) else amount
