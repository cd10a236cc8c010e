"""Any amount is divided to the last cent, the same way every time."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.payments.split.distribute import IndivisibleError, distribute, distribute_within, smallest, total_of

WHO = st.sampled_from([f"seller-{number}" for number in range(6)])
AMOUNTS = st.integers(1, 10_000_000).map(lambda cents: Decimal(cents) / 100)
WEIGHTS = st.dictionaries(WHO, st.decimals("0", "100000", places=3), max_size=6)


@given(amount=AMOUNTS, weights=WEIGHTS.filter(lambda weights: any(weights.values())))
def test_the_parts_make_up_the_whole_and_nobody_is_more_than_a_cent_off(
    amount: Decimal, weights: dict[str, Decimal]
) -> None:
    shares = distribute(amount, weights)
    assert total_of(shares.values()) == amount
    assert all(share > 0 for share in shares.values())
    whole = sum(weights.values())
    for who, weight in weights.items():
        assert abs(shares.get(who, Decimal()) - amount * weight / whole) < Decimal("0.01")
    assert distribute(amount, dict(reversed(weights.items()))) == shares


@given(amount=AMOUNTS, weights=WEIGHTS, limits=st.dictionaries(WHO, AMOUNTS, max_size=6))
def test_nobody_is_asked_for_more_than_the_limit(
    amount: Decimal, weights: dict[str, Decimal], limits: dict[str, Decimal]
) -> None:
    if amount > total_of(limits.values()):
        with pytest.raises(IndivisibleError):
            distribute_within(amount, weights, limits)
        return
    shares = distribute_within(amount, weights, limits)
    assert total_of(shares.values()) == amount
    assert all(0 < share <= limits[who] for who, share in shares.items())
    asked_for = {who for who, weight in weights.items() if weight and limits.get(who)}
    if any(who not in asked_for for who in shares):
        assert all(shares.get(who) == limits[who] for who in asked_for), "others give only what those could not"


def test_three_thirds_of_a_hryvnia() -> None:
    parts = distribute(Decimal("1.00"), {"c": Decimal(1), "a": Decimal(1), "b": Decimal(1)})
    assert parts == {"a": Decimal("0.34"), "b": Decimal("0.33"), "c": Decimal("0.33")}


def test_rounding_can_be_somebodys_in_particular() -> None:
    parts = distribute(Decimal("1.00"), {"a": Decimal(1), "b": Decimal(1), "c": Decimal(1)}, rest_to="c")
    assert parts == {"a": Decimal("0.33"), "b": Decimal("0.33"), "c": Decimal("0.34")}


def test_nobody_has_a_part() -> None:
    with pytest.raises(IndivisibleError):
        distribute(Decimal("1.00"), {"a": Decimal(0)})


def test_money_without_cents_is_divided_without_cents() -> None:
    assert smallest("JPY", Decimal("100.00")) == 1
    assert smallest("JPY", Decimal("100.50")) == Decimal("0.01")
    assert smallest("UAH", Decimal("100.00")) == Decimal("0.01")
    parts = distribute(Decimal("100.00"), {"a": Decimal(1), "b": Decimal(2)}, smallest("JPY", Decimal("100.00")))
    assert parts == {"a": Decimal("33.00"), "b": Decimal("67.00")}


def test_an_amount_finer_than_its_money_is_nobodys_mistake_but_ours() -> None:
    with pytest.raises(ValueError, match="multiple"):
        distribute(Decimal("1.005"), {"a": Decimal(1)})
