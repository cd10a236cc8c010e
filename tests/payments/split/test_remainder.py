"""Who gives back what."""

from decimal import Decimal

import pytest

from app.rules.split.allocation import IndivisibleError, Line
from app.rules.split.remainder import GrantedLine, Remainder, divide_capture, divide_refund, granted_worth
from tests.payments.split.people import MARKET, POTTER, SMITH, WEAVER, rules
from tests.payments.split.test_allocation import money

RECEIVED = money(market="80.00", potter="240.00", smith="360.00")
REST = Remainder.of(RECEIVED)
MUGS = Line("Mugs", Decimal("240.00"), POTTER)
LAMP = Line("Lamp", Decimal("360.00"), SMITH)
ZERO = Decimal("0.00")


def test_a_capture_of_a_part_is_divided_as_the_whole_would_have_been() -> None:
    assert divide_capture(Decimal("340.00"), RECEIVED, "UAH") == money(market="40.00", potter="120.00", smith="180.00")


def test_a_plain_refund_goes_by_what_is_left() -> None:
    rest = REST.after(money(potter="140.00"), "UAH")
    rest = rest.after(money(smith="60.00", market="80.00"), "UAH")
    assert rest.left == money(potter="100.00", smith="300.00")
    assert divide_refund(Decimal("40.00"), rest, "UAH") == money(potter="10.00", smith="30.00")


def test_one_of_three_mugs_is_given_back_by_the_potter_alone() -> None:
    worth = granted_worth(rules(), [GrantedLine(MUGS, 1, 3)], shipping=ZERO)
    assert divide_refund(Decimal("80.00"), REST, "UAH", worth) == money(potter="80.00")


def test_shipping_is_given_back_by_whoever_got_it() -> None:
    worth = granted_worth(rules(), [GrantedLine(MUGS, 1, 2)], shipping=Decimal("80.00"))
    assert divide_refund(Decimal("200.00"), REST, "UAH", worth) == money(market="80.00", potter="120.00")
    by_lines = granted_worth(rules(shipping="lines"), [GrantedLine(MUGS, 2, 2)], shipping=Decimal(80))
    assert set(by_lines) == {POTTER}


def test_another_total_than_the_lines_is_given_back_in_their_proportion() -> None:
    worth = granted_worth(rules(), [GrantedLine(MUGS, 1, 1), GrantedLine(LAMP, 1, 1)], shipping=ZERO)
    assert divide_refund(Decimal("100.00"), REST, "UAH", worth) == money(potter="40.00", smith="60.00")


def test_who_has_too_little_left_gives_that_and_the_others_the_rest() -> None:
    left = Remainder.of(money(market="80.00", potter="50.00", smith="320.00"))
    worth = granted_worth(rules(), [GrantedLine(MUGS, 1, 1)], shipping=ZERO)
    shares = divide_refund(Decimal("150.00"), left, "UAH", worth)
    assert shares == money(market="20.00", potter="50.00", smith="80.00")


def test_a_product_that_another_one_sells_now_leaves_it_to_what_is_left() -> None:
    moved = Line("Mugs", Decimal("240.00"), WEAVER)
    worth = granted_worth(rules(), [GrantedLine(moved, 1, 1)], shipping=ZERO)
    assert divide_refund(Decimal("68.00"), REST, "UAH", worth) == money(market="8.00", potter="24.00", smith="36.00")


@pytest.mark.parametrize("named", ["nobody", "eeeeeeee-0000-4000-8000-000000000005"])
def test_lines_that_cannot_be_read_tell_nothing(named: str) -> None:
    lines = [GrantedLine(LAMP, 1, 1), GrantedLine(Line("Mugs", Decimal("240.00"), named), 1, 1)]
    assert granted_worth(rules(), lines, shipping=ZERO) == {}


def test_a_grant_without_lines_and_one_by_percentages_tell_nothing() -> None:
    assert granted_worth(rules(), [], shipping=ZERO) == {}
    percentages = rules(mode="percentages", percentages={MARKET: 10, POTTER: 90})
    assert granted_worth(percentages, [GrantedLine(LAMP, 1, 1)], shipping=ZERO) == {}


def test_more_than_is_left_is_not_divided() -> None:
    with pytest.raises(IndivisibleError):
        divide_refund(Decimal("680.01"), REST, "UAH")


def test_more_than_there_was_leaves_nothing_of_that_share() -> None:
    rest = REST.after(money(potter="300.00", smith="400.00"), "UAH")
    assert rest.left == money(market="80.00")
    assert divide_refund(Decimal("80.00"), rest, "UAH") == money(market="80.00")


def test_after_a_refund_by_lines_the_rest_goes_by_what_is_left() -> None:
    rest = REST.after(money(potter="240.00"), "UAH")
    assert divide_refund(Decimal("44.00"), rest, "UAH") == money(market="8.00", smith="36.00")
