"""The money of a day, a month or any period: the sums of our books, and beside them those of the gateway's books.

Days are those of UTC, like the windows of a register. Amounts in different currencies are never added up. The gateway
is compared with us only over days of which its books were read completely; a day not yet compared is not zero.

``charged``       purchases and captures, without the fee that a payer may pay on top (gateway interface, 10)
``refunded``      money given back to payers
``charged_back``  disputes that the payer has won
``paid_out``      to cards, less what has come back
``fee``           the gateway's fees for these, as far as it has stated them
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from app.i18n.messages import gettext_noop
from app.rules.split.rules import names_of
from app.services import Services
from app.store.day_sums import (
    ZERO,
    ComparisonProgress,
    Days,
    Total,
    compared_days,
    count_open_differences,
    find_comparison_progress,
    gateway_shares,
    gateway_totals,
    our_shares,
    our_totals,
)
from app.store.tables import Booked, ComparedDay, MerchantAccount

MAX_DAYS = 366
"""The largest number of days in one report."""

_DAYS_PER_TRANSACTION = 7  # days summed in one transaction, during which others wait for the database
_DAY = timedelta(days=1)


class GroupBy(StrEnum):
    """What sums are grouped by, besides the currency."""

    DAY = "day"
    ACCOUNT = "account"
    CHANNEL = "channel"
    CURRENCY = "currency"
    RECEIVER = "receiver"


class Agreement(StrEnum):
    """Whether the gateway's books agree with ours."""

    AGREE = gettext_noop("both agree")
    DIFFER = gettext_noop("they differ")
    NOT_DIVIDED = gettext_noop("only the gateway knows whose money all of it is")
    AGREE_SO_FAR = gettext_noop("both agree on what was compared")
    NOT_COMPARED = gettext_noop("not yet compared")


@dataclass(slots=True)
class Figures:
    """Sums in one currency, and counts; for ``no_fee`` of the movements the gateway has stated no fee."""

    charged: Decimal = ZERO
    refunded: Decimal = ZERO
    charged_back: Decimal = ZERO
    paid_out: Decimal = ZERO
    fee: Decimal = ZERO
    charges: int = 0
    refunds: int = 0
    charge_backs: int = 0
    payouts: int = 0
    no_fee: int = 0

    @property
    def net(self) -> Decimal:
        """The net sum, as far as fees are known."""
        return self.charged - self.refunded - self.charged_back - self.paid_out - self.fee

    @property
    def count(self) -> int:
        """The number of movements of money."""
        return self.charges + self.refunds + self.charge_backs + self.payouts

    def add(self, total: Total) -> None:
        """Add a total of the same currency."""
        match total.kind:
            case Booked.CHARGED:
                self.charged += total.amount
                self.charges += total.count
            case Booked.REFUNDED:
                self.refunded += total.amount
                self.refunds += total.count
            case Booked.CHARGED_BACK:
                self.charged_back += total.amount
                self.charge_backs += total.count
            case Booked.PAID_OUT:
                self.paid_out += total.amount
                self.payouts += total.count
        self.fee += total.fee
        self.no_fee += total.count - total.fees

    def agrees_with(self, other: "Figures") -> bool:
        """Return whether both sums are equal; fees are compared only where both know them all."""
        fees_differ = self.fee != other.fee and not (self.no_fee or other.no_fee)
        return not fees_differ and self.moved == other.moved

    @property
    def moved(self) -> tuple[object, ...]:
        """The amounts and counts of movements, without fees."""
        return (
            *(self.charged, self.refunded, self.charged_back, self.paid_out),
            *(self.charges, self.refunds, self.charge_backs, self.payouts),
        )


@dataclass(frozen=True, slots=True)
class _Coverage:
    """The number of ``days``, and of those ``compared`` completely; ``until``: up to when a single day is compared."""

    days: int = 0
    compared: int = 0
    until: datetime | None = None
    unreadable: int = 0


@dataclass(slots=True)
class MoneyRow:
    """Sums of one currency. ``names`` are the values that they are grouped by, in that order.

    ``compared`` are our sums of the compared days, ``gateway`` the sums of the gateway's books for the same days. By
    receiver: ``all_divided`` unless our books do not state the receiver of some amount.
    """

    names: tuple[Any, ...]
    currency: str
    ours: Figures = field(default_factory=Figures)
    compared: Figures = field(default_factory=Figures)
    gateway: Figures = field(default_factory=Figures)
    coverage: _Coverage = field(default_factory=_Coverage)
    all_divided: bool = True

    @property
    def days(self) -> int:
        """The number of days for which the gateway's books can have entries."""
        return self.coverage.days

    @property
    def days_compared(self) -> int:
        """The number of these days for which its books were read completely."""
        return self.coverage.compared

    @property
    def until(self) -> datetime | None:
        """The time up to which a single day is compared in part; None if it is compared completely, or not at all."""
        return self.coverage.until

    @property
    def unreadable(self) -> int:
        """The number of lines of the gateway's books that could not be read, and are in no sum."""
        return self.coverage.unreadable

    @property
    def agreement(self) -> Agreement:
        """Whether both books agree, as far as that is known."""
        if not self.days_compared:
            return Agreement.NOT_COMPARED
        if not self.compared.agrees_with(self.gateway):
            return Agreement.DIFFER if self.all_divided else Agreement.NOT_DIVIDED
        return Agreement.AGREE if self.days_compared == self.days else Agreement.AGREE_SO_FAR


_Part = Callable[[Total], Any]
_PARTS: Mapping[GroupBy, _Part] = {
    GroupBy.DAY: lambda total: total.day,
    GroupBy.ACCOUNT: lambda total: total.account_id,
    GroupBy.CHANNEL: lambda total: total.channel,
    GroupBy.RECEIVER: lambda total: total.receiver or "",
}
_Pair = tuple[str, date]


@dataclass(frozen=True)
class MoneyReport:
    """The money of some accounts over ``days``. ``accounts`` and ``receivers`` are display names by id,
    ``tests`` the accounts whose money is not real.

    ``expected``: the days for which the gateway's books can have entries, with the accounts. ``whole`` are the accounts
    and days for which its books were read completely, ``compared`` those for which at least a part was.
    """

    days: Days
    accounts: Mapping[str, str]
    receivers: Mapping[str, str]
    ours: Sequence[Total]
    gateway: Sequence[Total]
    our_shares: Sequence[Total]
    gateway_shares: Sequence[Total]
    expected: Mapping[date, Collection[str]]
    whole: Collection[_Pair]
    compared: Mapping[_Pair, ComparedDay]
    tests: Collection[str] = ()

    def without_trials(self) -> "MoneyReport":
        """Return the report without the trials of accounts, which are no sales."""
        return self._selected(lambda total: not total.is_trial)

    def trials(self) -> "MoneyReport":
        """Return the report of the trials alone."""
        return self._selected(lambda total: total.is_trial)

    def rows_and_trials(self, *by: GroupBy) -> list[tuple[MoneyRow, bool]]:
        """Return the sums grouped so, trials last: each row, and whether it is of trials, which have no receiver."""
        if GroupBy.RECEIVER in by:
            return [(row, False) for row in self.rows(*by)]
        sales = [(row, False) for row in self.without_trials().rows(*by)]
        return sales + [(row, True) for row in self.trials().rows(*by)]

    def _selected(self, belongs: Callable[[Total], bool]) -> "MoneyReport":
        return replace(self, ours=list(filter(belongs, self.ours)), gateway=list(filter(belongs, self.gateway)))

    def rows(self, *by: GroupBy) -> list[MoneyRow]:
        """Return the sums grouped so, and by currency; in the order of their names."""
        shared = GroupBy.RECEIVER in by
        whole = self._whole_shares if shared else self.whole
        parts = [_PARTS[group_by] for group_by in by if group_by is not GroupBy.CURRENCY]
        rows: dict[tuple[Any, ...], MoneyRow] = {}

        def row_of(total: Total) -> MoneyRow:
            names = tuple(part(total) for part in parts)
            return rows.setdefault((names, total.currency), MoneyRow(names, total.currency))

        for total in self.our_shares if shared else self.ours:
            row = row_of(total)
            row.ours.add(total)
            if (total.account_id, total.day) in whole:
                row.compared.add(total)
        for total in self.gateway_shares if shared else self.gateway:
            if (total.account_id, total.day) in whole:
                row_of(total).gateway.add(total)
        undivided = {
            share.currency
            for share in (self.our_shares if shared else ())
            if not share.receiver and (share.account_id, share.day) in whole
        }
        covered: dict[tuple[str | None, date | None], _Coverage] = {}
        for row in rows.values():
            named = dict(zip((group_by for group_by in by if group_by is not GroupBy.CURRENCY), row.names, strict=True))
            scope = (named.get(GroupBy.ACCOUNT), named.get(GroupBy.DAY))
            if scope not in covered:
                covered[scope] = self._coverage(whole, *scope)
            row.coverage = covered[scope]
            row.all_divided = row.currency not in undivided
        return [row for _, row in sorted(rows.items())]

    @property
    def _whole_shares(self) -> Collection[_Pair]:
        """The days for which the gateway's books state receivers: a list of a period never does (8), a register may."""
        with_receivers = {share.account_id for share in self.gateway_shares}
        return {pair for pair in self.whole if pair[0] in with_receivers}

    def _coverage(self, whole_pairs: Collection[_Pair], account: str | None, day: date | None) -> "_Coverage":
        days = self.expected if day is None else {day: self.expected.get(day, frozenset())}
        pairs = {
            on: [(account_id, on) for account_id in accounts if account in {None, account_id}]
            for on, accounts in days.items()
            if account is None or account in accounts
        }
        known = [self.compared[pair] for of_day in pairs.values() for pair in of_day if pair in self.compared]
        whole = sum(bool(of_day) and all(pair in whole_pairs for pair in of_day) for of_day in pairs.values())
        in_part = day is not None and not whole and bool(known) and len(known) == len(pairs.get(day, ()))
        return _Coverage(
            days=sum(map(bool, pairs.values())),
            compared=whole,
            until=min(books.ends_at for books in known) if in_part else None,
            unreadable=sum(books.unreadable for books in known),
        )

    @property
    def not_compared(self) -> list[date]:
        """The days for which not all books were read completely."""
        return sorted(
            day
            for day, accounts in self.expected.items()
            if any((account, day) not in self.whole for account in accounts)
        )


async def read_money(services: Services, accounts: Iterable[MerchantAccount], days: Days) -> MoneyReport:
    """Return the money of these accounts over these days; a few queries for each week, whatever was sold."""
    known = {account.id: account for account in accounts}
    ours: list[Total] = []
    shares: list[Total] = []
    for week in _weeks(days):
        async with services.database.transaction() as session:
            ours += await our_totals(session, known, week)
            shares += await our_shares(session, known, week)
    async with services.database.transaction() as session:
        gateway = await gateway_totals(session, known, days)
        their_shares = await gateway_shares(session, known, days)
        compared = {(day.account_id, day.day): day for day in await compared_days(session, known, days)}
    receivers = {who: name for account in known.values() for who, name in names_of(account.split_rules).items()}
    expected = _expected(known.values(), days, services.now())
    return MoneyReport(
        days=days,
        accounts={account.id: account.name for account in known.values()},
        receivers=receivers,
        ours=ours,
        gateway=gateway,
        our_shares=shares,
        gateway_shares=_by_our_names(their_shares, receivers),
        expected=expected,
        whole={
            pair
            for pair, comparison in compared.items()
            if pair[0] in expected.get(comparison.day, ()) and _is_whole(comparison, known[pair[0]])
        },
        compared=compared,
        tests={account.id for account in known.values() if account.test_project},
    )


def _weeks(days: Days) -> Iterable[Days]:
    first, last = days.first.toordinal(), days.last.toordinal()
    for day in range(first, last + 1, _DAYS_PER_TRANSACTION):
        yield Days(date.fromordinal(day), date.fromordinal(min(last, day + _DAYS_PER_TRANSACTION - 1)))


def _expected(accounts: Iterable[MerchantAccount], days: Days, now: datetime) -> dict[date, set[str]]:
    """Return the days for which the gateway's books can have entries: from the day an account was added until today."""
    found: dict[date, set[str]] = defaultdict(set)
    for account in accounts:
        day, last = max(days.first, account.created_at.date()), min(days.last, now.date())
        while day <= last:
            found[day].add(account.id)
            day += _DAY
    return dict(found)


def _is_whole(compared: ComparedDay, account: MerchantAccount) -> bool:
    midnight = datetime.combine(compared.day, time(), UTC)
    begins = max(midnight, account.created_at)
    return compared.unreadable == 0 and compared.starts_at <= begins and compared.ends_at >= midnight + _DAY


def _by_our_names(shares: Iterable[Total], names: Mapping[str, str]) -> list[Total]:
    """Return shares with receivers' ids where the books have names that staff have given them, as they may (10)."""
    ids = {name: who for who, name in names.items()}
    return [replace(share, receiver=ids.get(share.receiver or "", share.receiver)) for share in shares]


@dataclass(frozen=True, slots=True)
class BooksComparison:
    """The comparison of our books and the gateway's: how far it has got, and how many differences are open."""

    compared: ComparisonProgress | None
    differences: int


async def read_books_comparison(services: Services, accounts: Iterable[MerchantAccount]) -> BooksComparison:
    """Return how far these accounts' books were compared; those that are switched off do not hold that back."""
    rows = list(accounts)
    async with services.database.transaction() as session:
        compared = await find_comparison_progress(session, [row.id for row in rows if row.enabled])
        differences = await count_open_differences(session, [row.id for row in rows])
    return BooksComparison(compared, differences)
