"""Sums up the gateway's books of a window by day, while they are in the spool. Pure.

A day is summed as far as the window covers it. The books may list a payment that began shortly before midnight and
ended after it at either time, so each window starts earlier by ``LEAD``, and of two sums of a day the one that covers
more of it is stored (``store.day_sums``). A line that is unreadable, or has no date, is in no sum: it is counted; its
day is incomplete.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from app.core.vocabulary import GIVES_A_PAYOUT_BACK, Flow, Kind, State
from app.flows.reconciliation.compare import Period
from app.flows.reconciliation.entries import BookLine, Entry, is_repeated_payment, transactions_of
from app.store.day_sums import UNKNOWN_CHANNEL, ZERO, DayBooks, OrderOwner, Total
from app.store.tables import Booked, ComparedDay
from gateway_client.models.reports import LONGEST_PERIOD
from gateway_client.models.values import Method
from integration_base.amounts import LARGEST, has_whole_millionths, is_amount

LEAD = timedelta(hours=1)
"""How long before its day an operation may have begun that ends on it."""

_DAY = timedelta(days=1)
_MAX_SUM = LARGEST * 1000  # the largest sum; the column can hold more
_CREATED = {Flow.CHARGE: Booked.CHARGED, Flow.PAYOUT: Booked.PAID_OUT}
_BOOKED = {Kind.CAPTURE: Booked.CHARGED, Kind.REFUND: Booked.REFUNDED, Kind.DISPUTE: Booked.CHARGED_BACK}


def windows(start: datetime, end: datetime, covered_until: datetime | None) -> Iterator[Period]:
    """Yield the remaining windows of a comparison: each but the last ends at midnight, and none exceeds the longest
    period of a register (gateway interface, 10).

    Each starts earlier by ``LEAD``; the first one by less, if it is a whole period that fits into one register.
    """
    begins = covered_until or start
    while begins < end:
        ends, reaches_back = end, begins - LEAD
        if begins == start and end - begins <= LONGEST_PERIOD:
            reaches_back = max(reaches_back, end - LONGEST_PERIOD)
        if end - reaches_back > LONGEST_PERIOD:
            ends = datetime.combine((reaches_back + LONGEST_PERIOD).date(), time(), UTC)
        yield Period(reaches_back, ends)
        begins = ends


@dataclass(slots=True)
class _EntrySum:
    """The sum of ``count`` amounts, and the sum of the ``fees`` known fees among them."""

    amount: Decimal = ZERO
    count: int = 0
    fee: Decimal = ZERO
    fees: int = 0


_Key = tuple[str, str | None, str, Booked]
"""The channel, the receiver (None: the day as a whole), the currency, and how the money moved."""


@dataclass
class Totals:
    """The sums of one window, by day; lines of other days are ignored.

    ``payouts``: also include payouts that are not ours. If staff do not pay out with the app, another system does.
    """

    period: Period
    payouts: bool = True
    _sums: dict[date, dict[_Key, _EntrySum]] = field(init=False)
    _unreadable: dict[date, int] = field(init=False)

    def __post_init__(self) -> None:
        first, last = self.period.start.astimezone(UTC), self.period.end.astimezone(UTC)
        days = [first.date()]
        while datetime.combine(days[-1], time(), UTC) + _DAY < last:
            days.append(days[-1] + _DAY)
        self._sums = {day: {} for day in days}
        self._unreadable = dict.fromkeys(days, 0)

    def add(self, lines: Sequence[BookLine], owner: OrderOwner | None) -> None:
        """Add the lines of one order; ``owner`` None: the order is not a payment of ours."""
        for line in lines:
            if line.is_compared and not line.is_readable and line.status in {None, State.SUCCESS.value}:
                self.count_unreadable(line.at)
        found = transactions_of(lines)
        entries = [entry for entry, _ in found]
        is_payout = any(entry.flow is Flow.PAYOUT for entry in entries) if owner is None else owner.flow is Flow.PAYOUT
        for number, (entry, its_lines) in enumerate(found):
            if is_repeated_payment(entry, entries[:number]):
                continue
            kind = _booked_kind(entry, its_lines[0], is_payout=is_payout)
            is_foreign = kind is Booked.PAID_OUT and owner is None and not self.payouts
            if kind is not None and not is_foreign:
                self._book(entry, kind, its_lines, owner)

    def count_unreadable(self, at: datetime | None = None, count: int = 1) -> None:
        """Count unreadable lines for their day, or for every day if they have no date."""
        for day in self._unreadable if at is None else [at.astimezone(UTC).date()]:
            if day in self._unreadable:
                self._unreadable[day] += count

    def daily_books(self, account_id: str, run_id: int, now: datetime) -> Iterator[DayBooks]:
        """Yield each day that the window covers, with the totals to store."""
        for day, sums in self._sums.items():
            midnight = datetime.combine(day, time(), UTC)
            compared = ComparedDay(
                account_id=account_id,
                day=day,
                starts_at=max(self.period.start, midnight - LEAD),
                ends_at=min(self.period.end, midnight + _DAY),
                unreadable=self._unreadable[day],
                run_id=run_id,
                compared_at=now,
            )
            totals = [
                Total(
                    day, account_id, channel, currency, kind, total.amount, total.count, total.fee, total.fees, receiver
                )
                for (channel, receiver, currency, kind), total in sums.items()
            ]
            yield compared, totals

    def _book(self, entry: Entry, kind: Booked, lines: Sequence[BookLine], owner: OrderOwner | None) -> None:
        if entry.at is None:
            self.count_unreadable()
            return
        sums = self._sums.get(entry.at.astimezone(UTC).date())
        if sums is None:
            return
        is_return = kind is Booked.PAID_OUT and entry.kind is not Kind.CREATE
        amount, channel = _amount(entry, owner), UNKNOWN_CHANNEL if owner is None else owner.channel
        if not _add(sums, (channel, None, entry.currency, kind), amount, lines[0].merchant_fee, is_return=is_return):
            self.count_unreadable(entry.at)
            return
        for line in lines:
            if not line.receiver_amount or line.receiver is None:
                continue
            share = ("", line.receiver, entry.currency, kind)
            if not _add(sums, share, line.receiver_amount, line.receiver_fee):
                self.count_unreadable(entry.at)


def _add(
    sums: dict[_Key, _EntrySum], key: _Key, amount: Decimal, fee: Decimal | None, *, is_return: bool = False
) -> bool:
    """Add to a sum, creating it if missing; return False if the amount is invalid or the sum too large.

    ``is_return``: the amount has come back, and makes the sum smaller.
    """
    total = sums.get(key, _EntrySum())
    signed = -amount if is_return else amount
    if not (is_amount(amount) and abs(total.amount + signed) <= _MAX_SUM):
        return False
    total.amount += signed
    total.count += 1
    if fee is not None and has_whole_millionths(fee) and has_whole_millionths(total.fee + fee):
        total.fee += fee
        total.fees += 1
    sums[key] = total
    return True


def _booked_kind(entry: Entry, line: BookLine, *, is_payout: bool) -> Booked | None:
    """Return how an entry of a payment, or of a payout, moved money; None if it moved none, or nobody knows how.

    ``line`` is one of its lines: only that says whether it is a later charge of a subscription by the gateway's word.
    """
    if entry.state is not State.SUCCESS:
        return None
    if is_payout and entry.kind in GIVES_A_PAYOUT_BACK:
        return Booked.PAID_OUT
    if entry.kind is Kind.CREATE and entry.flow is not None:
        return _CREATED.get(entry.flow)
    return Booked.CHARGED if line.method == Method.RECURRENT.value else _BOOKED.get(entry.kind)


def _amount(entry: Entry, owner: OrderOwner | None) -> Decimal:
    """Return the amount without the payer's fee: the requested one if the books do not state whether it is included."""
    if owner is not None and entry.kind is Kind.CREATE and owner.amount in entry.amounts:
        return owner.amount
    return entry.amount
