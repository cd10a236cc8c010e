"""Overview of a split payment for display: one row for each sub-merchant. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.core.payment import PaymentAggregate
from app.rules.split.allocation import ZERO
from app.rules.split.standing import OperationShares, allocated_shares, chosen_shares, standing_of


@dataclass(frozen=True, slots=True)
class SubMerchantStanding:
    """A sub-merchant's part of a payment, in its currency.

    ``left`` is the amount that can still be given back; ``at_most`` is the same if none of the assumed refunds was
    this sub-merchant's. ``chosen`` is the part of the next refund that staff chose for it; None: none was chosen.
    """

    who: str
    name: str
    to_get: Decimal
    received: Decimal
    given_back: Decimal
    left: Decimal
    at_most: Decimal
    chosen: Decimal | None


def overview(aggregate: PaymentAggregate, names: Mapping[str, str]) -> list[SubMerchantStanding]:
    """Return a row for each sub-merchant with an allocated, received or chosen amount, sorted by display name."""
    whole, standing, chosen = allocated_shares(aggregate), standing_of(aggregate), chosen_shares(aggregate) or {}
    received, given_back = _sum_shares(standing.received), _sum_shares(standing.refunds)
    return [
        SubMerchantStanding(
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


def _sum_shares(parts: Sequence[OperationShares]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for part in parts:
        for who, amount in part.shares.items():
            sums[who] = sums.get(who, ZERO) + amount
    return sums
