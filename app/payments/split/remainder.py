"""What is left of each share, and who gets or gives how much of what is done next. Pure.

No share ever gives back more than it received; when everything is given back, every share is at zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from app.payments.refusal import Refusal
from app.payments.split.allocation import Line, by_owner, ship_to
from app.payments.split.distribute import Shares, Weights, distribute, distribute_within, smallest
from app.payments.split.rules import SplitMode, SplitRules


@dataclass(frozen=True, slots=True)
class GrantedLine:
    """How many pieces of an order's line staff granted to refund."""

    line: Line
    pieces: int
    of: int


def left_of(received: Mapping[str, Decimal], given_back: Iterable[Mapping[str, Decimal]]) -> Shares:
    """Return what is left of each share; those with nothing left are left out."""
    left = dict(received)
    for shares in given_back:
        for who, amount in shares.items():
            left[who] = left.get(who, Decimal()) - amount
    return {who: amount for who, amount in sorted(left.items()) if amount > 0}


def captured(amount: Decimal, allocated: Mapping[str, Decimal], currency: str) -> Shares:
    """Divide what is taken of a reservation in proportion to what each was to get of the whole.

    Saleor does not say for which lines it charges. Raises IndivisibleError.
    """
    return distribute(amount, allocated, smallest(currency, amount))


def given_back(amount: Decimal, left: Mapping[str, Decimal], currency: str, worth: Weights | None = None) -> Shares:
    """Divide a refund: by what the refunded lines are worth, else in proportion to what is left of each share.

    When ``amount`` is not what the lines are worth (staff may type any total), they still give the proportion. Whoever
    has too little left gives that, and the others the rest. Raises IndivisibleError when less than ``amount`` is left.
    """
    return distribute_within(amount, worth or left, left, smallest(currency, amount, *left.values()))


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
    except Refusal:
        return {}
