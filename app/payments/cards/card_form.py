"""A card as a shopper typed it, and card numbers that somebody typed where they do not belong. Pure.

A card is checked before the gateway is asked, with words for the shopper. A number is looked for without repeating
anything of what is found: it has 13 to 19 digits and ends with its check digit (ISO/IEC 7812-1). People write it in
groups, so whole groups of digits that follow one another are tried together. Digits of all scripts count.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from typing import Any

from app.gateway.luhn import passes_luhn
from app.gateway.statuses import TABLE
from app.gateway.wallets import Wallet
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.payments.core.refusal import RefusalCode, RefusalError

_NUMBER = re.compile(r"[1-9][0-9]{11,18}")
_CVV = re.compile(r"[0-9]{3,4}")
_MONTH = re.compile(r"0?[1-9]|1[0-2]")
_YEAR = re.compile(r"(20)?[0-9]{2}")
_CARDS_LAST_AT_MOST = 30  # years

_NUMBER_WORDS = gettext_noop("The card number is not right. Please check it.")
_EXPIRY_WORDS = gettext_noop("The card's expiry date is not right. Please check it.")
_CVV_WORDS = gettext_noop("The card's security code is not right: it has three or four digits. Please check it.")


FEWEST_DIGITS, MOST_DIGITS = 13, 19
_LONGEST_GAP = 3  # characters between two groups of digits of one number
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, repr=False)
class PaymentInstrument:
    """The members of the gateway's request that say it (gateway interface, 1a). In memory for one call only.

    Of a ``wallet`` it is the wallet's own token, where the gateway's belongs for which it is exchanged. Whatever shows
    or logs it sees nothing of it.
    """

    members: Mapping[str, Any]
    wallet: Wallet | None = None

    def __repr__(self) -> str:
        return "<Means, not shown>"


def typed_card(content: Mapping[str, Any], language: str, now: datetime) -> PaymentInstrument:
    """Return the card in ``number``, ``expMonth``, ``expYear`` and ``cvv``. Raises RefusalError, echoing none of them.

    Spaces and dashes in the number are left out, as shoppers type them; a year has two or four digits.
    """
    number = typed_number(content, language).members
    month, year = _expiry(content, language, now)
    cvv = _text(content.get("cvv"))
    if not _CVV.fullmatch(cvv):
        raise _wrong("cvv", "The card's security code is not three or four digits", _CVV_WORDS, language)
    return PaymentInstrument({**number, "exp_month": month, "exp_year": year, "card_cvv": cvv})


def typed_number(content: Mapping[str, Any], language: str) -> PaymentInstrument:
    """Return the card in ``number`` alone, which money can be paid out to. Raises RefusalError, echoing nothing."""
    number = re.sub(r"[ -]", "", _text(content.get("number")))
    if not _NUMBER.fullmatch(number) or not passes_luhn(number):
        raise _wrong("number", "The card number is not one", _NUMBER_WORDS, language)
    return PaymentInstrument({"cc_number": number})


def _expiry(content: Mapping[str, Any], language: str, now: datetime) -> tuple[int, int]:
    month, year = _text(content.get("expMonth")), _text(content.get("expYear"))
    if not _MONTH.fullmatch(month):
        raise _wrong("expMonth", "The card's expiry month is not 1 to 12", _EXPIRY_WORDS, language)
    full_year = int(year[-2:]) + 2000 if _YEAR.fullmatch(year) else 0
    if not full_year or full_year > now.year + _CARDS_LAST_AT_MOST:
        raise _wrong("expYear", "The card's expiry year is not one", _EXPIRY_WORDS, language)
    # Somewhere on earth it is still yesterday, and a card is good until the end of its month there.
    there = now - timedelta(hours=12)
    if (full_year, int(month)) < (there.year, there.month):
        raise _wrong("expYear", "The card has expired", TABLE["4001"].en, language)
    return int(month), full_year


def _text(value: object) -> str:
    """Return what a form's field holds, given as text or as a whole number."""
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _wrong(name: str, what: str, shopper: str, language: str) -> RefusalError:
    return RefusalError(
        RefusalCode.INVALID_CARD,
        f"{what}: nothing was asked of the gateway.",
        f"data.card.{name}",
        shopper=translation_for(language).gettext(shopper),
    )


def holds_card_number(text: str, *, fewest: int = FEWEST_DIGITS) -> bool:
    """Return True when ``text`` holds what can be a card number of at least ``fewest`` digits."""
    groups = list(_DIGITS.finditer(text))
    return any(_begins_one(text, groups[number:], fewest) for number in range(len(groups)))


def _begins_one(text: str, groups: list[re.Match[str]], fewest: int) -> bool:
    """Say whether the first of these groups, alone or with some that follow it at once, is a card number."""
    following = [groups[0]]
    for before, after in pairwise(groups):
        between = text[before.end() : after.start()]
        if len(between) > _LONGEST_GAP or any(character.isalnum() for character in between):
            break
        following.append(after)
    written = accumulate("".join(str(unicodedata.digit(digit)) for digit in group[0]) for group in following)
    return any(fewest <= len(number) <= MOST_DIGITS and number.strip("0") and passes_luhn(number) for number in written)
