"""Whose money a split payment is, one line for each sub-merchant, as people are shown it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.db.aggregates import PaymentAggregate
from app.payments.split.allocation import ZERO
from app.payments.split.choice import chosen_in
from app.payments.split.standing import Part, allocated, standing_of


@dataclass(frozen=True, slots=True)
class OneOfThem:
    """A sub-merchant's part of a payment, in its currency.

    ``left`` is what can be given back; ``at_most`` the same if nothing of what is only assumed was this one's.
    ``chosen`` is what staff chose to take of the next refund; None: nothing was chosen of this one.
    """

    who: str
    name: str
    to_get: Decimal
    received: Decimal
    given_back: Decimal
    left: Decimal
    at_most: Decimal
    chosen: Decimal | None


def overview(aggregate: PaymentAggregate, names: Mapping[str, str]) -> list[OneOfThem]:
    """Return a line for everybody who is to get something, got something or is chosen, by the names that people use."""
    whole, standing, chosen = allocated(aggregate), standing_of(aggregate), chosen_in(aggregate) or {}
    received, given_back = _sums(standing.received), _sums(standing.refunds)
    return [
        OneOfThem(
            who=who,
            name=names.get(who, who),
            to_get=whole.get(who, ZERO),
            received=received.get(who, ZERO),
            given_back=given_back.get(who, ZERO),
            left=standing.left.get(who, ZERO),
            at_most=standing.at_most.get(who, ZERO),
            chosen=chosen.get(who),
        )
        for who in sorted({*whole, *received, *chosen}, key=lambda who: names.get(who, who))
    ]


def _sums(parts: Sequence[Part]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for part in parts:
        for who, amount in part.shares.items():
            sums[who] = sums.get(who, ZERO) + amount
    return sums
