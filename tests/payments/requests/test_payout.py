"""What staff type of a payout: everything that is wrong is told at once, each at its field."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from app.db.tables import MerchantAccount
from app.payments.requests.payout import (
    PAYOUTS_OFF,
    RECIPIENT,
    PayoutRefusedError,
    PayoutTerms,
    day_limit_message,
    parse_terms,
)
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
    terms = read(amount="1 000,00", recipient_birth_date="1991-08-24", recipient_country="ua-32")
    assert (terms.amount, terms.currency, terms.recipient_name) == (Decimal("1000.00"), "UAH", "Соломія Павличко")
    assert terms.recipient.recipient_birth_date == date(1991, 8, 24)
    assert terms.recipient.recipient_country == "UA-32"
    assert terms.recipient.recipient_city is None


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
    gambling = an_account(sector="gambling")
    assert read(gambling, is_operation_taxable="false").recipient.is_operation_taxable == "false"
    assert list(refused(gambling, is_operation_taxable="perhaps")) == ["is_operation_taxable"]


def test_a_wallets_number_may_look_like_a_cards() -> None:
    assert read(wallet_number=NUMBER).recipient.wallet_number == NUMBER


def test_the_form_has_all_members_of_the_interface() -> None:
    assert RECIPIENT == (
        "recipient_first_name", "recipient_middle_name", "recipient_last_name", "recipient_doc_number",
        "recipient_doc_issue_date", "recipient_doc_issued_by", "recipient_phone", "recipient_birth_date",
        "recipient_birth_place", "recipient_country", "recipient_city", "recipient_address", "recipient_postcode",
        "wallet_number", "is_operation_taxable",
    )  # fmt: skip
