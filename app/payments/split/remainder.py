"""What is left of each share, and who gets or gives how much of what is done next. Pure.

No share ever gives back more than it received; when everything is given back, every share is at zero. However many
small refunds there are, nobody drifts away from a fair part of them: each refund is rounded so that the sums given back
until then are right, not by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from app.payments.core.refusal import RefusalError
from app.payments.split.allocation import (
    IndivisibleError,
    Line,
    Shares,
    Weights,
    by_owner,
    distribute,
    distribute_within,
    ship_to,
    smallest,
    total_of,
)
from app.payments.split.rules import SplitMode, SplitRules


@dataclass(frozen=True, slots=True)
class GrantedLine:
    """How many pieces of an order's line staff granted to refund."""

    line: Line
    pieces: int
    of: int


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left of each share.

    ``left`` is in whole cents, without those who have nothing left. ``exact`` is what would be left if refunds that go
    by what is left could be divided into parts of a cent: the same sum. Refunds are rounded towards it.
    """

    left: Shares
    exact: Mapping[str, Fraction]

    @classmethod
    def of(cls, received: Mapping[str, Decimal]) -> "Remainder":
        """Return the remainder of shares of which nothing was given back."""
        left = {who: amount for who, amount in sorted(received.items()) if amount > 0}
        return cls(left, {who: Fraction(amount) for who, amount in left.items()})

    @property
    def total(self) -> Decimal:
        """What is left of all shares together."""
        return total_of(self.left.values())

    def after(self, shares: Mapping[str, Decimal], currency: str) -> "Remainder":
        """Return what is left after a refund of ``shares``.

        Shares that are just what was due in proportion were rounded, and the next refund makes up for that. What went
        by lines, or as somebody chose, is right to the cent.
        """
        amount = total_of(shares.values())
        rounded = amount <= self.total and shares == given_back(amount, self, currency)
        gone: Mapping[str, Decimal] = {} if rounded else shares
        rest = Remainder.of({who: left - shares.get(who, Decimal()) for who, left in self.left.items()})
        exact = {who: max(Fraction(), self.exact[who] - Fraction(gone.get(who, Decimal()))) for who in rest.left}
        whole = sum(exact.values(), Fraction())
        if not whole:
            return rest
        return Remainder(rest.left, {who: each * Fraction(rest.total) / whole for who, each in exact.items()})


def captured(amount: Decimal, allocated: Mapping[str, Decimal], currency: str) -> Shares:
    """Divide what is taken of a reservation in proportion to what each was to get of the whole.

    Saleor does not say for which lines it charges. Raises IndivisibleError.
    """
    return distribute(amount, allocated, smallest(currency, amount))


def given_back(amount: Decimal, rest: Remainder, currency: str, worth: Weights | None = None) -> Shares:
    """Divide a refund: by what the refunded lines are worth, else in proportion to what is left of each share.

    When ``amount`` is not what the lines are worth (staff may type any total), they still give the proportion. Whoever
    has too little left gives that, and the others the rest. Raises IndivisibleError when less than ``amount`` is left.
    """
    unit = smallest(currency, amount, *rest.left.values())
    if worth:
        return distribute_within(amount, worth, rest.left, unit)
    if amount > rest.total:
        raise IndivisibleError(f"{amount} is more than the {rest.total} that is left")
    # What stays is rounded, not what goes: so the next refund begins where this one should have ended.
    stays = distribute_within(rest.total - amount, rest.exact, rest.left, unit)
    shares = {who: left - stays.get(who, Decimal()) for who, left in rest.left.items()}
    return {who: share for who, share in shares.items() if share}


def granted_worth(rules: SplitRules, lines: Sequence[GrantedLine], *, shipping: Decimal) -> dict[str, Fraction]:
    """Return what of a granted refund is whose: pieces of lines at the price paid, and ``shipping`` if it is included.

    Empty when the lines do not tell: because none are given, because of one nobody knows any more who sold it, or
    because the account splits by percentages. Then it goes by what is left.
    """
    if rules.mode is not SplitMode.METADATA or any(each.of <= 0 for each in lines):
        return {}
    parts = [(each.line, Fraction(each.line.total) * each.pieces / each.of) for each in lines]
    try:
        return ship_to(rules, by_owner(rules, parts), shipping)
    except RefusalError:
        return {}
