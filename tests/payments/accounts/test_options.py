"""What a store can choose of an account, and what is refused when it is chosen rather than when somebody pays."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.flows.accounts.gateway_endpoint import resolve_endpoint
from app.rules.accounts.option import Form
from app.rules.accounts.option_values import OptionsRefusedError, read_option, read_options
from app.rules.accounts.options import OPTIONS
from app.rules.requests.description import (
    LONGEST_DESCRIPTION,
    PLACEHOLDERS,
    TemplateError,
    check_template,
    render_description,
)

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("sector", " Microfinance ", "microfinance"),
        ("merchant_mcc", "5411", "5411"),
        ("description_template", "Order {order} at {store}", "Order {order} at {store}"),
        ("products", "FISCAL", "fiscal"),
        ("receipt_delivery", "viber", "viber"),
        ("order_3ds_bypass", "never", "never"),
        ("balances_url", "https://api.gateway.example/", "https://api.gateway.example"),
        ("register_url", "http://10.0.0.7:8080", "http://10.0.0.7:8080"),
        ("shop_name", " Троянда & Co ", "Троянда & Co"),
        ("shop_logo", "https://cdn.example.com/a/logo.svg?v=2", "https://cdn.example.com/a/logo.svg?v=2"),
        ("shop_color", "#C2185B", "#c2185b"),
        ("validation_url", "https://shop.example.com/check?key=1", "https://shop.example.com/check?key=1"),
        ("name", "x" * 100, "x" * 100),
        ("time_zone", "Europe/Kyiv", "Europe/Kyiv"),
        ("reconcile_at", "23", 23),
        ("apple_pay_association", "0af3\r\n9c", "0af3\r\n9c"),
        ("apple_pay_association", "x" * 16_384, "x" * 16_384),
        ("google_pay_gateway", "x" * 100, "x" * 100),
    ],
)
def test_what_can_be_chosen(name: str, text: str, kept: object) -> None:
    assert read_option(name, text, "UAH") == kept


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("sector", "casino", "'casino' is not one of general, gambling, microfinance"),
        ("sector", "", "'' is not one of general, gambling, microfinance"),
        ("merchant_mcc", "541", "write four digits"),
        ("merchant_mcc", "٥٤١١", "write four digits"),
        ("description_template", "Paid by {email}", "there is no {email}; there are {order}, {checkout}"),
        ("description_template", "Order {order", "braces stand around placeholders only"),
        ("description_template", "Order {order!r}", "braces stand around placeholders only"),
        ("description_template", "Order {}", "braces stand around placeholders only"),
        ("description_template", "Order\n{order}", "printable text in one line"),
        ("description_template", "x" * 501, "at most 500 characters, this has 501"),
        ("products", "all", "'all' is not one of none, plain, fiscal"),
        ("receipt_delivery", "post", "'post' is not one of email, sms, viber, none"),
        ("order_3ds_bypass", "sometimes", "'sometimes' is not one of supported, always, never"),
        ("balances_url", "http://api.gateway.example", "https, unless it is this machine or a private network"),
        ("register_url", "https://me:secret-1@gateway.example", "no query, fragment, user or password"),
        ("register_url", "somewhere", "absolute"),
        ("register_url", "https://gateway.example\u200b", "printable characters only"),
        ("shop_name", "x" * 61, "1 to 60 printable characters"),
        ("shop_name", "a\nb", "1 to 60 printable characters"),
        ("shop_logo", "http://cdn.example.com/logo.svg", "write a complete https address"),
        ("shop_logo", "https://127.0.0.1/logo.svg", "write a complete https address"),
        ("shop_logo", "https://[::1/logo.svg", "write a complete https address"),
        ("shop_logo", "https://me:secret@cdn.example.com/logo.svg", "write a complete https address"),
        ("shop_logo", "javascript:alert(1)", "write a complete https address"),
        ("shop_logo", 'https://cdn.example.com/"><b>', "write a complete https address"),
        ("shop_color", "red", "not a colour"),
        ("shop_color", "#c2185", "not a colour"),
        ("shop_color", "#c2185b;}", "not a colour"),
        ("validation_url", "http://shop.example.com/check", "write a complete https address"),
        ("validation_url", "https://10.0.0.7/check", "write a complete https address"),
        ("validation_url", "https://me:secret-1@shop.example.com/check", "write a complete https address"),
        ("name", "x" * 101, "1 to 100 printable characters"),
        ("name", "a\nb", "1 to 100 printable characters"),
        ("time_zone", "Europe/Nowhere", "not a time zone"),
        ("reconcile_at", "24", "not an hour of the day"),
        ("reconcile_at", "noon", "not an hour of the day"),
        ("apple_pay_association", "x" * 16_385, "at most 16384 ASCII characters"),
        ("apple_pay_association", "дані", "at most 16384 ASCII characters"),
        ("google_pay_gateway", "two words", "1 to 100 characters without spaces"),
        ("google_pay_gateway_merchant", "x" * 101, "1 to 100 characters without spaces"),
        ("google_pay_merchant", "крамниця", "1 to 100 characters without spaces"),
    ],
)
def test_what_cannot_be_chosen(name: str, text: str, words: str) -> None:
    with pytest.raises(OptionsRefusedError) as refused:
        read_option(name, text, "UAH")
    assert list(refused.value.refused) == [name]
    assert words in refused.value.refused[name]
    assert "secret-1" not in str(refused.value)


@pytest.mark.parametrize("name", [option.name for option in OPTIONS.values() if option.may_be_empty])
def test_an_empty_text_gives_an_option_back(name: str) -> None:
    assert read_option(name, "  ", "UAH") is None


def test_what_is_not_named_is_left_as_it_is() -> None:
    assert (
        read_options(
            {"sector": None, "cancel_older": None, "pci_dss_confirmed": None, "balances_url": None}, NOON, "UAH"
        )
        == {}
    )
    assert read_options({"cancel_older": False, "merchant_mcc": ""}, NOON, "UAH") == {
        "cancel_older": False,
        "merchant_mcc": None,
    }


def test_the_moment_of_the_pci_dss_confirmation_is_kept() -> None:
    assert read_options({"pci_dss_confirmed": True}, NOON, "UAH") == {"pci_dss_confirmed_at": NOON}
    assert read_options({"pci_dss_confirmed": False}, NOON, "UAH") == {"pci_dss_confirmed_at": None}


@given(
    template=st.lists(
        st.sampled_from([*(f"{{{name}}}" for name in PLACEHOLDERS), "Замовлення", " ", "№", "x" * 90])
    ).map("".join),
    values=st.dictionaries(st.sampled_from(PLACEHOLDERS), st.text(max_size=300)),
)
def test_whatever_was_accepted_describes_every_payment(template: str, values: dict[str, str]) -> None:
    try:
        check_template(template)
    except TemplateError:
        return
    told = render_description(template, values, "Payment 1")
    assert 1 <= len(told) <= LONGEST_DESCRIPTION
    assert told == told.strip()


@pytest.mark.parametrize("template", ["", "   ", "two\nlines"])
def test_a_template_of_nothing_that_could_be_printed_is_refused(template: str) -> None:
    with pytest.raises(TemplateError, match="printable text in one line"):
        check_template(template)


def test_a_template_of_nothing_but_what_is_missing_is_the_usual_description() -> None:
    assert render_description("{checkout}", {}, "Order 21") == "Order 21"
    assert render_description(None, {"order": "21"}, "Order 21") == "Order 21"


def test_what_a_value_holds_is_never_read_as_a_placeholder() -> None:
    assert render_description("{order} {store}", {"order": "{store}", "store": "Shop"}, "") == "{store} Shop"


def test_the_people_who_may_pay_out_are_named_by_their_addresses() -> None:
    assert read_option("payout_staff", ["Anna@Shop.Example.com"], "UAH") == ["anna@shop.example.com"]
    for text in ("anna", "anna@shop@example.com", "anna@shop.\u200bexample.com"):
        with pytest.raises(OptionsRefusedError, match="not an e-mail address"):
            read_option("payout_staff", [text], "UAH")


def test_several_values_are_each_kept_once() -> None:
    assert read_option("currencies", ["uah", " EUR", "UAH"], "UAH") == ["UAH", "EUR"]
    assert read_option("storefront_origins", ["HTTPS://Shop.Example.com:443/"], "UAH") == ["https://shop.example.com"]
    with pytest.raises(OptionsRefusedError, match="more than an origin"):
        read_option("storefront_origins", ["https://shop.example.com", "https://shop.example.com/uk"], "UAH")
    for text in ("https://*.example.com", "https://a.example,https://b.example", "https://shop.example.com;"):
        with pytest.raises(OptionsRefusedError, match="is not an origin"):
            read_option("storefront_origins", [text], "UAH")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("delivery", "write it like"),
        ("=x", "write it like"),
        ("delivery=", "write it like"),
        ("delivery={metadata.}", "braces stand around placeholders"),
        ("delivery={phone}", "there is no {phone}; there are {order}, {checkout}"),
        ("delivery={order", "braces stand around placeholders"),
        ("k" * 46 + "=x", "cannot be the key"),
        ("配送=x", "cannot be the key"),
        ("delivery=" + "x" * 500, "at most 500"),
        ("delivery=a\tb", "printable"),
    ],
)
def test_an_attribute_that_the_gateway_would_not_take_is_refused_when_it_is_chosen(line: str, words: str) -> None:
    with pytest.raises(OptionsRefusedError) as refused:
        read_option("attributes", ["доставка={metadata.delivery}", line], "UAH")
    assert words in refused.value.refused["attributes"]


def test_attributes_are_at_most_twenty_and_can_be_removed() -> None:
    twenty = [f"key {number}={{order}}" for number in range(20)]
    assert read_option("attributes", twenty, "UAH") == twenty
    assert read_option("attributes", [""], "UAH") == []
    with pytest.raises(OptionsRefusedError, match="at most 20"):
        read_option("attributes", [*twenty, "one more={order}"], "UAH")


def test_orders_of_another_shop_are_told_by_something_of_their_ids() -> None:
    """Otherwise no notification of an unknown order would be for staff any more."""
    assert read_option("other_orders", ["woo-*", "A" * 32], "UAH") == ["woo-*", "A" * 32]
    for text in ("*", "* *", "A" * 33, "woo\n*"):
        with pytest.raises(OptionsRefusedError, match="does not stand for order ids"):
            read_option("other_orders", [text], "UAH")


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "١", "31622401", "1" * 20])
def test_a_time_to_pay_is_a_number_of_seconds(text: str) -> None:
    assert read_option("order_timeout", "31622400", "UAH") == 31_622_400
    with pytest.raises(OptionsRefusedError):
        read_option("order_timeout", text, "UAH")


def test_each_option_that_can_be_refused_says_what_it_can_be() -> None:
    for option in OPTIONS.values():
        assert option.rule or option.form is Form.SWITCH, option.name
        assert option.help.endswith("."), option.name
        for value in option.choices:
            assert option.read(value) == value


@pytest.mark.parametrize("space", [" ", "\r", "\n", "\u00a0"])
def test_white_space_around_the_gateways_address_and_scheme_word_is_dropped(space: str) -> None:
    """Scripts on Windows, and files read line by line, leave some behind."""
    plain = resolve_endpoint(None, "https://gateway.example.com", "GW")
    assert resolve_endpoint(None, f"https://gateway.example.com/{space}", f"{space}GW{space}") == plain
    assert resolve_endpoint(f"tranzzo{space}", None, space) == resolve_endpoint("tranzzo", None, None)


@pytest.mark.parametrize(
    ("currency", "text", "limit"),
    [
        ("KWD", "10.250", "10.25"),
        ("KWD", "1 234,500", "1234.50"),
        ("JPY", "50,000", "50000.00"),
        ("UAH", "1 234,5", "1234.50"),
    ],
)
def test_limits_are_typed_in_the_decimals_of_the_first_currency(currency: str, text: str, limit: str) -> None:
    assert str(read_options({"payout_most": text}, NOON, currency)["payout_most"]) == limit
    given = {"payout_most": text, "currencies": [currency.lower(), "EUR"]}
    assert str(read_options(given, NOON, "USD")["payout_most"]) == limit


@pytest.mark.parametrize(
    ("currency", "text"), [("KWD", "10.255"), ("KWD", "0.000"), ("UAH", "10.250"), ("UAH", "50,000"), ("UAH", "-5")]
)
def test_limits_are_amounts_that_can_be_paid_out(currency: str, text: str) -> None:
    with pytest.raises(OptionsRefusedError) as refused:
        read_options({"payout_most_a_day": text, "currencies": ["nonsense"]}, NOON, currency)
    assert list(refused.value.refused) == ["payout_most_a_day", "currencies"]
