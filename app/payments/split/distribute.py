"""Divides an amount among sub-merchants so that the parts sum to it exactly. Pure.

Largest remainder: everybody gets the whole cents of an exact share, and the cents that are left over go to those who
lost most by that. Equal losses are decided by the sub-merchant's UUID, so that the same question always gets the same
answer, in whatever order it is put.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from app.amounts import CENT

Shares: TypeAlias = dict[str, Decimal]
Weights: TypeAlias = Mapping[str, Decimal | Fraction]

_WHOLE = Decimal(1)
# ISO 4217: money that has no smaller part. The gateway takes two decimals at most, so nothing is finer than a cent.
_WITHOUT_DECIMALS = frozenset(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split()  # noqa: SIM905 - a list of codes
)


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
    while open_ and todo > 0:
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
