"""Whatever is bought, paid, captured and given back: shares sum to the cent, and nobody gives more than they got."""

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rules.split.allocation import Basket, Line, allocate, total_of
from app.rules.split.remainder import GrantedLine, Remainder, divide_capture, divide_refund, granted_worth
from app.rules.split.rules import SplitRules
from tests.payments.split.people import MARKET, NAMES, POTTER, SELLERS, SMITH, rules

CENTS = st.integers(0, 200_000).map(lambda cents: Decimal(cents).scaleb(-2))
PART = st.fractions(0, 1)


@st.composite
def lines(draw: st.DrawFn) -> Line:
    total = draw(CENTS)
    before = draw(st.none() | st.just(total + draw(CENTS)))
    who = draw(st.none() | st.sampled_from(SELLERS))
    return Line(draw(st.sampled_from(["Mugs", "Lamp", "Cloth"])), total, who, before)


@st.composite
def baskets(draw: st.DrawFn) -> Basket:
    bought, shipping = draw(st.lists(lines(), min_size=1, max_size=6)), draw(CENTS)
    full = sum((line.total for line in bought), shipping)
    gift_cards = (full * Decimal(draw(st.integers(0, 90))) / 100).quantize(Decimal("0.01"))
    # A voucher, or a fee, that no line shows.
    total = full - gift_cards + draw(st.sampled_from([Decimal(0), Decimal("-1.37"), Decimal("2.20")]))
    return Basket(bought, max(total, Decimal("0.01")), shipping, gift_cards)


RULES = st.one_of(
    st.builds(
        lambda shipping, discounts, gift_cards, rounding: rules(
            shipping=shipping, discounts=discounts, gift_cards=gift_cards, rounding=rounding
        ),
        st.sampled_from(["default", "lines", SMITH]),
        st.sampled_from(["lines", "default"]),
        st.sampled_from(["lines", "default"]),
        st.sampled_from(["largest_remainder", "default"]),
    ),
    st.integers(1, 9999).map(
        lambda hundredths: rules(
            mode="percentages", percentages={POTTER: Decimal(hundredths) / 100, MARKET: 100 - Decimal(hundredths) / 100}
        )
    ),
)
# Of what is paid, and of what is still there each time.
STEPS = st.lists(st.tuples(st.sampled_from(["plain", "granted"]), st.integers(1, 100)), max_size=8)


@dataclass
class Case:
    rules: SplitRules
    basket: Basket
    paid: Decimal


@st.composite
def cases(draw: st.DrawFn) -> Case:
    basket = draw(baskets())
    # A basket in which everything is given away for nothing is refused: see test_allocation.
    if not any(line.total for line in basket.lines):
        basket = replace(basket, lines=[*basket.lines, Line("Mugs", Decimal("5.00"), POTTER)])
        basket = replace(basket, total=basket.total + Decimal("5.00"))
    percent = draw(st.sampled_from([100, 100, 50, 33, 1]))
    paid = max(Decimal("0.01"), (basket.total * percent / 100).quantize(Decimal("0.01")))
    return Case(draw(RULES), basket, paid)


@given(case=cases(), data=st.data())
def test_a_payment_is_somebodys_to_the_last_cent(case: Case, data: st.DataObject) -> None:
    shares = allocate(case.rules, case.basket, case.paid, "UAH")
    assert total_of(shares.values()) == case.paid
    assert all(share > 0 for share in shares.values())
    assert set(shares) <= set(NAMES)
    shuffled = replace(case.basket, lines=data.draw(st.permutations(case.basket.lines)))
    assert allocate(case.rules, shuffled, case.paid, "UAH") == shares, "the order of the lines does not matter"


@given(case=cases(), percent=st.integers(1, 100), steps=STEPS, data=st.data())
def test_what_was_captured_is_given_back_until_everybody_is_at_zero(
    case: Case, percent: int, steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    allocated = allocate(case.rules, case.basket, case.paid, "UAH")
    taken = max(Decimal("0.01"), (case.paid * percent / 100).quantize(Decimal("0.01")))
    received = divide_capture(taken, allocated, "UAH")
    assert total_of(received.values()) == taken
    assert all(share <= allocated[who] for who, share in received.items())
    assert taken != case.paid or received == allocated
    refunds: list[dict[str, Decimal]] = []
    rest = Remainder.of(received)
    for kind, part in [*steps, ("plain", 100)]:
        amount = (rest.total * part / 100).quantize(Decimal("0.01"))
        if not amount:
            continue
        worth = None
        if kind == "granted":
            some = data.draw(st.lists(st.sampled_from(case.basket.lines), max_size=3))
            granted = [GrantedLine(line, data.draw(st.integers(1, 3)), 3) for line in some]
            shipping = data.draw(st.sampled_from([Decimal(0), case.basket.shipping]))
            worth = granted_worth(case.rules, granted, shipping=shipping)
        refund = divide_refund(amount, rest, "UAH", worth)
        assert total_of(refund.values()) == amount
        assert all(0 < share <= rest.left[who] for who, share in refund.items())
        turned = Remainder(dict(reversed(rest.left.items())), rest.exact)
        assert refund == divide_refund(amount, turned, "UAH", worth), "same question, same shares"
        refunds.append(refund)
        rest = rest.after(refund, "UAH")
    assert rest.left == {}
    for who, share in received.items():
        assert total_of(refund.get(who, Decimal()) for refund in refunds) == share


@given(
    received=st.dictionaries(st.sampled_from(SELLERS), st.integers(1, 30_000), min_size=2),
    refunds=st.lists(st.integers(1, 500), max_size=60),
)
def test_however_many_small_refunds_there_are_nobody_drifts_away_from_a_fair_part(
    received: dict[str, int], refunds: list[int]
) -> None:
    had = {who: Decimal(cents).scaleb(-2) for who, cents in received.items()}
    whole, rest = Fraction(sum(had.values())), Remainder.of(had)
    for cents in refunds:
        amount = min(Decimal(cents).scaleb(-2), rest.total)
        if not amount:
            break
        rest = rest.after(divide_refund(amount, rest, "UAH"), "UAH")
        for who, part in had.items():
            fair = Fraction(part) * Fraction(rest.total) / whole
            assert abs(Fraction(rest.left.get(who, Decimal())) - fair) < Fraction(1, 100), "not a cent off, ever"


@pytest.mark.parametrize(("how_often", "amount"), [(200, "0.01"), (50, "1.37"), (7, "13.33")])
def test_small_refunds_in_a_long_row_are_shared_as_one_of_their_sum_would_be(how_often: int, amount: str) -> None:
    had = {POTTER: Decimal("100.00"), SMITH: Decimal("50.00")}
    rest = Remainder.of(had)
    for _ in range(how_often):
        rest = rest.after(divide_refund(Decimal(amount), rest, "UAH"), "UAH")
    at_once = divide_refund(Decimal(amount) * how_often, Remainder.of(had), "UAH")
    assert {who: part - rest.left.get(who, Decimal()) for who, part in had.items()} == at_once
