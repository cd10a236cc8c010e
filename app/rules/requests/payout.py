"""From the form that staff filled in to the request for a payout to a card (gateway interface, 1c). Pure.

All errors are reported at once, each at its field. The interface requires nothing about the recipient; the app requires
a first and a last name, because the person who confirms must read who is paid.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from app.core.fact import PayoutFact
from app.core.ids import OrderId
from app.i18n.countries import countries
from app.i18n.currencies import read_amount_in
from app.i18n.messages import LazyMessage, Money
from app.rules.balance import fraction_message
from app.rules.cards.card_form import PaymentInstrument, holds_card_number
from app.rules.dialects import dialect_of
from app.store.tables import MerchantAccount
from gateway_client.dialect import Inclusion
from gateway_client.models import Sector
from gateway_client.models.payments import needs_tax_id
from gateway_client.models.payout import Payout, Recipient
from integration_base.amounts import CENT, NotAnAmountError, is_amount
from integration_base.typed_text import typed_email, typed_number

LONGEST_DESCRIPTION, LONGEST_FIELD, LONGEST_EMAIL = 250, 255, 254
RECIPIENT = tuple(Recipient.model_fields)
"""The members of ``properties``, in the order of the interface; the form has a field of the same name for each."""

EMAIL, TAX_ID, REFERENCE = "recipient_email", "recipient_tax_id", "reference"
RECIPIENT_FIELDS = (*RECIPIENT, EMAIL, TAX_ID, REFERENCE)
"""The form's fields about the recipient. ``reference`` is the store's own, which registers repeat (``payload``)."""

FIELDS = ("amount", "description", *RECIPIENT_FIELDS)

TAXABLE = "is_operation_taxable"
_REQUIRED = frozenset({"recipient_first_name", "recipient_last_name"})
_DAYS = frozenset({"recipient_doc_issue_date", "recipient_birth_date"})
_NUMBERS = frozenset({"recipient_phone", TAX_ID})
_NOT_CARDS = frozenset({"wallet_number"})  # a wallet's number can look like a card's; it is stored sealed
_COUNTRY = re.compile(r"[A-Z]{2}(-[A-Z0-9]{1,3})?")  # ISO 3166-2: the country alone, or a part of it

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")

_MISSING = LazyMessage("This field is required.")
_NOT_AN_AMOUNT = LazyMessage("Enter amounts like 1234.50.")
_NOT_A_DAY = LazyMessage("Enter a date in the past, like 1991-08-24.")
_NOT_A_COUNTRY = LazyMessage("Enter a country as two capital letters, like UA, or a part of it, like UA-32.")
_CARD_NUMBER_FOUND = LazyMessage("Do not enter a card number here.")
_NOT_AN_EMAIL = LazyMessage("Enter an e-mail address, like olena@example.com.")
_YES_OR_NO = LazyMessage("Choose one of the available options.")
_TOO_LONG = LazyMessage("Enter at most %(most)s printable characters.", most=LONGEST_FIELD)
_LONG_DESCRIPTION = LazyMessage("Enter at most %(most)s printable characters.", most=LONGEST_DESCRIPTION)
_GAMBLING_ONLY = LazyMessage("Only accounts in the gambling sector send this.")
NO_ACCOUNT = LazyMessage("This store has no such merchant account.")
PAYOUTS_OFF = LazyMessage(
    "This merchant account does not make payouts: the store owner can switch payouts on, with their limits."
)


class PayoutRefusedError(Exception):
    """The payout that staff requested is not possible. ``errors``: a message for each invalid field of the form.

    A message that is about no field has the key "". Nothing was requested from the gateway, and nothing is recorded.
    """

    def __init__(self, errors: Mapping[str, LazyMessage]) -> None:
        super().__init__("; ".join(f"{name}: {text}" if name else str(text) for name, text in errors.items()))
        self.errors = dict(errors)


@dataclass(frozen=True, slots=True)
class PayoutTerms:
    """The amount, the recipient and the description of a payout. ``currency`` is the account's."""

    amount: Decimal
    currency: str
    description: str
    recipient: Recipient
    email: str | None = None
    tax_id: str | None = None
    reference: str | None = None

    @property
    def details(self) -> dict[str, object]:
        """The fields about the recipient, by their names in the form; None: not given."""
        return {**dict(self.recipient), EMAIL: self.email, TAX_ID: self.tax_id, REFERENCE: self.reference}

    @property
    def recipient_name(self) -> str:
        """The recipient's name for display."""
        names = (self.recipient.recipient_first_name, self.recipient.recipient_last_name)
        return " ".join(name for name in names if name)


def currency_of(account: MerchantAccount) -> str:
    """Return the currency of an account's payouts and of their limits: its first one."""
    return account.currencies[0]


def parse_terms(account: MerchantAccount, form: Mapping[str, str], today: date) -> PayoutTerms:
    """Return the terms from the form's fields. Raises PayoutRefusedError, with all errors."""
    errors: dict[str, LazyMessage] = {}
    given = {name: form.get(name, "").strip() for name in FIELDS}
    if not account.can_pay_out:
        errors[""] = PAYOUTS_OFF
    amount = _parse_field(errors, "amount", given["amount"], lambda text: _parse_amount(account, text))
    description = _parse_field(errors, "description", given["description"], _parse_description)
    details = {
        name: _parse_field(errors, name, given[name], _parser_for(account, name, today))
        for name in RECIPIENT_FIELDS
        if given[name]
    }
    errors |= {name: _MISSING for name in _required(account, amount) if not given[name]}
    if errors:
        raise PayoutRefusedError(errors)
    return PayoutTerms(
        amount=amount or Decimal(0),
        currency=currency_of(account),
        description=description or "",
        recipient=Recipient(**{name: value for name, value in details.items() if name in RECIPIENT}),
        email=details.get(EMAIL),
        tax_id=details.get(TAX_ID),
        reference=details.get(REFERENCE),
    )


def _required(account: MerchantAccount, amount: Decimal | None) -> set[str]:
    """Return the fields that must be filled in: some gateways require more of some merchants (gateway facts, 14)."""
    required, sector = set(_REQUIRED), Sector(account.sector)
    if dialect_of(account).payout_identity is Inclusion.SENT:
        required |= set() if sector is Sector.GENERAL else {"recipient_birth_date"}
        required |= {TAX_ID} if needs_tax_id(sector, amount or Decimal(0), currency_of(account)) else set()
    return required


def day_limit_message(account: MerchantAccount, paid_out: Decimal, amount: Decimal) -> LazyMessage | None:
    """Return why an amount exceeds the daily limit, if ``paid_out`` is paid out or pending; None if it does not."""
    most = account.payout_most_a_day
    if most is not None and paid_out + amount <= most:
        return None
    currency = currency_of(account)
    return LazyMessage(
        "This account pays out at most %(most)s in any 24 hours, and %(paid)s has been or is being paid out.",
        most=Money(most or Decimal("0.00"), currency),
        paid=Money(paid_out, currency),
    )


@dataclass(frozen=True, slots=True)
class PayoutBegun(PayoutFact):
    """A payout of that amount is about to begin, within the limit of any 24 hours."""

    amount: Decimal
    since: datetime

    def decide(self, account: MerchantAccount, paid_out: Decimal) -> PayoutRefusedError | None:
        """Return the refusal if its account has paid out too much."""
        message = day_limit_message(account, paid_out, self.amount)
        return None if message is None else PayoutRefusedError({"amount": message})


def payout_request(
    account: MerchantAccount,
    terms: PayoutTerms,
    instrument: PaymentInstrument,
    *,
    order_id: OrderId,
    ip: str,
    server_url: str,
    customer_id: str | None,
) -> Payout:
    """Return the request to the gateway (gateway interface, 1c); ``ip`` is the address of the person who confirmed it.

    The recipient is not present and could pass no 3-D Secure: the dialect says what this gateway wants to read. Nobody
    is sent to a page, so there is no ``result_url``.
    """
    recipient = terms.recipient
    return Payout(
        amount=terms.amount,
        currency=terms.currency,
        order_id=order_id,
        description=terms.description,
        order_3ds_bypass=dialect_of(account).payout_3ds_bypass.value,
        customer_ip=ip,
        customer_id=customer_id,
        customer_fname=recipient.recipient_first_name,
        customer_patronym=recipient.recipient_middle_name,
        customer_lname=recipient.recipient_last_name,
        customer_email=terms.email,
        customer_phone=recipient.recipient_phone,
        customer_country=None if recipient.recipient_country is None else recipient.recipient_country[:2],
        customer_city=recipient.recipient_city,
        customer_birthday=recipient.recipient_birth_date,
        customer_tax_id=terms.tax_id,
        server_url=server_url,
        merchant_mcc=account.merchant_mcc,
        payload=terms.reference,
        validation_url=account.validation_url,
        properties=recipient,
        **instrument.members,
    )


def _parse_field(errors: dict[str, LazyMessage], name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except PayoutRefusedError as error:
        errors[name] = error.errors[""]
        return None


def _refusal(message: LazyMessage) -> PayoutRefusedError:
    return PayoutRefusedError({"": message})


def _parse_amount(account: MerchantAccount, text: str) -> Decimal:
    if not text:
        raise _refusal(_MISSING)
    try:
        amount = read_amount_in(currency_of(account), text)
    except NotAnAmountError:
        raise _refusal(_NOT_AN_AMOUNT) from None
    if not is_amount(amount):
        raise _refusal(_NOT_AN_AMOUNT)
    amount = amount.quantize(CENT)
    if message := fraction_message(amount, currency_of(account)):
        raise _refusal(message)
    most = account.payout_most
    if most is not None and amount > most:
        message = LazyMessage(
            "This account pays out at most %(most)s at a time.", most=Money(most, currency_of(account))
        )
        raise _refusal(message)
    return amount


def _parse_description(text: str) -> str:
    if not text:
        raise _refusal(_MISSING)
    return _parse_line(text, LONGEST_DESCRIPTION, _LONG_DESCRIPTION)


def _parse_line(text: str, most: int, message: LazyMessage, *, may_be_card: bool = False) -> str:
    if len(text) > most or not text.isprintable():
        raise _refusal(message)
    if not may_be_card and holds_card_number(text):
        raise _refusal(_CARD_NUMBER_FOUND)
    return text


def _parser_for(account: MerchantAccount, name: str, today: date) -> Callable[[str], Any]:
    if name in _DAYS:
        return lambda text: _parse_day(text, today)
    if name == "recipient_country":
        return _parse_country
    if name == EMAIL:
        return _parse_email
    if name == TAXABLE:
        return lambda text: _parse_taxable(account, text)
    read = typed_number if name in _NUMBERS else str
    return lambda text: _parse_line(read(text), LONGEST_FIELD, _TOO_LONG, may_be_card=name in _NOT_CARDS)


def _parse_day(text: str, today: date) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise _refusal(_NOT_A_DAY) from None
    if day > today or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise _refusal(_NOT_A_DAY)
    return day


def _parse_country(text: str) -> str:
    code = text.upper()
    if not _COUNTRY.fullmatch(code) or code[:2] not in countries():
        raise _refusal(_NOT_A_COUNTRY)
    return code


def _parse_email(text: str) -> str:
    text = typed_email(text)
    if len(text) > LONGEST_EMAIL or not _EMAIL.fullmatch(text):
        raise _refusal(_NOT_AN_EMAIL)
    return _parse_line(text, LONGEST_FIELD, _TOO_LONG)


def _parse_taxable(account: MerchantAccount, text: str) -> str:
    if account.sector != Sector.GAMBLING:
        raise _refusal(_GAMBLING_ONLY)
    if text not in {"true", "false"}:
        raise _refusal(_YES_OR_NO)
    return text
