"""What a day, a month or any period has brought: what we say of it, and beside it what the gateway's books say.

Days are those of UTC, as the windows of a register are. Amounts of different currencies are never added up. The gateway
is compared with us over those days only of which its books were read as a whole; a day not yet compared is not zero.

``charged``       purchases and captures, without the fee that a payer may pay on top (gateway interface, 10)
``refunded``      what was given back
``charged_back``  disputes that the payer has won
``paid_out``      to cards
``fee``           what the gateway takes of these, as far as it has said
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from app.db.day_sums import (
    ZERO,
    Compared,
    Days,
    Total,
    compared_days,
    differences_open,
    gateway_shares,
    gateway_totals,
    last_compared,
    our_shares,
    our_totals,
)
from app.db.tables import Booked, ComparedDay, MerchantAccount
from app.i18n.messages import gettext_noop
from app.payments.services import Services
from app.payments.split.rules import names_of

LONGEST = 366
"""Days that are shown at once."""

_AT_ONCE = 7  # days that are summed in one transaction: others wait for the database meanwhile
_DAY = timedelta(days=1)


class By(StrEnum):
    """What sums are made by, besides the currency."""

    DAY = "day"
    ACCOUNT = "account"
    CHANNEL = "channel"
    CURRENCY = "currency"
    RECEIVER = "receiver"


class Agreement(StrEnum):
    """Whether the gateway says what we say."""

    AGREE = gettext_noop("both agree")
    DIFFER = gettext_noop("they differ")
    NOT_DIVIDED = gettext_noop("only the gateway says whose all of it is")
    AGREE_SO_FAR = gettext_noop("both agree on what is compared")
    NOT_COMPARED = gettext_noop("not yet compared")


@dataclass(slots=True)
class Figures:
    """Sums in one currency, and how often; of ``no_fee`` of these the gateway has named no fee."""

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
        """What is left, as far as fees are known."""
        return self.charged - self.refunded - self.charged_back - self.paid_out - self.fee

    @property
    def count(self) -> int:
        """How often money has moved."""
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
        """Return whether both say the same; of fees only where both know them all."""
        fees_differ = self.fee != other.fee and not (self.no_fee or other.no_fee)
        return not fees_differ and self.moved == other.moved

    @property
    def moved(self) -> tuple[object, ...]:
        """What moved and how often, whatever it has cost."""
        return (
            *(self.charged, self.refunded, self.charged_back, self.paid_out),
            *(self.charges, self.refunds, self.charge_backs, self.payouts),
        )


@dataclass(frozen=True, slots=True)
class _Coverage:
    """Of ``days`` so many are ``compared`` as a whole; ``until``: a single day is compared up to then only."""

    days: int = 0
    compared: int = 0
    until: datetime | None = None
    unreadable: int = 0


@dataclass(slots=True)
class Row:
    """Sums of one currency, by ``names``: what they were made by, in that order.

    ``compared`` are ours of those days that are compared, ``gateway`` is what its books say of the same. By receiver:
    ``all_divided`` unless our books do not say of something whose it is.
    """

    names: tuple[Any, ...]
    currency: str
    ours: Figures = field(default_factory=Figures)
    compared: Figures = field(default_factory=Figures)
    gateway: Figures = field(default_factory=Figures)
    covered: _Coverage = field(default_factory=_Coverage)
    all_divided: bool = True

    @property
    def days(self) -> int:
        """Of how many days the gateway's books can have something."""
        return self.covered.days

    @property
    def days_compared(self) -> int:
        """Of how many of these they were read as a whole."""
        return self.covered.compared

    @property
    def until(self) -> datetime | None:
        """Up to when a single day is compared that is not compared as a whole; None if it is, or not at all."""
        return self.covered.until

    @property
    def unreadable(self) -> int:
        """How many lines of the gateway's books could not be read, and are in no sum."""
        return self.covered.unreadable

    @property
    def agreement(self) -> Agreement:
        """Whether both say the same, as far as that can be said."""
        if not self.days_compared:
            return Agreement.NOT_COMPARED
        if not self.compared.agrees_with(self.gateway):
            return Agreement.DIFFER if self.all_divided else Agreement.NOT_DIVIDED
        return Agreement.AGREE if self.days_compared == self.days else Agreement.AGREE_SO_FAR


_Part = Callable[[Total], Any]
_PARTS: Mapping[By, _Part] = {
    By.DAY: lambda total: total.day,
    By.ACCOUNT: lambda total: total.account_id,
    By.CHANNEL: lambda total: total.channel,
    By.RECEIVER: lambda total: total.receiver or "",
}
_Pair = tuple[str, date]


@dataclass(frozen=True)
class Money:
    """What some accounts have brought over ``days``. ``accounts`` and ``receivers`` are their names for people.

    ``expected``: of which days the gateway's books can have something, of which accounts. ``whole`` are the accounts
    and days of which its books were read as a whole, ``compared`` those of which at least a part was.
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

    def rows(self, *by: By) -> list[Row]:
        """Return the sums by that, and by currency; in the order of their names."""
        shared = By.RECEIVER in by
        whole = self._whole_shares if shared else self.whole
        parts = [_PARTS[each] for each in by if each is not By.CURRENCY]
        rows: dict[tuple[Any, ...], Row] = {}

        def row_of(total: Total) -> Row:
            names = tuple(part(total) for part in parts)
            return rows.setdefault((names, total.currency), Row(names, total.currency))

        for total in self.our_shares if shared else self.ours:
            row = row_of(total)
            row.ours.add(total)
            if (total.account_id, total.day) in whole:
                row.compared.add(total)
        for total in self.gateway_shares if shared else self.gateway:
            if (total.account_id, total.day) in whole:
                row_of(total).gateway.add(total)
        undivided = {
            each.currency
            for each in (self.our_shares if shared else ())
            if not each.receiver and (each.account_id, each.day) in whole
        }
        covered: dict[tuple[str | None, date | None], _Coverage] = {}
        for row in rows.values():
            named = dict(zip((each for each in by if each is not By.CURRENCY), row.names, strict=True))
            of = (named.get(By.ACCOUNT), named.get(By.DAY))
            if of not in covered:
                covered[of] = self._coverage(whole, *of)
            row.covered = covered[of]
            row.all_divided = row.currency not in undivided
        return [row for _, row in sorted(rows.items())]

    @property
    def _whole_shares(self) -> Collection[_Pair]:
        """Of which days the gateway's books say whose the money is: a list of a period never does (8), nor must a
        register.
        """
        told = {each.account_id for each in self.gateway_shares}
        return {pair for pair in self.whole if pair[0] in told}

    def _coverage(self, whole_pairs: Collection[_Pair], account: str | None, day: date | None) -> "_Coverage":
        days = self.expected if day is None else {day: self.expected.get(day, frozenset())}
        pairs = {
            on: [(each, on) for each in accounts if account in {None, each}]
            for on, accounts in days.items()
            if account is None or account in accounts
        }
        known = [self.compared[pair] for of_day in pairs.values() for pair in of_day if pair in self.compared]
        whole = sum(bool(of_day) and all(pair in whole_pairs for pair in of_day) for of_day in pairs.values())
        in_part = day is not None and not whole and bool(known) and len(known) == len(pairs.get(day, ()))
        return _Coverage(
            days=sum(map(bool, pairs.values())),
            compared=whole,
            until=min(each.ends_at for each in known) if in_part else None,
            unreadable=sum(each.unreadable for each in known),
        )

    @property
    def not_compared(self) -> list[date]:
        """The days of which not all books were read as a whole."""
        return sorted(
            day for day, accounts in self.expected.items() if any((each, day) not in self.whole for each in accounts)
        )


async def read_money(services: Services, accounts: Iterable[MerchantAccount], days: Days) -> Money:
    """Return what these accounts have brought over these days; some queries for each week, whatever was sold."""
    known = {each.id: each for each in accounts}
    ours: list[Total] = []
    shares: list[Total] = []
    for some in _weeks(days):
        async with services.database.transaction() as session:
            ours += await our_totals(session, known, some)
            shares += await our_shares(session, known, some)
    async with services.database.transaction() as session:
        gateway = await gateway_totals(session, known, days)
        their_shares = await gateway_shares(session, known, days)
        compared = {(each.account_id, each.day): each for each in await compared_days(session, known, days)}
    receivers = {who: name for each in known.values() for who, name in names_of(each.split_rules).items()}
    expected = _expected(known.values(), days, services.now())
    return Money(
        days=days,
        accounts={each.id: each.name for each in known.values()},
        receivers=receivers,
        ours=ours,
        gateway=gateway,
        our_shares=shares,
        gateway_shares=_by_our_names(their_shares, receivers),
        expected=expected,
        whole={
            pair
            for pair, each in compared.items()
            if pair[0] in expected.get(each.day, ()) and _is_whole(each, known[pair[0]])
        },
        compared=compared,
    )


def _weeks(days: Days) -> Iterable[Days]:
    first, last = days.first.toordinal(), days.last.toordinal()
    for day in range(first, last + 1, _AT_ONCE):
        yield Days(date.fromordinal(day), date.fromordinal(min(last, day + _AT_ONCE - 1)))


def _expected(accounts: Iterable[MerchantAccount], days: Days, now: datetime) -> dict[date, set[str]]:
    """Return of which days the gateway's books can have something: none before the account was here, none to come."""
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
    """Give receivers their ids where the books say the names that people here have given them: they may (10)."""
    ids = {name: who for who, name in names.items()}
    return [replace(each, receiver=ids.get(each.receiver or "", each.receiver)) for each in shares]


@dataclass(frozen=True, slots=True)
class BothBooks:
    """Whether our books and the gateway's agree: how far that was compared, and how many differences are open."""

    compared: Compared | None
    differences: int


async def both_books(services: Services, accounts: Iterable[MerchantAccount]) -> BothBooks:
    """Return whether the books of these accounts agree. Those that are switched off need not be compared for that."""
    rows = list(accounts)
    async with services.database.transaction() as session:
        compared = await last_compared(session, [each.id for each in rows if each.enabled])
        differences = await differences_open(session, [each.id for each in rows])
    return BothBooks(compared, differences)
