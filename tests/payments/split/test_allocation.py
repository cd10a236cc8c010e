"""Whose money a payment is."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.i18n.currencies import smallest_unit
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.split.allocation import (
    Basket,
    IndivisibleError,
    Line,
    allocate,
    distribute,
    distribute_within,
    total_of,
)
from tests.payments.split.people import MARKET, POTTER, SMITH, WEAVER, rules

WHO = st.sampled_from([f"seller-{number}" for number in range(6)])
AMOUNTS = st.integers(1, 10_000_000).map(lambda cents: Decimal(cents) / 100)
WEIGHTS = st.dictionaries(WHO, st.decimals("0", "100000", places=3), max_size=6)


def money(**amounts: str) -> dict[str, Decimal]:
    who = {"market": MARKET, "potter": POTTER, "smith": SMITH, "weaver": WEAVER}
    return {who[name]: Decimal(amount) for name, amount in amounts.items()}


def mugs(total: str = "240.00", **more: Any) -> Line:
    return Line("Mugs", Decimal(total), POTTER, **more)


def lamp(total: str = "360.00", **more: Any) -> Line:
    return Line("Lamp", Decimal(total), SMITH, **more)


def basket(*lines: Line, shipping: str = "0.00", gift_cards: str = "0.00", total: str | None = None) -> Basket:
    full = sum((line.total for line in lines), Decimal(shipping)) - Decimal(gift_cards)
    return Basket(lines, Decimal(total) if total else full, Decimal(shipping), Decimal(gift_cards))


def shares(found: Basket, amount: str | None = None, currency: str = "UAH", **different: Any) -> dict[str, Decimal]:
    return allocate(rules(**different), found, Decimal(amount) if amount else found.total, currency)


def test_each_seller_gets_what_was_paid_for_their_lines() -> None:
    assert shares(basket(mugs(), lamp())) == money(potter="240.00", smith="360.00")


def test_several_lines_of_one_seller_are_one_share() -> None:
    assert shares(basket(mugs(), mugs("60.00"))) == money(potter="300.00")


def test_a_line_that_names_nobody_and_shipping_belong_to_the_default_sub_merchant() -> None:
    found = basket(mugs(), Line("Ribbon", Decimal("10.00")), shipping="80.00")
    assert shares(found) == money(market="90.00", potter="240.00")


def test_shipping_by_the_lines() -> None:
    found = basket(mugs(), lamp(), shipping="60.00")
    assert shares(found, shipping="lines") == money(potter="264.00", smith="396.00")


def test_shipping_by_the_lines_is_theirs_before_somebody_bears_the_gift_cards() -> None:
    found = basket(mugs(), Line("Ribbon", Decimal("360.00")), shipping="60.00", gift_cards="100.00")
    assert shares(found, shipping="lines", gift_cards="default") == money(potter="264.00", market="296.00")


def test_shipping_for_whoever_ships() -> None:
    assert shares(basket(mugs(), shipping="60.00"), shipping=WEAVER) == money(potter="240.00", weaver="60.00")


def test_shipping_by_the_lines_of_a_basket_of_gifts() -> None:
    gift = basket(mugs("0.00"), shipping="60.00")
    assert shares(gift, shipping="lines") == money(market="60.00")
    with pytest.raises(RefusalError, match="none of them costs anything"):
        shares(gift, shipping="lines", default=None, names={})


def test_part_of_an_order_is_the_same_part_of_each_share() -> None:
    found = basket(mugs(), lamp())
    assert shares(found, "300.00") == money(potter="120.00", smith="180.00")
    assert shares(found, "100.01") == money(potter="40.00", smith="60.01")


def test_a_gift_card_pays_everybodys_part_or_the_default_ones_first() -> None:
    found = basket(mugs(), lamp(), shipping="100.00", gift_cards="70.00")
    assert shares(found) == money(market="90.00", potter="216.00", smith="324.00")
    assert shares(found, gift_cards="default") == money(market="30.00", potter="240.00", smith="360.00")


def test_a_gift_card_above_the_default_ones_part_goes_on_to_the_others() -> None:
    found = basket(mugs(), lamp(), shipping="100.00", gift_cards="400.00")
    assert shares(found, gift_cards="default") == money(potter="120.00", smith="180.00")


def test_a_discount_is_borne_by_its_seller_or_by_the_default_sub_merchant() -> None:
    sale = basket(mugs(before_discounts=Decimal("300.00")), lamp(), shipping="100.00")
    assert shares(sale) == money(market="100.00", potter="240.00", smith="360.00")
    assert shares(sale, discounts="default") == money(market="40.00", potter="300.00", smith="360.00")


def test_a_discount_of_the_whole_order_that_no_line_shows() -> None:
    voucher = basket(mugs(), lamp(), shipping="100.00", total="630.00")
    assert shares(voucher) == money(market="90.00", potter="216.00", smith="324.00")
    assert shares(voucher, discounts="default") == money(market="30.00", potter="240.00", smith="360.00")


def test_what_is_discounted_for_all_leaves_less_of_which_a_gift_card_takes_the_default_ones_part() -> None:
    found = basket(mugs(), lamp(), shipping="100.00", gift_cards="40.00", total="310.00")
    assert shares(found, gift_cards="default") == money(market="10.00", potter="120.00", smith="180.00")


def test_a_surcharge_that_no_line_shows_is_the_default_ones_or_goes_by_the_lines() -> None:
    fee = basket(mugs(), lamp(), total="660.00")
    assert shares(fee) == money(market="60.00", potter="240.00", smith="360.00")
    by_lines = shares(fee, default=None, names={}, shipping="lines")
    assert by_lines == money(potter="264.00", smith="396.00")


def test_percentages_do_not_care_what_is_in_the_basket() -> None:
    percent: dict[str, Any] = {"mode": "percentages", "percentages": {POTTER: "12.5", SMITH: "87.5"}}
    nobody = Line("Ribbon", Decimal("10.00"), "not a UUID")
    assert shares(basket(nobody, shipping="0.01"), **percent) == money(potter="1.25", smith="8.76")


def test_rounding_for_the_default_sub_merchant() -> None:
    found = basket(mugs("1.00"), lamp("1.00"), Line("Cloth", Decimal("1.00"), WEAVER))
    assert shares(found, "1.00") == money(potter="0.34", smith="0.33", weaver="0.33")
    assert shares(found, "1.00", rounding="default") == money(market="0.01", potter="0.33", smith="0.33", weaver="0.33")


def test_yen_have_no_cents() -> None:
    found = basket(mugs("100.00"), lamp("200.00"))
    assert shares(found, "100.00", "JPY") == money(potter="33.00", smith="67.00")


def test_zero_shares_are_left_out() -> None:
    assert shares(basket(mugs(), lamp("0.00"))) == money(potter="240.00")
    assert shares(basket(mugs("1000.00"), lamp("0.10")), "0.01") == money(potter="0.01")


@pytest.mark.parametrize(
    ("line", "different", "said"),
    [
        (Line("Blue lamp", Decimal("1.00"), "smith"), {}, "“Blue lamp” names the sub-merchant 'smith', which is not"),
        (
            Line("Blue lamp", Decimal("1.00"), "eeeeeeee-0000-4000-8000-000000000005"),
            {},
            "“Blue lamp” names the sub-merchant eeeeeeee-0000-4000-8000-000000000005, which this merchant account",
        ),
        (
            Line("Blue lamp", Decimal("1.00")),
            {"default": None, "shipping": "lines", "names": {}},
            "“Blue lamp” names no sub-merchant (metadata 'sub_merchant_id'), and there is no default one",
        ),
    ],
)
def test_what_cannot_be_split_is_refused_in_words_that_name_the_line(
    line: Line, different: dict[str, Any], said: str
) -> None:
    with pytest.raises(RefusalError) as refused:
        shares(basket(mugs(), line), **different)
    assert said in refused.value.message
    assert refused.value.code is RefusalCode.SPLIT_NOT_POSSIBLE


def test_a_basket_worth_nothing_is_not_split() -> None:
    with pytest.raises(RefusalError, match="nothing in it has a price"):
        shares(basket(mugs("0.00")), "1.00")


def test_where_nobody_is_named_any_uuid_will_do() -> None:
    stranger = "eeeeeeee-0000-4000-8000-000000000005"
    found = basket(Line("Blue lamp", Decimal("1.00"), stranger.upper()))
    assert shares(found, names={}) == {stranger: Decimal("1.00")}


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
    assert smallest_unit("JPY", Decimal("100.00")) == 1
    assert smallest_unit("JPY", Decimal("100.00"), Decimal("10.50")) == Decimal(
        "0.01"
    )  # one of them has cents all the same
    assert smallest_unit("JPY", Decimal("100.50")) == Decimal("0.01")
    assert smallest_unit("UAH", Decimal("100.00")) == Decimal("0.01")
    parts = distribute(Decimal("100.00"), {"a": Decimal(1), "b": Decimal(2)}, smallest_unit("JPY", Decimal("100.00")))
    assert parts == {"a": Decimal("33.00"), "b": Decimal("67.00")}


def test_an_amount_finer_than_its_money_is_nobodys_mistake_but_ours() -> None:
    with pytest.raises(ValueError, match="multiple"):
        distribute(Decimal("1.005"), {"a": Decimal(1)})
