"""Whatever is bought, paid, captured and given back: shares sum to the cent, and nobody gives more than they got."""

from dataclasses import dataclass, replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from app.payments.split.allocation import Basket, Line, allocate
from app.payments.split.distribute import total_of
from app.payments.split.remainder import GrantedLine, captured, given_back, granted_worth, left_of
from app.payments.split.rules import SplitRules
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
    received = captured(taken, allocated, "UAH")
    assert total_of(received.values()) == taken
    assert all(share <= allocated[who] for who, share in received.items())
    assert taken != case.paid or received == allocated
    refunds: list[dict[str, Decimal]] = []
    for kind, part in [*steps, ("plain", 100)]:
        left = left_of(received, refunds)
        amount = (total_of(left.values()) * part / 100).quantize(Decimal("0.01"))
        if not amount:
            continue
        worth = None
        if kind == "granted":
            some = data.draw(st.lists(st.sampled_from(case.basket.lines), max_size=3))
            granted = [GrantedLine(line, data.draw(st.integers(1, 3)), 3) for line in some]
            shipping = data.draw(st.sampled_from([Decimal(0), case.basket.shipping]))
            worth = granted_worth(case.rules, granted, shipping=shipping)
        refund = given_back(amount, left, "UAH", worth)
        assert total_of(refund.values()) == amount
        assert all(0 < share <= left[who] for who, share in refund.items())
        assert refund == given_back(amount, dict(reversed(left.items())), "UAH", worth), "same question, same shares"
        refunds.append(refund)
    assert left_of(received, refunds) == {}
    for who, share in received.items():
        assert total_of(refund.get(who, Decimal()) for refund in refunds) == share
