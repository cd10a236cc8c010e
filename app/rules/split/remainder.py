"""The remainder of each share, and the division of the next capture or refund. Pure.

No share is ever refunded beyond the amount received; after a full refund every share is at zero. However many small
refunds there are, no share drifts away from its fair part of them: a refund is not rounded by itself, but so that the
cumulative sums refunded so far are right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from app.i18n.currencies import smallest_unit
from app.rules.refusal import RefusalError
from app.rules.split.allocation import (
    IndivisibleError,
    Line,
    Shares,
    Weights,
    add_shipping,
    distribute,
    distribute_within,
    total_of,
    worth_by_owner,
)
from app.rules.split.rules import SplitMode, SplitRules
from integration_base.amounts import format_amount


@dataclass(frozen=True, slots=True)
class GrantedLine:
    """A line of an order of which staff granted to refund ``pieces`` of its ``line_pieces`` pieces."""

    line: Line
    pieces: int
    line_pieces: int


@dataclass(frozen=True, slots=True)
class Remainder:
    """The remainder of each share.

    ``left`` is in whole cents, without shares that have nothing left. ``exact`` has the same sum: it is the remainder
    if refunds in proportion to it could be divided into fractions of a cent. Refunds are rounded towards it.
    """

    left: Shares
    exact: Mapping[str, Fraction]

    @classmethod
    def of(cls, received: Mapping[str, Decimal]) -> "Remainder":
        """Return the remainder of shares before any refund."""
        left = {who: amount for who, amount in sorted(received.items()) if amount > 0}
        return cls(left, {who: Fraction(amount) for who, amount in left.items()})

    @property
    def total(self) -> Decimal:
        """The sum of all remainders."""
        return total_of(self.left.values())

    def after(self, shares: Mapping[str, Decimal], currency: str) -> "Remainder":
        """Return the remainder after a refund of ``shares``.

        Shares that equal the proportional division were rounded, and the next refund compensates for that. Shares by
        lines, or chosen by staff, are exact to the cent.
        """
        amount = total_of(shares.values())
        rounded = amount <= self.total and shares == divide_refund(amount, self, currency)
        gone: Mapping[str, Decimal] = {} if rounded else shares
        rest = Remainder.of({who: left - shares.get(who, Decimal()) for who, left in self.left.items()})
        exact = {who: max(Fraction(), self.exact[who] - Fraction(gone.get(who, Decimal()))) for who in rest.left}
        whole = sum(exact.values(), Fraction())
        if not whole:
            return rest
        return Remainder(rest.left, {who: share * Fraction(rest.total) / whole for who, share in exact.items()})


def divide_capture(amount: Decimal, allocated: Mapping[str, Decimal], currency: str) -> Shares:
    """Divide a capture in proportion to the shares allocated of the whole authorization.

    Saleor does not state for which lines it charges. Raises IndivisibleError.
    """
    return distribute(amount, allocated, smallest_unit(currency, amount))


def divide_refund(amount: Decimal, rest: Remainder, currency: str, worth: Weights | None = None) -> Shares:
    """Divide a refund by the worth of the refunded lines, else in proportion to the remainder of each share.

    When ``amount`` differs from the worth of the lines (staff may type any total), they still determine the proportion.
    A share with too small a remainder gives all of it, and the others give the rest. Raises IndivisibleError when less
    than ``amount`` is left.
    """
    unit = smallest_unit(currency, amount, *rest.left.values())
    if worth:
        return distribute_within(amount, worth, rest.left, unit)
    if amount > rest.total:
        raise IndivisibleError(f"{format_amount(amount)} is more than the {format_amount(rest.total)} that is left")
    # The remainder is rounded, not the refund: so the next refund starts where this one should have ended.
    stays = distribute_within(rest.total - amount, rest.exact, rest.left, unit)
    shares = {who: left - stays.get(who, Decimal()) for who, left in rest.left.items()}
    return {who: share for who, share in shares.items() if share}


def granted_worth(rules: SplitRules, lines: Sequence[GrantedLine], *, shipping: Decimal) -> dict[str, Fraction]:
    """Return each sub-merchant's part of a granted refund: pieces at the price paid, and ``shipping`` if included.

    Empty when the lines do not determine it: none are given, the seller of one is no longer known, or the account
    splits by percentages. Then the refund is divided by the remainders. An account that does not split any more may
    have split this payment by its lines.
    """
    if rules.mode is SplitMode.PERCENTAGES or any(line.line_pieces <= 0 for line in lines):
        return {}
    parts = [(line.line, Fraction(line.line.total) * line.pieces / line.line_pieces) for line in lines]
    try:
        return add_shipping(rules, worth_by_owner(rules, parts), shipping)
    except RefusalError:
        return {}


def worth_of_recipients(worth: Mapping[str, Fraction], received: Mapping[str, Decimal]) -> dict[str, Fraction]:
    """Return the worth of granted lines by those who received money of the payment.

    What belongs to others, because a product or the shipping is somebody else's by now, is divided by what each
    received: nobody alone gives back what was another's. Empty when all of it belongs to others.
    """
    known = {who: value for who, value in worth.items() if received.get(who)}
    rest, whole = sum(worth.values(), Fraction()) - sum(known.values(), Fraction()), total_of(received.values())
    if not known or not rest:
        return known
    return {
        who: known.get(who, Fraction()) + rest * Fraction(amount) / Fraction(whole) for who, amount in received.items()
    }
