"""From what staff have typed to the request that pays out to a card (gateway interface, 1c). Pure.

Whatever cannot be is told at once, each at its field. Of the recipient the interface requires nothing; the app wants a
first and a last name, because whoever confirms must read whom.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from app.amounts import CENT, LARGEST, NotAnAmountError, read_amount
from app.db.tables import MerchantAccount
from app.gateway.models import Sector
from app.gateway.models.payout import Payout, Recipient
from app.i18n.messages import LazyMessage, Money
from app.payments.cards.card_form import PaymentInstrument, holds_card_number

LONGEST_DESCRIPTION, LONGEST_FIELD = 250, 255
RECIPIENT = tuple(Recipient.model_fields)
"""The members of ``properties``, in the order of the interface; the form has a field of the same name for each."""

TAXABLE = "is_operation_taxable"
_REQUIRED = frozenset({"recipient_first_name", "recipient_last_name"})
_DAYS = frozenset({"recipient_doc_issue_date", "recipient_birth_date"})
_NOT_CARDS = frozenset({"wallet_number"})  # a wallet's number can look like a card's; it is kept sealed
_COUNTRY = re.compile(r"[A-Z]{2}(-[A-Z0-9]{1,3})?")  # ISO 3166-2: the country alone, or a part of it

_MISSING = LazyMessage("This is needed.")
_NOT_AN_AMOUNT = LazyMessage("Write amounts like 1234.50.")
_NOT_A_DAY = LazyMessage("Write a day that has been, like 1991-08-24.")
_NOT_A_COUNTRY = LazyMessage("Write a country as two capital letters, like UA, or a part of it, like UA-32.")
_A_CARD = LazyMessage("A card number does not belong here.")
_YES_OR_NO = LazyMessage("Choose one of those that are offered.")
_TOO_LONG = LazyMessage("Write at most %(most)s printable characters.", most=LONGEST_FIELD)
_LONG_DESCRIPTION = LazyMessage("Write at most %(most)s printable characters.", most=LONGEST_DESCRIPTION)
_GAMBLING_ONLY = LazyMessage("Only an account of the gambling sector tells this.")
OFF = LazyMessage("This merchant account does not pay out: the store owner can switch payouts on, with their limits.")


class PayoutRefusedError(Exception):
    """What staff want cannot be paid out. ``refused``: for each field of the form what is wrong with it.

    What is about no field stands under "". Nothing was asked of the gateway, and nothing is recorded.
    """

    def __init__(self, refused: Mapping[str, LazyMessage]) -> None:
        super().__init__("; ".join(f"{name}: {words}" if name else str(words) for name, words in refused.items()))
        self.refused = dict(refused)


@dataclass(frozen=True, slots=True)
class PayoutTerms:
    """How much is paid to whom, and what it is called. ``currency`` is the account's."""

    amount: Decimal
    currency: str
    description: str
    recipient: Recipient

    @property
    def recipient_name(self) -> str:
        """The name that people read."""
        names = (self.recipient.recipient_first_name, self.recipient.recipient_last_name)
        return " ".join(each for each in names if each)


def currency_of(account: MerchantAccount) -> str:
    """Return the currency of an account's payouts and of their limits: its first one."""
    return account.currencies[0]


def read_terms(account: MerchantAccount, said: Mapping[str, str], today: date) -> PayoutTerms:
    """Return what the form's fields say. Raises PayoutRefusedError, with everything that is wrong."""
    refused: dict[str, LazyMessage] = {}
    given = {name: said.get(name, "").strip() for name in ("amount", "description", *RECIPIENT)}
    if not account.pays_out:
        refused[""] = OFF
    amount = _read(refused, "amount", given["amount"], lambda text: _amount(account, text))
    description = _read(refused, "description", given["description"], _description)
    properties = {
        name: _read(refused, name, given[name], _reader_of(account, name, today)) for name in RECIPIENT if given[name]
    }
    refused |= {name: _MISSING for name in _REQUIRED if not given[name]}
    if refused:
        raise PayoutRefusedError(refused)
    return PayoutTerms(amount or Decimal(0), currency_of(account), description or "", Recipient(**properties))


def day_limit_words(account: MerchantAccount, paid_out: Decimal, amount: Decimal) -> LazyMessage | None:
    """Return why an amount is too much for a day of which so much is ``paid_out`` or under way; None if it is not."""
    most = account.payout_most_a_day
    if most is not None and paid_out + amount <= most:
        return None
    currency = currency_of(account)
    return LazyMessage(
        "This account pays out at most %(most)s in any 24 hours, and %(paid)s is paid out or under way.",
        most=Money(most or Decimal("0.00"), currency),
        paid=Money(paid_out, currency),
    )


def payout_request(
    account: MerchantAccount,
    terms: PayoutTerms,
    instrument: PaymentInstrument,
    *,
    order_id: str,
    ip: str,
    server_url: str,
    customer_id: str | None,
) -> Payout:
    """Return what the gateway is asked (gateway interface, 1c); ``ip`` is where whoever confirmed it came from.

    The recipient is not there, so nobody could pass 3-D Secure: it is bypassed, as others do (gateway facts, 5).
    """
    return Payout(
        amount=terms.amount,
        currency=terms.currency,
        order_id=order_id,
        description=terms.description,
        order_3ds_bypass="never",
        customer_ip=ip,
        customer_id=customer_id,
        customer_fname=terms.recipient.recipient_first_name,
        customer_lname=terms.recipient.recipient_last_name,
        server_url=server_url,
        merchant_mcc=account.merchant_mcc,
        properties=terms.recipient,
        **instrument.members,
    )


def _read(refused: dict[str, LazyMessage], name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except PayoutRefusedError as error:
        refused[name] = error.refused[""]
        return None


def _no(words: LazyMessage) -> PayoutRefusedError:
    return PayoutRefusedError({"": words})


def _amount(account: MerchantAccount, text: str) -> Decimal:
    if not text:
        raise _no(_MISSING)
    try:
        amount = read_amount(text).quantize(CENT)
    except NotAnAmountError:
        raise _no(_NOT_AN_AMOUNT) from None
    if not 0 < amount <= LARGEST:
        raise _no(_NOT_AN_AMOUNT)
    most = account.payout_most
    if most is not None and amount > most:
        words = LazyMessage("This account pays out at most %(most)s at once.", most=Money(most, currency_of(account)))
        raise _no(words)
    return amount


def _description(text: str) -> str:
    if not text:
        raise _no(_MISSING)
    return _line(text, LONGEST_DESCRIPTION, _LONG_DESCRIPTION)


def _line(text: str, most: int, words: LazyMessage, *, may_be_card: bool = False) -> str:
    if len(text) > most or not text.isprintable():
        raise _no(words)
    if not may_be_card and holds_card_number(text):
        raise _no(_A_CARD)
    return text


def _reader_of(account: MerchantAccount, name: str, today: date) -> Callable[[str], Any]:
    if name in _DAYS:
        return lambda text: _day(text, today)
    if name == "recipient_country":
        return _country
    if name == TAXABLE:
        return lambda text: _taxable(account, text)
    return lambda text: _line(text, LONGEST_FIELD, _TOO_LONG, may_be_card=name in _NOT_CARDS)


def _day(text: str, today: date) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise _no(_NOT_A_DAY) from None
    if day > today or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise _no(_NOT_A_DAY)
    return day


def _country(text: str) -> str:
    code = text.upper()
    if not _COUNTRY.fullmatch(code):
        raise _no(_NOT_A_COUNTRY)
    return code


def _taxable(account: MerchantAccount, text: str) -> str:
    if account.sector != Sector.GAMBLING:
        raise _no(_GAMBLING_ONLY)
    if text not in {"true", "false"}:
        raise _no(_YES_OR_NO)
    return text
