"""Validates a card as a shopper typed it, and detects card numbers typed into fields where they do not belong. Pure.

A card is validated before the gateway is called, with messages for the shopper. Detection of a number never repeats any
part of a match: a number has 13 to 19 digits and ends with its check digit (ISO/IEC 7812-1). People write it in groups,
so consecutive whole groups of digits are joined and tried. Digits of all scripts count.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from typing import Any

from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.status_messages import english_status_message
from gateway_client.luhn import passes_luhn
from gateway_client.statuses import TABLE
from gateway_client.wallets import Wallet
from integration_base.typed_text import typed_number

_NUMBER = re.compile(r"[1-9][0-9]{11,18}")
_CVV = re.compile(r"[0-9]{3,4}")
_MONTH = re.compile(r"0?[1-9]|1[0-2]")
_YEAR = re.compile(r"(20)?[0-9]{2}")
_MAX_VALIDITY = 30  # years

_NUMBER_MESSAGE = gettext_noop("The card number is not valid. Please check it.")
_EXPIRY_MESSAGE = gettext_noop("The card's expiry date is not valid. Please check it.")
_CVV_MESSAGE = gettext_noop("The card's security code is not valid: it has three or four digits. Please check it.")


MIN_DIGITS, MAX_DIGITS = 13, 19
_LONGEST_GAP = 3  # characters between two groups of digits of one number
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, repr=False)
class PaymentInstrument:
    """The members of the gateway's request for a means of payment (gateway interface, 1a). In memory for one call only.

    With a ``wallet``, the token in ``members`` is the wallet's own, to be exchanged for the gateway's token. Its repr
    reveals nothing, in display or logs.
    """

    members: Mapping[str, Any]
    wallet: Wallet | None = None

    def __repr__(self) -> str:
        return "<Means, not shown>"


def parse_card(content: Mapping[str, Any], language: str, now: datetime) -> PaymentInstrument:
    """Return the card in ``number``, ``expMonth``, ``expYear`` and ``cvv``. Raises RefusalError, echoing none of them.

    Spaces and dashes that shoppers type in the number are removed; a year has two or four digits.
    """
    number = parse_card_number(content, language).members
    month, year = _parse_expiry(content, language, now)
    cvv = _text(content.get("cvv"))
    if not _CVV.fullmatch(cvv):
        raise _invalid_card("cvv", "The card's security code is not three or four digits", _CVV_MESSAGE, language)
    return PaymentInstrument({**number, "exp_month": month, "exp_year": year, "card_cvv": cvv})


def parse_card_number(content: Mapping[str, Any], language: str) -> PaymentInstrument:
    """Return the card in ``number`` alone, to which money can be paid out. Raises RefusalError, echoing nothing."""
    number = re.sub(r"[ -]", "", _text(content.get("number")))
    if not _NUMBER.fullmatch(number) or not passes_luhn(number):
        raise _invalid_card("number", "The card number is not valid", _NUMBER_MESSAGE, language)
    return PaymentInstrument({"cc_number": number})


def _parse_expiry(content: Mapping[str, Any], language: str, now: datetime) -> tuple[int, int]:
    month, year = _text(content.get("expMonth")), _text(content.get("expYear"))
    if not _MONTH.fullmatch(month):
        raise _invalid_card("expMonth", "The card's expiry month is not from 1 to 12", _EXPIRY_MESSAGE, language)
    full_year = int(year[-2:]) + 2000 if _YEAR.fullmatch(year) else 0
    if not full_year or full_year > now.year + _MAX_VALIDITY:
        raise _invalid_card("expYear", "The card's expiry year is not valid", _EXPIRY_MESSAGE, language)
    # Somewhere on earth it is still yesterday, and a card is valid until the end of its month there.
    latest_zone = now - timedelta(hours=12)
    if (full_year, int(month)) < (latest_zone.year, latest_zone.month):
        raise _invalid_card("expYear", "The card has expired", english_status_message(TABLE["4001"]), language)
    return int(month), full_year


def _text(value: object) -> str:
    """Return the value of a form field, which is a number as text or a whole number, as text."""
    return typed_number(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _invalid_card(name: str, reason: str, shopper_message: str, language: str) -> RefusalError:
    return RefusalError(
        RefusalCode.INVALID_CARD,
        f"{reason}: nothing was sent to the gateway.",
        f"data.card.{name}",
        shopper_message=translation_for(language).gettext(shopper_message),
    )


def holds_card_number(text: str, *, min_digits: int = MIN_DIGITS) -> bool:
    """Return True when ``text`` contains a possible card number of at least ``min_digits`` digits."""
    groups = list(_DIGITS.finditer(text))
    return any(_starts_card_number(text, groups[number:], min_digits) for number in range(len(groups)))


def _starts_card_number(text: str, groups: list[re.Match[str]], min_digits: int) -> bool:
    """Return whether the first of these groups, alone or with the groups right after it, is a card number."""
    following = [groups[0]]
    for before, after in pairwise(groups):
        between = text[before.end() : after.start()]
        if len(between) > _LONGEST_GAP or any(character.isalnum() for character in between):
            break
        following.append(after)
    written = accumulate("".join(str(unicodedata.digit(digit)) for digit in group[0]) for group in following)
    return any(
        min_digits <= len(number) <= MAX_DIGITS and number.strip("0") and passes_luhn(number) for number in written
    )
