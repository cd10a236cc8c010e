"""Entries of one order in the gateway's books, built from lines of a register or of a by-period list. Pure.

A split transaction has a line for each of its receivers (gateway interface, 10), which together are one entry. No line
names an operation: two equal refunds are two equal entries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.core.text import fit_text
from app.core.vocabulary import Flow, Kind, State
from gateway_client.models.reports import RegisterLine, TransactionLine, UnreadableLine
from gateway_client.models.values import Method
from gateway_client.statuses import Status
from integration_base.amounts import has_whole_cents, quantize_to_cents

_MAX_ORDER_ID, _MAX_NAME = 256, 100  # column lengths of ``Discrepancy``
_KINDS: dict[str, tuple[Kind, Flow | None]] = {
    Method.PURCHASE.value: (Kind.CREATE, Flow.CHARGE),
    Method.AUTH.value: (Kind.CREATE, Flow.AUTHORIZATION),
    Method.CREDIT.value: (Kind.CREATE, Flow.PAYOUT),
    Method.CAPTURE.value: (Kind.CAPTURE, None),
    Method.VOID.value: (Kind.VOID, None),
    Method.REFUND.value: (Kind.REFUND, None),
    "dispute": (Kind.DISPUTE, None),
    Method.RECURRENT.value: (Kind.RECURRING, None),
}
_ANOTHER_PAYMENT = (Kind.RECURRING, None)  # money that we cannot name is never skipped (laws of money, 16)
_GOES_OUT = frozenset({Method.REFUND.value, "dispute", Method.VOID.value, Method.CREDIT.value})
_NO_PAYMENTS_OF_OURS = frozenset({Method.LOOKUP.value, Method.P2P.value})  # a card check, a transfer between cards
METHODS = tuple(Method(kind) for kind in _KINDS)
"""The methods of our payments."""


@dataclass(frozen=True, slots=True)
class BookLine:
    """The compared fields of a line of the gateway's books. None: the field is missing or unreadable.

    ``amount`` may include the payer's fee (``customer_fee``); ``original_amount`` does not. ``merchant_fee`` and
    ``receiver_fee`` are not compared, only summed.
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
        """Return False for lines that cannot be payments of ours, or have an unknown method and moved nothing."""
        if self.method is None or self.method in _KINDS:
            return True
        return self.status == Status.SUCCESS and self.method not in _NO_PAYMENTS_OF_OURS

    @property
    def is_readable(self) -> bool:
        """Return whether it states the payment, the amount and the outcome."""
        required = (self.payment_id, self.method, self.status, self.currency)
        return None not in required and not (self.amount is None and self.original_amount is None)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an order in the gateway's books.

    ``amounts``: possible amounts without the payer's fee; two if the books do not state whether the fee is included.
    ``receivers``: the amount of each sub-merchant, by its name in the books.
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
        """The amount for display."""
        return self.amounts[0]

    @property
    def without_time(self) -> "Entry":
        """The entry without its time, to compare entries: no line names its operation."""
        return replace(self, at=None)

    def facts(self) -> dict[str, Any]:
        """Return the JSON that a discrepancy stores."""
        return {
            "payment_id": self.payment_id,
            "kind": self.kind.value,
            "state": self.state.value,
            "amounts": [str(amount) for amount in self.amounts],
            "currency": self.currency,
            "at": None if self.at is None else self.at.isoformat(),
            "flow": None if self.flow is None else self.flow.value,
            "receivers": [[name, str(amount)] for name, amount in self.receivers],
        }

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Entry":
        """Return the entry that a discrepancy has stored."""
        return cls(
            payment_id=facts["payment_id"],
            kind=Kind(facts["kind"]),
            state=State(facts["state"]),
            amounts=tuple(Decimal(fact) for fact in facts["amounts"]),
            currency=facts["currency"],
            at=None if facts["at"] is None else datetime.fromisoformat(facts["at"]),
            flow=None if facts["flow"] is None else Flow(facts["flow"]),
            receivers=tuple((name, Decimal(amount)) for name, amount in facts["receivers"]),
        )


def book_line(line: TransactionLine | UnreadableLine) -> BookLine | None:
    """Return the compared fields of a line; None when it names no order.

    The interface does not show whether what goes out, such as a refund, is written with a minus: both are the same.
    """
    if not line.order_id:
        return None
    order_id = fit_text(line.order_id, _MAX_ORDER_ID)
    payment_id = None if line.payment_id is None else fit_text(line.payment_id, _MAX_NAME)
    if isinstance(line, UnreadableLine):
        return BookLine(order_id, payment_id=payment_id)
    register = line if isinstance(line, RegisterLine) else None
    read = _without_sign if line.method in _GOES_OUT else _as_written
    return BookLine(
        order_id=order_id,
        payment_id=payment_id,
        method=None if line.method is None else fit_text(str(line.method)),
        status=None if line.status is None else line.status.value,
        at=line.date_time,
        amount=read(line.amount),
        original_amount=None if register is None else read(register.original_amount),
        customer_fee=read(line.customer_fee),
        currency=None if line.currency is None else fit_text(line.currency.strip().upper(), _MAX_NAME),
        receiver=None if register is None else fit_text(register.receiver_name or "", _MAX_NAME),
        receiver_amount=None if register is None else read(register.receiver_amount),
        merchant_fee=line.merchant_fee,
        receiver_fee=None if register is None else register.receiver_fee,
    )


def _as_written(amount: Decimal | None) -> Decimal | None:
    return amount


def _without_sign(amount: Decimal | None) -> Decimal | None:
    return None if amount is None else amount.copy_abs()


def entries_of(lines: Iterable[BookLine]) -> list[Entry]:
    """Return the entries of one order from its lines; unreadable lines are skipped."""
    entries = [entry for entry, _ in transactions_of(lines)]
    return sorted(entries, key=repr) if len(entries) > 1 else entries


def transactions_of(lines: Iterable[BookLine]) -> list[tuple[Entry, list[BookLine]]]:
    """Return the entries of one order, each with its lines; unreadable lines are skipped.

    Lines that agree in everything but the receiver are taken, in order, as one split transaction, until its receivers
    have the full amount or one of them repeats.
    """
    found: dict[tuple[object, ...], list[tuple[Entry, list[BookLine]]]] = {}
    for line in lines:
        if not (line.is_readable and line.is_compared):
            continue
        alike = found.setdefault(
            (line.payment_id, line.method, line.status, line.at, line.amount, line.original_amount, line.currency), []
        )
        share = _receiver_share(line)
        if share is not None:
            place = next((n for n, (entry, _) in enumerate(alike) if _can_take_receiver(entry, *share)), None)
            if place is not None:
                entry, its_lines = alike[place]
                receivers = tuple(sorted((*entry.receivers, share)))
                alike[place] = (replace(entry, receivers=receivers), [*its_lines, line])
                continue
        alike.append((_entry(line, () if share is None else (share,)), [line]))
    return [entry for alike in found.values() for entry in alike]


def is_repeated_payment(entry: Entry, before: Sequence[Entry]) -> bool:
    """Return True for a payment that the books have twice, for example because pages of a register overlap.

    Its line names it and says when, so it is the same one; of other operations two equal lines are two of them.
    """
    return entry.kind is Kind.CREATE and entry in before


def _receiver_share(line: BookLine) -> tuple[str, Decimal] | None:
    return None if line.receiver_amount is None else (line.receiver or "", _canonical_amount(line.receiver_amount))


def _can_take_receiver(entry: Entry, receiver: str, amount: Decimal) -> bool:
    """Return whether a further receiver of that amount can belong to the transaction of an entry."""
    given = sum((part for _, part in entry.receivers), amount)
    return bool(entry.receivers) and given <= max(entry.amounts) and receiver not in dict(entry.receivers)


def _entry(line: BookLine, receivers: Sequence[tuple[str, Decimal]]) -> Entry:
    kind, flow = _KINDS.get(line.method or "", _ANOTHER_PAYMENT)
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
        return (_canonical_amount(line.original_amount),)
    amount = line.amount or Decimal(0)
    possible = (amount - line.customer_fee, amount) if line.customer_fee else (amount,)
    return tuple(map(_canonical_amount, possible))


def _canonical_amount(amount: Decimal) -> Decimal:
    """Return an amount in canonical form: stored facts must be the same when it is found again."""
    return quantize_to_cents(amount) if has_whole_cents(amount) else amount
