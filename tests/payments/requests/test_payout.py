"""What staff type of a payout: everything that is wrong is told at once, each at its field."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from app.core.ids import OrderId
from app.rules.cards.card_form import PaymentInstrument
from app.rules.requests.payout import (
    PAYOUTS_OFF,
    RECIPIENT,
    PayoutRefusedError,
    PayoutTerms,
    day_limit_message,
    parse_terms,
    payout_request,
)
from app.store.tables import MerchantAccount
from tests.payments.cards.seals import NUMBER

TODAY = date(2026, 11, 21)
TYPED = {
    "amount": "100.00",
    "description": "A prize",
    "recipient_first_name": " Соломія ",
    "recipient_last_name": "Павличко",
}


def an_account(**different: Any) -> MerchantAccount:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    usual: dict[str, Any] = {
        "id": "a", "installation_id": 1, "name": "Main", "pos_id": "p", "base_url": "u", "scheme_word": "CPAY",
        "currencies": ["UAH", "EUR"], "payouts": True, "payout_most": Decimal("1000.00"),
        "payout_most_a_day": Decimal("1500.00"), "created_at": now, "updated_at": now,
    }  # fmt: skip
    return MerchantAccount(**usual | different)


def refused(account: MerchantAccount | None = None, **typed: str) -> dict[str, str]:
    with pytest.raises(PayoutRefusedError) as refusal:
        parse_terms(account or an_account(), TYPED | typed, TODAY)
    return {name: str(words) for name, words in refusal.value.errors.items()}


def read(account: MerchantAccount | None = None, **typed: str) -> PayoutTerms:
    return parse_terms(account or an_account(), TYPED | typed, TODAY)


def test_what_is_typed_is_read_without_space_around_it_and_in_the_accounts_first_currency() -> None:
    terms = read(
        amount="1 000,00",
        recipient_birth_date="1991-08-24",
        recipient_country="ua-32",
        recipient_address="x" * 255,
    )
    assert (terms.amount, terms.currency, terms.recipient_name) == (Decimal("1000.00"), "UAH", "Соломія Павличко")
    assert terms.recipient.recipient_birth_date == date(1991, 8, 24)
    assert terms.recipient.recipient_country == "UA-32"
    assert terms.recipient.recipient_address == "x" * 255
    assert terms.recipient.recipient_city is None


def test_a_recipient_may_be_typed_on_any_keyboard() -> None:
    terms = read(
        amount="１００．５０",
        recipient_phone="＋３８０５０１２３４５６７",
        recipient_email="ａ＠ｂ．com",
        recipient_tax_id="٣١٢٣٤٥٦٧٨٩",
    )
    assert (terms.amount, terms.recipient.recipient_phone) == (Decimal("100.50"), "+380501234567")
    assert (terms.email, terms.tax_id) == ("a@b.com", "3123456789")


@pytest.mark.parametrize("country", ["EU", "XK", "QQ", "EU-1"])
def test_two_letters_that_are_no_country_are_refused(country: str) -> None:
    assert refused(recipient_country=country)["recipient_country"].startswith("Enter a country")


def test_yen_are_paid_out_whole() -> None:
    yen = an_account(currencies=["JPY"])
    assert refused(yen, amount="100.50") == {"amount": "Amounts in JPY have no decimals, so 100.50 is not possible."}
    assert read(yen, amount="100.00").amount == 100


def test_dinars_may_be_typed_with_their_three_decimals_and_none_is_dropped() -> None:
    dinars = an_account(currencies=["KWD"])
    assert str(read(dinars, amount="100.250").amount) == "100.25"
    assert refused(dinars, amount="100.255") == {"amount": "Enter amounts like 1234.50."}


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = refused(
        amount="a lot",
        description="",
        recipient_first_name="",
        recipient_birth_date="24.08.1991",
        recipient_doc_issue_date="2026-11-22",
        recipient_country="Ukraine",
        recipient_city=NUMBER,
        recipient_address="x" * 256,
        is_operation_taxable="true",
    )
    assert wrong == {
        "amount": "Enter amounts like 1234.50.",
        "description": "This field is required.",
        "recipient_first_name": "This field is required.",
        "recipient_birth_date": "Enter a date in the past, like 1991-08-24.",
        "recipient_doc_issue_date": "Enter a date in the past, like 1991-08-24.",
        "recipient_country": "Enter a country as two capital letters, like UA, or a part of it, like UA-32.",
        "recipient_city": "Do not enter a card number here.",
        "recipient_address": "Enter at most 255 printable characters.",
        "is_operation_taxable": "Only accounts in the gambling sector send this.",
    }


@pytest.mark.law(14)
@pytest.mark.parametrize("amount", ["0", "0.00", "-1", "1.001", "1e3", "99999999999999999", ""])
def test_no_amount_that_is_none_is_taken(amount: str) -> None:
    assert list(refused(amount=amount)) == ["amount"]


def test_the_limit_of_a_payout_is_the_largest_that_is_taken() -> None:
    assert read(amount="1000.00").amount == Decimal("1000.00")
    assert refused(amount="1000.01") == {"amount": "This account pays out at most 1000.00 UAH at a time."}


@pytest.mark.parametrize(
    "off",
    [{"payouts": False}, {"payout_most": None}, {"payout_most_a_day": None}, {"enabled": False}],
)
def test_nothing_is_paid_out_unless_the_owner_has_switched_it_on_with_both_limits(off: dict[str, Any]) -> None:
    account = an_account(**off)
    assert not account.can_pay_out
    assert refused(account) == {"": PAYOUTS_OFF}


def test_the_limit_of_a_day_is_the_most_that_is_taken() -> None:
    assert day_limit_message(an_account(), Decimal("500.00"), Decimal("1000.00")) is None
    assert "at most 1500.00 UAH" in str(day_limit_message(an_account(), Decimal("500.01"), Decimal("1000.00")))
    assert day_limit_message(an_account(payout_most_a_day=None), Decimal(0), Decimal("0.01")) is not None


def test_of_a_gambling_merchants_payouts_it_is_told_whether_they_are_winnings() -> None:
    gambling, born = an_account(sector="gambling"), {"recipient_birth_date": "1991-08-24"}
    assert read(gambling, is_operation_taxable="false", **born).recipient.is_operation_taxable == "false"
    assert list(refused(gambling, is_operation_taxable="perhaps", **born)) == ["is_operation_taxable"]


def test_a_wallets_number_may_look_like_a_cards() -> None:
    assert read(wallet_number=NUMBER).recipient.wallet_number == NUMBER


def test_the_form_has_all_members_of_the_interface() -> None:
    assert RECIPIENT == (
        "recipient_first_name", "recipient_middle_name", "recipient_last_name", "recipient_doc_number",
        "recipient_doc_issue_date", "recipient_doc_issued_by", "recipient_phone", "recipient_birth_date",
        "recipient_birth_place", "recipient_country", "recipient_city", "recipient_address", "recipient_postcode",
        "wallet_number", "is_operation_taxable",
    )  # fmt: skip


WHO = {
    "recipient_middle_name": "Дмитрівна",
    "recipient_phone": "+380501234567",
    "recipient_birth_date": "1991-08-24",
    "recipient_country": "UA-32",
    "recipient_city": "Львів",
    "recipient_email": "solomiia@example.com",
    "recipient_tax_id": "3123456789",
    "reference": "Invoice 17",
}


def test_the_recipient_is_the_customer_of_a_payout() -> None:
    """Gateway interface, 1c: all its optional fields but `result_url`, because nobody is sent to a page."""
    account = an_account(merchant_mcc="7995", validation_url="https://shop.example.com/check")
    request = payout_request(
        account, read(account, **WHO), PaymentInstrument({"cc_number": NUMBER}),
        order_id=OrderId("A1"), ip="203.0.113.7", server_url="https://app.example.com/x", customer_id="VXNlcjox",
    )  # fmt: skip
    sent = request.to_wire()
    assert {name: sent[name] for name in sent if name.startswith("customer_")} == {
        "customer_id": "VXNlcjox",
        "customer_fname": "Соломія",
        "customer_patronym": "Дмитрівна",
        "customer_lname": "Павличко",
        "customer_email": "solomiia@example.com",
        "customer_phone": "+380501234567",
        "customer_country": "UA",
        "customer_city": "Львів",
        "customer_birthday": "1991-08-24",
        "customer_tax_id": "3123456789",
        "customer_ip": "203.0.113.7",
    }
    assert (sent["payload"], sent["merchant_mcc"]) == ("Invoice 17", "7995")
    assert sent["validation_url"] == "https://shop.example.com/check"
    assert "result_url" not in sent


@pytest.mark.parametrize(
    ("chosen", "amount", "missing"),
    [
        ({"sector": "general"}, "30000.01", []),
        ({"sector": "gambling"}, "30000.01", ["recipient_birth_date"]),
        ({"sector": "microfinance"}, "30000.00", ["recipient_birth_date"]),
        ({"sector": "microfinance"}, "30000.01", ["recipient_birth_date", "recipient_tax_id"]),
        ({"sector": "microfinance", "currencies": ["EUR"]}, "30000.01", ["recipient_birth_date"]),
        ({"sector": "microfinance", "dialect": "interface"}, "30000.01", []),
        ({"sector": "gambling", "payout_identity": "not_sent"}, "1.00", []),
    ],
)
def test_some_merchants_must_say_more_of_the_recipient(chosen: dict[str, Any], amount: str, missing: list[str]) -> None:
    account = an_account(payout_most=Decimal(40000), **chosen)
    if not missing:
        assert read(account, amount=amount).amount == Decimal(amount)
    else:
        assert sorted(refused(account, amount=amount)) == missing


@pytest.mark.parametrize("email", ["solomiia", "a b@example.com", "a@" + "b" * 260])
def test_an_address_that_is_none(email: str) -> None:
    assert refused(recipient_email=email) == {"recipient_email": "Enter an e-mail address, like olena@example.com."}
