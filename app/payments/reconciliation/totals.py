"""Sums up the gateway's books of a window by day, while they are at hand: what they say of each day's money. Pure.

A day is summed as far as the window reaches. What was begun shortly before midnight and done after may stand in the
books by either moment, so each window reaches back by ``LEAD``, and of two sums of a day the one over more of it is
kept (``db.day_sums``). A line that cannot be read, or says no day, is in no sum: it is counted, and its day is
not whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from app.amounts import LARGEST, is_amount, is_in_millionths
from app.db.day_sums import NOBODYS, ZERO, DayBooks, OrderOwner, Total
from app.db.tables import Booked, ComparedDay, Flow, Kind, State
from app.gateway.models.reports import LONGEST_PERIOD
from app.payments.reconciliation.compare import Period
from app.payments.reconciliation.entries import BookLine, Entry, transactions_of

LEAD = timedelta(hours=1)
"""How long before its day something may have been begun that is done on it."""

_DAY = timedelta(days=1)
_MOST = LARGEST * 1000  # what a sum may be: a column holds more
_CREATED = {Flow.CHARGE: Booked.CHARGED, Flow.PAYOUT: Booked.PAID_OUT}
_BOOKED = {Kind.CAPTURE: Booked.CHARGED, Kind.REFUND: Booked.REFUNDED, Kind.DISPUTE: Booked.CHARGED_BACK}


def windows(start: datetime, end: datetime, covered_until: datetime | None) -> Iterator[Period]:
    """Give the windows that are left of a comparison: each but the last ends with a day, and none is longer than a
    register may be (gateway interface, 10).

    Each reaches back by ``LEAD``; the first one by less, where it is all of a period that one register can hold.
    """
    begins = covered_until or start
    while begins < end:
        ends, reaches_back = end, begins - LEAD
        if covered_until is None and begins == start and end - begins <= LONGEST_PERIOD:
            reaches_back = max(reaches_back, end - LONGEST_PERIOD)
        if end - reaches_back > LONGEST_PERIOD:
            ends = datetime.combine((reaches_back + LONGEST_PERIOD).date(), time(), UTC)
        yield Period(reaches_back, ends)
        begins = ends


@dataclass(slots=True)
class _Sum:
    """So often, so much in all, with fees of so many."""

    amount: Decimal = ZERO
    count: int = 0
    fee: Decimal = ZERO
    fees: int = 0


_Key = tuple[str, str | None, str, Booked]
"""The channel, the receiver (None: it is of the day as a whole), the currency, and how it moved."""


@dataclass
class Totals:
    """The sums of one window, by day; what its lines say of other days is in none.

    ``payouts``: those that are nobody's here are in it too. Where staff do not pay out with the app they are another's.
    """

    period: Period
    payouts: bool = True
    _sums: dict[date, dict[_Key, _Sum]] = field(init=False)
    _unreadable: dict[date, int] = field(init=False)

    def __post_init__(self) -> None:
        first, last = self.period.start.astimezone(UTC), self.period.end.astimezone(UTC)
        days = [first.date()]
        while datetime.combine(days[-1], time(), UTC) + _DAY < last:
            days.append(days[-1] + _DAY)
        self._sums = {day: {} for day in days}
        self._unreadable = dict.fromkeys(days, 0)

    def add(self, lines: Sequence[BookLine], owner: OrderOwner | None) -> None:
        """Add what the lines of one order say; ``owner`` None: no payment of ours is of that order."""
        for line in lines:
            if line.is_compared and not line.is_readable and line.status in {None, State.SUCCESS.value}:
                self.cannot_read(line.at)
        for entry, its_lines in transactions_of(lines):
            kind = _booked(entry)
            another = kind is Booked.PAID_OUT and owner is None and not self.payouts
            if kind is not None and not another:
                self._book(entry, kind, its_lines, owner)

    def cannot_read(self, at: datetime | None = None, count: int = 1) -> None:
        """Count lines that cannot be read: of the day on which they say they were, or else of any."""
        for day in self._unreadable if at is None else [at.astimezone(UTC).date()]:
            if day in self._unreadable:
                self._unreadable[day] += count

    def books(self, account_id: str, run_id: int, now: datetime) -> Iterator[DayBooks]:
        """Give each day that the window reaches, with what is kept of it."""
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
                Total(day, account_id, channel, currency, kind, each.amount, each.count, each.fee, each.fees, receiver)
                for (channel, receiver, currency, kind), each in sums.items()
            ]
            yield compared, totals

    def _book(self, entry: Entry, kind: Booked, lines: Sequence[BookLine], owner: OrderOwner | None) -> None:
        if entry.at is None:
            self.cannot_read()
            return
        sums = self._sums.get(entry.at.astimezone(UTC).date())
        if sums is None:
            return
        amount, channel = _amount(entry, owner), NOBODYS if owner is None else owner.channel
        if not _add(sums, (channel, None, entry.currency, kind), amount, lines[0].merchant_fee):
            self.cannot_read(entry.at)
            return
        for line in lines:
            if line.receiver_amount is not None and line.receiver is not None:
                _add(sums, ("", line.receiver, entry.currency, kind), line.receiver_amount, line.receiver_fee)


def _add(sums: dict[_Key, _Sum], key: _Key, amount: Decimal, fee: Decimal | None) -> bool:
    """Add to a sum, which is made if there is none; False for what is no amount, or more than a sum can be."""
    total = sums.get(key, _Sum())
    if not (is_amount(amount) and total.amount + amount <= _MOST):
        return False
    total.amount += amount
    total.count += 1
    if fee is not None and is_in_millionths(fee) and is_in_millionths(total.fee + fee):
        total.fee += fee
        total.fees += 1
    sums[key] = total
    return True


def _booked(entry: Entry) -> Booked | None:
    """Return how an entry has moved money; None if it has moved none."""
    if entry.state is not State.SUCCESS:
        return None
    if entry.kind is Kind.CREATE and entry.flow is not None:
        return _CREATED.get(entry.flow)
    return _BOOKED.get(entry.kind)


def _amount(entry: Entry, owner: OrderOwner | None) -> Decimal:
    """Return what moved without the payer's fee; where the books do not say whether that is in it, what was asked."""
    asked = owner is not None and entry.kind is Kind.CREATE and owner.amount in entry.amounts
    return owner.amount if asked and owner is not None else entry.amount
