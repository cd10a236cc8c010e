"""Who gets what of a payment: from what is in the basket and the rules of the account to shares. Pure.

All amounts are gross: taxes belong to whoever sells. A transaction may pay only a part of its order; then everybody
gets the same part.

The parts sum to the amount exactly, by the largest remainder: everybody gets the whole cents of an exact share, and the
cents that are left over go to those who lost most by that. Equal losses are decided by the sub-merchant's UUID, so that
the same question always gets the same answer, in whatever order it is put.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from app.amounts import CENT
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.split.rules import SplitMode, SplitRules, sub_merchant

ZERO = Decimal("0.00")


Shares: TypeAlias = dict[str, Decimal]
Weights: TypeAlias = Mapping[str, Decimal | Fraction]
_WHOLE = Decimal(1)
# ISO 4217: money that has no smaller part. The gateway takes two decimals at most, so nothing is finer than a cent.
_WITHOUT_DECIMALS = frozenset(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split()  # noqa: SIM905 - a list of codes
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of what is paid for. ``name`` is what people call it, ``total`` what is paid for all of it.

    ``before_discounts`` is what would have been paid without discounts; None when that is not known. ``named`` is the
    sub-merchant as the metadata has it, unchecked. ``told`` is False when there is no metadata to look at, because the
    product was deleted or the Saleor was never asked for it: then nobody knows whose it is, and it is not the default
    sub-merchant's either.
    """

    name: str
    total: Decimal
    named: str | None = None
    before_discounts: Decimal | None = None
    told: bool = True


@dataclass(frozen=True, slots=True)
class Basket:
    """What is paid for. ``total`` is all that is to be paid for it, by however many transactions.

    It is the lines and the shipping less ``gift_cards``; where it differs from that nevertheless, a smaller total is
    taken for a discount, a larger one for a surcharge.
    """

    lines: Sequence[Line]
    total: Decimal
    shipping: Decimal = ZERO
    gift_cards: Decimal = ZERO


def allocate(rules: SplitRules, basket: Basket, amount: Decimal, currency: str) -> Shares:
    """Return the shares of a payment of ``amount``. Raises RefusalError, which names the line that is wrong."""
    if rules.mode is SplitMode.PERCENTAGES:
        weights = {who: Fraction(percent) for who, percent in rules.percentages.items()}
    else:
        weights = worth(rules, basket)
    rest_to = rules.default if rules.rounding == "default" else None
    try:
        return distribute(amount, weights, smallest(currency, amount), rest_to=rest_to)
    except IndivisibleError:
        raise _refused("This payment cannot be split: nothing in it is worth anything.") from None


def worth(rules: SplitRules, basket: Basket) -> dict[str, Fraction]:
    """Return what of the basket's total is whose, exactly. Raises RefusalError."""
    in_full = rules.discounts == "default"
    values = by_owner(rules, [(line, _value(line, in_full=in_full)) for line in basket.lines])
    _ship(rules, values, basket.shipping)
    surcharge = Fraction(
        basket.total + basket.gift_cards - basket.shipping - sum((e.total for e in basket.lines), ZERO)
    )
    discounts = max(-surcharge, Fraction())
    if in_full:
        discounts += sum((_value(line, in_full=True) - Fraction(line.total) for line in basket.lines), Fraction())
    _add(rules, values, max(surcharge, Fraction()))
    _reduce(values, discounts, rules.default if in_full else None)
    _reduce(values, Fraction(basket.gift_cards), rules.default if rules.gift_cards == "default" else None)
    return values


def by_owner(rules: SplitRules, parts: Sequence[tuple[Line, Fraction]]) -> dict[str, Fraction]:
    """Return how much of the values given belongs to whom.

    What is worth nothing belongs to nobody. Raises RefusalError.
    """
    values: dict[str, Fraction] = {}
    for line, value in parts:
        if value:
            who = owner(rules, line)
            values[who] = values.get(who, Fraction()) + value
    return values


def owner(rules: SplitRules, line: Line) -> str:
    """Return whose line it is. Raises RefusalError."""
    if not line.told:
        raise _refused(f"Saleor does not tell the product of “{line.name}”, so nobody knows who sells it.")
    if not line.named:
        if rules.default is None:
            raise _refused(
                f"“{line.name}” names no sub-merchant (metadata {rules.metadata_key!r}), and there is no default one."
            )
        return rules.default
    try:
        who = sub_merchant(line.named)
    except ValueError:
        raise _refused(f"“{line.name}” names the sub-merchant {line.named!r}, which is not a UUID.") from None
    if not rules.known(who):
        raise _refused(f"“{line.name}” names the sub-merchant {who}, which this merchant account does not know.")
    return who


def ship_to(rules: SplitRules, values: dict[str, Fraction], shipping: Decimal) -> dict[str, Fraction]:
    """Return ``values`` with what was paid for shipping added to whoever gets it. Raises RefusalError."""
    added = dict(values)
    _ship(rules, added, shipping)
    return added


def _value(line: Line, *, in_full: bool) -> Fraction:
    before = line.before_discounts if in_full else None
    return Fraction(line.total if before is None else max(before, line.total))


def _ship(rules: SplitRules, values: dict[str, Fraction], shipping: Decimal) -> None:
    if shipping <= 0:
        return
    if rules.shipping not in {"default", "lines"}:
        values[rules.shipping] = values.get(rules.shipping, Fraction()) + Fraction(shipping)
    elif rules.shipping == "lines" and any(values.values()):
        _scale(values, 1 + Fraction(shipping) / sum(values.values(), Fraction()))
    elif rules.default is not None:
        values[rules.default] = values.get(rules.default, Fraction()) + Fraction(shipping)
    else:
        raise _refused("The shipping goes by the lines, but none of them costs anything, and there is no default one.")


def _add(rules: SplitRules, values: dict[str, Fraction], more: Fraction) -> None:
    if rules.default is not None:
        values[rules.default] = values.get(rules.default, Fraction()) + more
    elif any(values.values()):
        _scale(values, 1 + more / sum(values.values(), Fraction()))


def _reduce(values: dict[str, Fraction], less: Fraction, bearer: str | None) -> None:
    """Take ``less`` from the bearer as far as its part goes, the rest from all in proportion."""
    if bearer is not None:
        borne = min(less, values.get(bearer, Fraction()))
        values[bearer] = values.get(bearer, Fraction()) - borne
        less -= borne
    whole = sum(values.values(), Fraction())
    if less > 0 and whole:
        _scale(values, max(Fraction(), 1 - less / whole))


def _scale(values: dict[str, Fraction], factor: Fraction) -> None:
    for who in values:
        values[who] *= factor


def _refused(words: str) -> RefusalError:
    return RefusalError(RefusalCode.SPLIT_NOT_POSSIBLE, words)


class IndivisibleError(Exception):
    """The amount cannot be divided so: nobody has a part in it, or all together may not have that much."""


def smallest(currency: str, *amounts: Decimal) -> Decimal:
    """Return what shares in that currency are multiples of: a cent, or one where there are no cents.

    Where an amount has cents in spite of its currency, so do the shares.
    """
    whole = currency in _WITHOUT_DECIMALS and all(amount == amount.to_integral_value() for amount in amounts)
    return _WHOLE if whole else CENT


def distribute(amount: Decimal, weights: Weights, unit: Decimal = CENT, *, rest_to: str | None = None) -> Shares:
    """Divide ``amount`` in the proportion of ``weights``; zero shares are left out.

    ``rest_to`` takes what rounding leaves over, instead of those who lost most by it. Raises IndivisibleError when no
    weight is above zero, and ValueError when the amount is no multiple of ``unit``.
    """
    return _as_amounts(_proportional(_units(amount, unit), _positive(weights), rest_to), unit)


def distribute_within(amount: Decimal, weights: Weights, limits: Mapping[str, Decimal], unit: Decimal = CENT) -> Shares:
    """Divide ``amount`` in the proportion of ``weights``, nobody above their limit.

    Who reaches the limit stops there, and the others share what is left in their proportion; what all of them together
    cannot take goes to the rest, in proportion to what is left of their limits. Raises IndivisibleError when the limits
    sum to less than the amount.
    """
    room = {who: _units(limit, unit) for who, limit in limits.items() if limit > 0}
    todo = _units(amount, unit)
    if todo > sum(room.values()):
        raise IndivisibleError(f"{amount} is more than the {sum(limits.values(), Decimal())} that is left")
    taken = _filled(todo, _positive(weights), room)
    rest = {who: units - taken.get(who, 0) for who, units in room.items()}
    more = _filled(todo - sum(taken.values()), {who: Fraction(units) for who, units in rest.items()}, rest)
    return _as_amounts({who: taken.get(who, 0) + more.get(who, 0) for who in room}, unit)


def total_of(shares: Iterable[Decimal]) -> Decimal:
    """Return the sum, with two decimals."""
    return sum(shares, Decimal("0.00"))


def _filled(todo: int, weights: Mapping[str, Fraction], room: Mapping[str, int]) -> dict[str, int]:
    """Divide as much of ``todo`` as those with a weight have room for."""
    open_ = {who: weight for who, weight in weights.items() if room.get(who, 0) > 0}
    given: dict[str, int] = {}
    while open_:
        whole = sum(open_.values(), Fraction())
        full = {who: room[who] for who, weight in open_.items() if todo * weight / whole >= room[who]}
        if not full:  # every exact share is below its limit, so its rounded one is not above it
            return given | _proportional(todo, open_, None)
        given |= full
        todo -= sum(full.values())
        open_ = {who: weight for who, weight in open_.items() if who not in full}
    return given


def _proportional(todo: int, weights: Mapping[str, Fraction], rest_to: str | None) -> dict[str, int]:
    whole = sum(weights.values(), Fraction())
    if not whole:
        raise IndivisibleError("nobody has a part in it")
    exact = {who: todo * weight / whole for who, weight in weights.items()}
    given = {who: int(share) for who, share in exact.items()}
    over = todo - sum(given.values())
    if rest_to is not None:
        given[rest_to] = given.get(rest_to, 0) + over
        return given
    for who in sorted(exact, key=lambda each: (given[each] - exact[each], each))[:over]:
        given[who] += 1
    return given


def _positive(weights: Weights) -> dict[str, Fraction]:
    return {who: Fraction(weight) for who, weight in weights.items() if weight > 0}


def _units(amount: Decimal, unit: Decimal) -> int:
    units = amount / unit
    if units != units.to_integral_value():
        raise ValueError(f"{amount} is no multiple of {unit}")
    return int(units)


def _as_amounts(units: Mapping[str, int], unit: Decimal) -> Shares:
    return {who: (number * unit).quantize(CENT) for who, number in sorted(units.items()) if number}
