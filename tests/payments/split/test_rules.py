"""What a store owner writes down, and what is told back when it cannot be."""

import re
from decimal import Decimal
from typing import Any

import pytest

from app.i18n.translation import translation
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.split.allocation import total_of
from app.rules.split.example import worked_example
from app.rules.split.planning import rules_of
from app.rules.split.rules import MAX_CHARACTERS, RulesError, SplitMode, format_rules, parse_rules, read_rules
from tests.payments.requests.test_payment import an_account
from tests.payments.split.people import MARKET, NAMES, POTTER, SMITH, WEAVER, rules


def test_an_account_without_rules_splits_nothing() -> None:
    assert not read_rules(None).on
    assert read_rules({}).mode is SplitMode.OFF


def test_rules_are_the_same_after_they_were_kept() -> None:
    kept = rules(shipping="lines", discounts="default").model_dump(mode="json")
    assert read_rules(kept) == rules(shipping="lines", discounts="default")


@pytest.mark.parametrize("written", [POTTER.upper(), POTTER.replace("-", ""), f" {POTTER} "])
def test_a_uuid_may_be_written_in_any_way(written: str) -> None:
    assert read_rules({"mode": "metadata", "default": written}).default == POTTER


def test_a_percentage_in_a_file_means_its_digits() -> None:
    read = read_rules({"mode": "percentages", "percentages": {POTTER: 33.3, SMITH: 33.3, WEAVER: 33.4}})
    assert sum(read.percentages.values()) == 100
    assert read.percentages[POTTER] == Decimal("33.3")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"mode": "metadata", "default": "the potter"}, "default: 'the potter' is not a sub-merchant"),
        ({"mode": "metadata"}, "shipping: the default sub-merchant, but none is named"),
        ({"mode": "metadata", "shipping": "lines", "discounts": "default"}, "discounts: the default sub-merchant"),
        ({"mode": "metadata", "shipping": "lines", "rounding": "default"}, "rounding: the default sub-merchant"),
        ({"mode": "percentages"}, "the percentages sum to 0, not to 100"),
        ({"mode": "percentages", "percentages": {POTTER: 50, SMITH: 49.99}}, "sum to 99.99, not to 100"),
        ({"mode": "percentages", "percentages": {POTTER: 100, SMITH: 0}}, "greater than 0"),
        ({"mode": "metadata", "default": MARKET, "percentages": {POTTER: 100}}, "percentages are for mode"),
        ({"mode": "metadata", "default": MARKET, "names": {POTTER: "Potter"}}, f"{MARKET} is not among the names"),
        ({"mode": "metadata", "default": MARKET, "names": {"x": "Potter"}}, "names.x: 'x' is not a sub-merchant"),
        (
            {"mode": "metadata", "default": MARKET, "shiping": "lines"},
            "shiping: is not a known field: correct its name",
        ),
        ({"mode": "metadata", "default": MARKET, "shipping": "the courier"}, "shipping: 'the courier' is not"),
        ({"mode": "by weight"}, "mode: must be one of off, metadata, percentages"),
    ],
)
def test_what_is_wrong_is_said_in_words(data: dict[str, Any], said: str) -> None:
    with pytest.raises(RulesError) as wrong:
        read_rules(data)
    assert said in str(wrong.value)
    for reason in wrong.value.reasons:
        assert 'lang="en"' not in translation("uk").html(reason)


@pytest.mark.parametrize("text", ["[1]", "#" * (MAX_CHARACTERS + 1)], ids=["a list", "too long"])
def test_text_that_holds_no_rules_is_refused_in_the_readers_language(text: str) -> None:
    with pytest.raises(RulesError) as wrong:
        parse_rules(text, as_json=True)
    [reason] = wrong.value.reasons
    assert re.search("[а-яії]", translation("uk").plain_text(reason)), reason


@pytest.mark.parametrize(("bears", "is_proposed"), [({}, True), ({"shipping": "lines", "discounts": "default"}, False)])
def test_way_out_is_proposed_only_for_what_the_default_would_bear(bears: dict[str, str], *, is_proposed: bool) -> None:
    with pytest.raises(RulesError) as wrong:
        read_rules({"mode": "metadata", **bears})
    assert ("or set shipping = 'lines'" in str(wrong.value)) is is_proposed


@pytest.mark.parametrize(
    "different",
    [
        {"names": {MARKET: 'The "market"\x7f\n', POTTER: "Гончар", SMITH: "Smith"}},
        {"shipping": SMITH, "discounts": "default"},
        {"mode": "percentages", "percentages": {POTTER: "33.35", SMITH: "66.65"}, "default": None},
    ],
)
def test_rules_written_as_toml_are_read_back(different: dict[str, Any]) -> None:
    written = rules(**different)
    assert parse_rules(format_rules(written)) == written
    assert format_rules(parse_rules("")) == ""


@pytest.mark.parametrize(
    "different",
    [
        {},
        {"names": {}},
        {"shipping": "lines", "discounts": "default", "gift_cards": "default", "rounding": "default"},
        {"shipping": "lines", "default": None, "names": {}},
        {"shipping": SMITH},
        {"names": {MARKET: "Only me"}},
        {"mode": "percentages", "percentages": {POTTER: 70, SMITH: 30}, "default": None},
    ],
)
def test_every_kind_of_rules_can_be_shown_by_an_example(different: dict[str, Any]) -> None:
    example = worked_example(rules(**different))
    assert example.steps[0].words == "The shopper pays"
    for step in example.steps:
        assert total_of(step.shares.values()) == step.amount


def test_the_example_speaks_of_the_people_who_are_named() -> None:
    bought = " ".join(worked_example(rules()).bought)
    assert NAMES[POTTER] in bought
    assert NAMES[SMITH] in bought


def test_where_only_the_market_is_known_the_example_makes_two_sellers_up() -> None:
    shares = worked_example(rules(names={})).steps[0].shares
    assert MARKET in shares
    assert len(shares) == 3


def test_rules_may_be_so_long_and_no_longer() -> None:
    longest = "mode = 'off'".ljust(MAX_CHARACTERS)
    assert not parse_rules(longest).on
    with pytest.raises(RulesError, match="have at most"):
        parse_rules(f"{longest} ")


@pytest.mark.parametrize("data", ["", "metadata", [], ["metadata"], 0, False])
def test_what_is_no_table_is_no_rules_and_not_their_absence(data: Any) -> None:
    with pytest.raises(RulesError, match="these are not split rules"):
        read_rules(data)


def test_a_payment_by_stored_rules_that_no_longer_hold_is_refused_and_not_left_undivided() -> None:
    account = an_account(split_rules={"mode": "metadata"})
    with pytest.raises(RefusalError, match="split rules of the merchant account are invalid") as refused:
        rules_of(account)
    assert refused.value.code is RefusalCode.SPLIT_NOT_POSSIBLE


def test_without_splitting_there_is_no_example() -> None:
    assert worked_example(read_rules(None)).steps == ()
