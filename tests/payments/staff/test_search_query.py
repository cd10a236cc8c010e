"""What staff type to find a payment is read as what they mean."""

from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.text import fit_text
from app.i18n.translation import LANGUAGES, translation
from app.reports.search_query import ByAmount, ByEmail, any_name, parse_query
from app.store.search import PaymentNames
from integration_base.amounts import read_amount
from integration_base.typed_text import typed_email, visible_text

ORDER = "73ef833999b946b38461a8976f6359bb"
TRANSACTION = "VHJhbnNhY3Rpb25JdGVtOjczZWY4MzM5LTk5YjktNDZiMy04NDYxLWE4OTc2ZjYzNTliYg=="
AMOUNTS = st.decimals("0.01", "999999999.99", places=2)


@pytest.mark.parametrize(
    ("typed", "amount", "currency"),
    [
        ("1234.50", "1234.50", None),
        ("1234,5", "1234.50", None),
        (" 1 234,50 ", "1234.50", None),
        ("1,234.50 UAH", "1234.50", "UAH"),
        ("1.234,50 eur", "1234.50", "EUR"),
        ("1'234.50", "1234.50", None),
        ("1000 UAH", "1000.00", "UAH"),
        ("1 000", "1000.00", None),
        ("1,000 ₴", "1000.00", "UAH"),
        ("100₴", "100.00", "UAH"),
        ("100 грн.", "100.00", "UAH"),
        ("0.05", "0.05", None),
        ("١٢٣٤٫٥٠", "1234.50", None),
        ("１２３４．５０ UAH", "1234.50", "UAH"),
        ("9999999999999.99", "9999999999999.99", None),
        ("10.250 KWD", "10.25", "KWD"),
        ("1,000.500 kwd", "1000.50", "KWD"),
        ("1 000,500 KWD", "1000.50", "KWD"),
        ("1,000 KWD", "1000.00", "KWD"),
        ("10.250 UAH", "10250.00", "UAH"),
        ("UAH 569.50", "569.50", "UAH"),
        ("uah\u00a01,234.50", "1234.50", "UAH"),
        ("KWD 10.250", "10.25", "KWD"),
        ("₴1,000", "1000.00", "UAH"),
        ("€ 5", "5.00", "EUR"),
        ("5,50 €", "5.50", "EUR"),
    ],
)
def test_amounts(typed: str, amount: str, currency: str | None) -> None:
    assert parse_query(typed) == ByAmount(Decimal(amount), currency)


@pytest.mark.parametrize(
    "typed",
    [
        "1042",
        "12.345.6",
        "1,23,456.00",
        "1 23,50",
        "1.234.50",
        "123abc",
        "12 34",
        "-5.00",
        "1e3",
        "0x10",
        "UAH",
        "UAH 5 UAH",
        "€",
        "5.000,000",
        "10000000000000.00",  # more than any payment
        "10.255 KWD",  # finer than any payment
    ],
)
def test_what_only_looks_like_an_amount_is_a_name(typed: str) -> None:
    assert isinstance(parse_query(typed), PaymentNames)


@given(AMOUNTS, st.sampled_from(LANGUAGES), st.sampled_from([None, "UAH", "EUR", "JPY"]))
def test_each_amount_can_be_copied_from_the_page_and_searched_for(
    amount: Decimal, language: str, currency: str | None
) -> None:
    assert parse_query(translation(language).money(amount, currency)) == ByAmount(amount, currency)


@given(AMOUNTS, st.sampled_from(LANGUAGES))
def test_each_amount_can_be_left_in_its_field_as_it_is_written_there(amount: Decimal, language: str) -> None:
    assert read_amount(translation(language).editable(amount)) == amount


@given(AMOUNTS, st.sampled_from(".,"))
def test_each_amount_can_be_typed_plainly(amount: Decimal, point: str) -> None:
    assert parse_query(str(amount).replace(".", point)) == ByAmount(amount, None)


def test_an_address_in_wide_letters_is_searched_for_as_it_was_sent() -> None:
    assert parse_query("ａ＠ｂ．com") == ByEmail("a@b.com")
    assert parse_query("<a@b.com>,") == ByEmail("a@b.com")


@pytest.mark.threat("injection")
@given(st.text())
def test_whatever_is_typed_is_read_as_one_thing(text: str) -> None:
    typed = parse_query(text)
    if not visible_text(fit_text(text)):
        assert typed is None
    elif "@" in typed_email(text):
        assert isinstance(typed, ByEmail)
        assert visible_text(text) not in repr(typed)
    else:
        assert isinstance(typed, ByAmount | PaymentNames)


@given(st.integers(0, 10**12), st.sampled_from(["", "#", "# "]))
def test_whole_numbers_are_order_numbers(number: int, before: str) -> None:
    typed = parse_query(f"{before}{number}")
    assert isinstance(typed, PaymentNames)
    assert (typed.order_number, typed.beginning) == (str(number), None)


@pytest.mark.parametrize(
    "typed",
    [
        "№1042",
        "№ 1042",
        "Order 1042",
        "order #1042",
        "ORDER: 1042",
        "Замовлення № 1042",
        "замовлення 1042",
        "# ١٠٤٢",
        "１０４２",
    ],
)
def test_order_number_may_be_copied_with_what_stands_before_it(typed: str) -> None:
    """As in the description of the payment, which shoppers and the merchant portal show."""
    found = parse_query(typed)
    assert isinstance(found, PaymentNames)
    assert (found.order_number, found.beginning) == ("1042", None)
    assert any_name(typed).order_number == "1042"


@pytest.mark.parametrize(
    "typed",
    [
        f"Payment {ORDER}",
        f"https://pay.example.com/shop/payments/{ORDER}?saleorApiUrl=https://shop.example.com/graphql/",
        f"https://pay.example.com/pay/{ORDER}/",
        f"http://127.0.0.1:8100/pay/return/{ORDER}#x",
    ],
)
def test_payment_is_found_by_its_link_and_its_description(typed: str) -> None:
    for found in (parse_query(typed), any_name(typed)):
        assert isinstance(found, PaymentNames)
        assert {ORDER, str(UUID(ORDER))} <= set(found.exact)


@pytest.mark.parametrize(
    "typed",
    [
        "https://shop.saleor.cloud/dashboard/orders/T3JkZXI6OTgzM2IxZjItNGE0Yy00ZDQ3LTgwMDItMGFmMTA5ZjZlMjUx",
        "https://shop.example.com/orders/T3JkZXI6OTgzM2IxZjItNGE0Yy00ZDQ3LTgwMDItMGFmMTA5ZjZlMjUx/refund?a=b#c",
        "https://x.example.com/dashboard/orders/T3JkZXI6OTgzM2IxZjItNGE0Yy00ZDQ3LTgwMDItMGFmMTA5ZjZlMjUx/fulfill/",
        "9833b1f2-4a4c-4d47-8002-0af109f6e251",
        "9833B1F24A4C4D4780020AF109F6E251",
    ],
)
def test_payment_is_found_by_the_link_to_its_order_in_saleor(typed: str) -> None:
    for found in (parse_query(typed), any_name(typed)):
        assert isinstance(found, PaymentNames)
        assert "T3JkZXI6OTgzM2IxZjItNGE0Yy00ZDQ3LTgwMDItMGFmMTA5ZjZlMjUx" in found.exact


def test_ids_in_links_are_read_without_their_escapes() -> None:
    found = parse_query("https://shop.example.com/dashboard/orders/T3JkZXI6MTA0Mg%3D%3D?action=capture")
    assert isinstance(found, PaymentNames)
    assert "T3JkZXI6MTA0Mg==" in found.exact


@pytest.mark.parametrize(
    "typed", ["order", "Order abc", "payment-of-4", "order5", "https://", "https://pay.example.com/", "№", "#"]
)
def test_label_without_a_number_is_a_name_like_any_other(typed: str) -> None:
    found = parse_query(typed)
    assert isinstance(found, PaymentNames)
    assert found.order_number == typed


@given(st.uuids(), st.sampled_from([str, lambda uuid: uuid.hex, lambda uuid: str(uuid).upper()]))
def test_a_uuid_is_found_with_and_without_dashes(uuid: UUID, written: object) -> None:
    assert callable(written)
    typed = parse_query(written(uuid))
    assert isinstance(typed, PaymentNames)
    assert {uuid.hex, str(uuid)} <= set(typed.exact)


@given(st.uuids(), st.integers(6, 35))
def test_the_beginning_of_a_uuid_is_the_beginning_of_an_order(uuid: UUID, many: int) -> None:
    beginning = str(uuid)[:many].rstrip("-")
    assume(len(beginning) >= 8 and not beginning.replace("-", "").isdigit())
    typed = parse_query(beginning)
    assert isinstance(typed, PaymentNames)
    assert typed.beginning is not None
    assert uuid.hex.startswith(typed.beginning)


def test_few_characters_are_no_beginning() -> None:
    assert any_name("73ef8") == parse_query("73ef8")


def test_a_transaction_is_found_by_its_id() -> None:
    typed = parse_query(TRANSACTION)
    assert isinstance(typed, PaymentNames)
    assert TRANSACTION in typed.exact


@pytest.mark.parametrize("said", ["", "-init", "-released", "-problem-0a1b2c3d"])
def test_references_that_saleor_shows_lead_to_their_order(said: str) -> None:
    typed = parse_query(f"{ORDER}{said}")
    assert isinstance(typed, PaymentNames)
    assert ORDER in typed.exact


@pytest.mark.parametrize("pasted", ["\u202a{}\u202c", "\u200b{}\ufeff", "{}\u00a0\u2060", "{}\ufe0e"])
@pytest.mark.parametrize("text", [ORDER, "#1042", "taras@example.com", "1234.50 UAH", "1042"])
def test_invisible_characters_of_what_is_pasted_change_no_search(text: str, pasted: str) -> None:
    assert parse_query(pasted.format(text)) == parse_query(text)
