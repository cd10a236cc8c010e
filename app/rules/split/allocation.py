"""Allocates a payment to sub-merchants: computes shares from the basket and the account's rules. Pure.

All amounts are gross: taxes belong to the seller. A transaction may pay only a part of its order; then each
sub-merchant gets that proportion of its share.

The parts sum to the amount exactly, by the largest remainder method: each sub-merchant gets the whole cents of its
exact share, and the leftover cents go to those that lost most by rounding down. Ties are broken by the sub-merchant's
UUID, so that the result is deterministic and does not depend on the order of the input.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from app.i18n.currencies import smallest_unit
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.split.rules import SplitMode, SplitRules, parse_sub_merchant
from integration_base.amounts import CENT, format_amount

ZERO = Decimal("0.00")


Shares: TypeAlias = dict[str, Decimal]
Weights: TypeAlias = Mapping[str, Decimal | Fraction]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a basket. ``name`` is its display name, ``total`` the price paid for the whole line.

    ``before_discounts`` is the price without discounts; None when unknown. ``sub_merchant`` is the unvalidated value
    from the metadata. ``has_metadata`` is False when there is no metadata to read, because the product was deleted or
    was never requested from Saleor: then the owner is unknown, and the line does not go to the default sub-merchant
    either.
    """

    name: str
    total: Decimal
    sub_merchant: str | None = None
    before_discounts: Decimal | None = None
    has_metadata: bool = True


@dataclass(frozen=True, slots=True)
class Basket:
    """What is being paid for. ``total`` is the full price, by however many transactions it is paid.

    It equals lines plus shipping less ``gift_cards``. If it differs, a smaller total is treated as a discount, a
    larger one as a surcharge.
    """

    lines: Sequence[Line]
    total: Decimal
    shipping: Decimal = ZERO
    gift_cards: Decimal = ZERO


def allocate(rules: SplitRules, basket: Basket, amount: Decimal, currency: str) -> Shares:
    """Return the shares of a payment of ``amount``. Raises RefusalError, which names the invalid line."""
    if rules.mode is SplitMode.PERCENTAGES:
        weights = {who: Fraction(percent) for who, percent in rules.percentages.items()}
    else:
        weights = basket_worth(rules, basket)
    rest_to = rules.default if rules.rounding == "default" else None
    try:
        return distribute(amount, weights, smallest_unit(currency, amount), rest_to=rest_to)
    except IndivisibleError:
        raise _refusal("This payment cannot be split: nothing in it has a price.") from None


def basket_worth(rules: SplitRules, basket: Basket) -> dict[str, Fraction]:
    """Return each sub-merchant's exact part of the basket's total. Raises RefusalError."""
    in_full = rules.discounts == "default"
    values = worth_by_owner(rules, [(line, _line_value(line, in_full=in_full)) for line in basket.lines])
    _apply_shipping(rules, values, basket.shipping)
    surcharge = Fraction(
        basket.total + basket.gift_cards - basket.shipping - sum((e.total for e in basket.lines), ZERO)
    )
    discounts = max(-surcharge, Fraction())
    if in_full:
        discounts += sum((_line_value(line, in_full=True) - Fraction(line.total) for line in basket.lines), Fraction())
    _apply_surcharge(rules, values, max(surcharge, Fraction()))
    _apply_reduction(values, discounts, rules.default if in_full else None)
    _apply_reduction(values, Fraction(basket.gift_cards), rules.default if rules.gift_cards == "default" else None)
    return values


def worth_by_owner(rules: SplitRules, parts: Sequence[tuple[Line, Fraction]]) -> dict[str, Fraction]:
    """Sum the values by the sub-merchant that owns each line.

    A line that is worth nothing has no owner. Raises RefusalError.
    """
    values: dict[str, Fraction] = {}
    for line, value in parts:
        if value:
            who = owner_of(rules, line)
            values[who] = values.get(who, Fraction()) + value
    return values


def owner_of(rules: SplitRules, line: Line) -> str:
    """Return the sub-merchant that owns a line. Raises RefusalError."""
    if not line.has_metadata:
        raise _refusal(f"Saleor does not report the product of “{line.name}”, so it is unknown who sells it.")
    if not line.sub_merchant:
        if rules.default is None:
            raise _refusal(
                f"“{line.name}” names no sub-merchant (metadata {rules.metadata_key!r}), and there is no default one."
            )
        return rules.default
    try:
        who = parse_sub_merchant(line.sub_merchant)
    except ValueError:
        raise _refusal(f"“{line.name}” names the sub-merchant {line.sub_merchant!r}, which is not a UUID.") from None
    if not rules.allows(who):
        raise _refusal(f"“{line.name}” names the sub-merchant {who}, which this merchant account does not know.")
    return who


def add_shipping(rules: SplitRules, values: dict[str, Fraction], shipping: Decimal) -> dict[str, Fraction]:
    """Return ``values`` with the shipping price added to the sub-merchants that get it. Raises RefusalError."""
    added = dict(values)
    _apply_shipping(rules, added, shipping)
    return added


def _line_value(line: Line, *, in_full: bool) -> Fraction:
    before = line.before_discounts if in_full else None
    return Fraction(line.total if before is None else max(before, line.total))


def _apply_shipping(rules: SplitRules, values: dict[str, Fraction], shipping: Decimal) -> None:
    if shipping <= 0:
        return
    if rules.shipping not in {"default", "lines"}:
        values[rules.shipping] = values.get(rules.shipping, Fraction()) + Fraction(shipping)
    elif rules.shipping == "lines" and any(values.values()):
        _scale(values, 1 + Fraction(shipping) / sum(values.values(), Fraction()))
    elif rules.default is not None:
        values[rules.default] = values.get(rules.default, Fraction()) + Fraction(shipping)
    else:
        raise _refusal(
            "The shipping is divided by the lines, but none of them costs anything, and there is no "
            "default sub-merchant."
        )


def _apply_surcharge(rules: SplitRules, values: dict[str, Fraction], more: Fraction) -> None:
    if rules.default is not None:
        values[rules.default] = values.get(rules.default, Fraction()) + more
    elif any(values.values()):
        _scale(values, 1 + more / sum(values.values(), Fraction()))


def _apply_reduction(values: dict[str, Fraction], less: Fraction, bearer: str | None) -> None:
    """Deduct ``less`` from the bearer, up to its part, and the rest from all in proportion."""
    if bearer is not None:
        borne = min(less, values.get(bearer, Fraction()))
        values[bearer] = values.get(bearer, Fraction()) - borne
        less -= borne
    whole = sum(values.values(), Fraction())
    if whole:
        _scale(values, max(Fraction(), 1 - less / whole))


def _scale(values: dict[str, Fraction], factor: Fraction) -> None:
    for who in values:
        values[who] *= factor


def _refusal(message: str) -> RefusalError:
    return RefusalError(RefusalCode.SPLIT_NOT_POSSIBLE, message)


class IndivisibleError(Exception):
    """The amount cannot be divided: no weight is above zero, or the limits together are less than the amount."""


def distribute(amount: Decimal, weights: Weights, unit: Decimal = CENT, *, rest_to: str | None = None) -> Shares:
    """Divide ``amount`` in proportion to ``weights``; zero shares are omitted.

    ``rest_to`` gets the units left over by rounding, instead of those that lost most by it. Raises IndivisibleError
    when no weight is above zero, and ValueError when the amount is no multiple of ``unit``.
    """
    return _to_amounts(_apportion(_to_units(amount, unit), _positive_weights(weights), rest_to), unit)


def distribute_within(amount: Decimal, weights: Weights, limits: Mapping[str, Decimal], unit: Decimal = CENT) -> Shares:
    """Divide ``amount`` in proportion to ``weights``, no share above its limit.

    A share that reaches its limit stops there, and the others divide the rest in proportion. What the weighted
    sub-merchants together cannot take goes to all, in proportion to the remainders of their limits. Raises
    IndivisibleError when the limits sum to less than the amount.
    """
    room = {who: _to_units(limit, unit) for who, limit in limits.items() if limit > 0}
    todo = _to_units(amount, unit)
    if todo > sum(room.values()):
        left = sum(limits.values(), Decimal())
        raise IndivisibleError(f"{format_amount(amount)} is more than the {format_amount(left)} that is left")
    taken = _fill(todo, _positive_weights(weights), room)
    rest = {who: units - taken.get(who, 0) for who, units in room.items()}
    more = _fill(todo - sum(taken.values()), {who: Fraction(units) for who, units in rest.items()}, rest)
    return _to_amounts({who: taken.get(who, 0) + more.get(who, 0) for who in room}, unit)


def total_of(shares: Iterable[Decimal]) -> Decimal:
    """Return the sum, with two decimals."""
    return sum(shares, Decimal("0.00"))


def without(left: Mapping[str, Decimal], taken: Mapping[str, Decimal]) -> Shares:
    """Return what is left of each share once ``taken`` is gone; none of those of which all is."""
    return {who: rest for who, share in left.items() if (rest := share - taken.get(who, Decimal())) > 0}


def _fill(todo: int, weights: Mapping[str, Fraction], room: Mapping[str, int]) -> dict[str, int]:
    """Divide as much of ``todo`` as the sub-merchants with a weight have room for."""
    open_ = {who: weight for who, weight in weights.items() if room.get(who, 0) > 0}
    given: dict[str, int] = {}
    while open_:
        whole = sum(open_.values(), Fraction())
        full = {who: room[who] for who, weight in open_.items() if todo * weight / whole >= room[who]}
        if not full:  # every exact share is below its limit, so its rounded one is not above it
            return given | _apportion(todo, open_, None)
        given |= full
        todo -= sum(full.values())
        open_ = {who: weight for who, weight in open_.items() if who not in full}
    return given


def _apportion(todo: int, weights: Mapping[str, Fraction], rest_to: str | None) -> dict[str, int]:
    whole = sum(weights.values(), Fraction())
    if not whole:
        raise IndivisibleError("no sub-merchant has a part in it")
    exact = {who: todo * weight / whole for who, weight in weights.items()}
    given = {who: int(share) for who, share in exact.items()}
    over = todo - sum(given.values())
    if rest_to is not None:
        given[rest_to] = given.get(rest_to, 0) + over
        return given
    for who in sorted(exact, key=lambda sub_merchant: (given[sub_merchant] - exact[sub_merchant], sub_merchant))[:over]:
        given[who] += 1
    return given


def _positive_weights(weights: Weights) -> dict[str, Fraction]:
    return {who: Fraction(weight) for who, weight in weights.items() if weight > 0}


def _to_units(amount: Decimal, unit: Decimal) -> int:
    units = amount / unit
    if units != units.to_integral_value():
        raise ValueError(f"{format_amount(amount)} is no multiple of {unit}")
    return int(units)


def _to_amounts(units: Mapping[str, int], unit: Decimal) -> Shares:
    return {who: (number * unit).quantize(CENT) for who, number in sorted(units.items()) if number}
