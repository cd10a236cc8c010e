"""Parsers of option texts: each returns the value for the account's row, or raises ValueError with the reason. Pure."""

import re
import string
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.i18n.currencies import read_amount_in
from app.rules.origins import origin_of
from app.rules.requests.description import check_attribute, check_template
from gateway_client.errors import InvalidRequestError
from gateway_client.hosts import safe_base_url
from integration_base.amounts import CENT, NotAnAmountError, is_amount, read_amount
from integration_base.outbound import is_private

LONGEST_NAME = 100
LONGEST_SHOP_NAME = 60
_ADDRESS = re.compile(r"[-A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%]{1,500}")  # the characters that RFC 3986 allows
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?")
LONGEST_ASSOCIATION = 16_384  # characters; Apple's are about nine thousand
_SMALL_LETTERS = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_LONGEST_ORDER_ID = 32  # gateway interface, Conventions
LARGEST_FEE = Decimal(25)  # percent: more is a wrong amount rather than a fee
_LONGEST_TIMEOUT = 366 * 24 * 3600  # seconds; no gateway keeps a page for longer


def name(text: str) -> str:
    """Parse the name that staff give an account."""
    if not 1 <= len(text) <= LONGEST_NAME or not text.isprintable():
        raise ValueError(f"a name must have 1 to {LONGEST_NAME} printable characters")
    return text


def currency(text: str) -> str:
    """Parse a currency code; return it in capitals."""
    code = text.upper()
    if not re.fullmatch(r"[A-Z]{3}", code):
        raise ValueError(f"{code!r} is not a currency: write three letters, like UAH")
    return code


def origin(text: str) -> str:
    """Parse an origin as browsers write it, and nothing more or less than that: no pattern, and not several."""
    found = origin_of(text)
    if found is None or not _ORIGIN.fullmatch(found):
        raise ValueError(f"{text!r} is not an origin: write it like https://shop.example.com")
    rest = text.partition("://")[2].partition("/")[2]
    if rest or "?" in text or "#" in text:
        raise ValueError(f"{text!r} is more than an origin: write {found}")
    return found


def seconds(text: str) -> int:
    """Parse a number of seconds, from one to a year."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= _LONGEST_TIMEOUT:
        raise ValueError(f"{text!r} is not a number of seconds, from 1 to a year")
    return int(text)


def time_zone(text: str) -> str:
    """Parse the IANA name of a time zone."""
    try:
        return ZoneInfo(text).key
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise ValueError(f"{text!r} is not a time zone: write it like Europe/Kyiv") from None


def hour(text: str) -> int:
    """Parse an hour of the day."""
    if not re.fullmatch(r"[0-9]{1,2}", text) or int(text) > 23:
        raise ValueError(f"{text!r} is not an hour of the day, from 0 to 23")
    return int(text)


def amount(text: str, currency: str) -> Decimal:
    """Parse an amount of money above zero, with the decimals of its currency, of which the gateway takes two."""
    try:
        read = read_amount_in(currency, text)
    except NotAnAmountError:
        read = Decimal(0)
    if not is_amount(read):
        raise ValueError(f"{text!r} is not an amount above zero: write it like 1234.50")
    return read.quantize(CENT)


def fee_percent(text: str) -> Decimal:
    """Parse the percentage that payers pay on top of an amount, of at most two decimals."""
    try:
        read = read_amount(text.strip().removesuffix("%")).quantize(CENT)
    except NotAnAmountError:
        read = Decimal(0)
    if not 0 < read <= LARGEST_FEE:
        raise ValueError(f"{text!r} is not a percentage above 0, up to {LARGEST_FEE}: write it like 1.5")
    return read


def email(text: str) -> str:
    """Parse the e-mail address by which Saleor knows a person."""
    if not re.fullmatch(r"[^@\s]{1,150}@[^@\s]{1,100}", text) or not text.isprintable():
        raise ValueError(f"{text!r} is not an e-mail address")
    return normalize_email(text)


def normalize_email(text: str) -> str:
    """Return an e-mail address with its Latin capitals in small letters.

    Not more: Unicode's rules make one address of several people's, such as those with "s" and with "\u017f".
    """
    return text.translate(_SMALL_LETTERS)


def order_pattern(text: str) -> str:
    """Parse the ids of another shop's orders: an order id in which * stands for any characters."""
    if not 1 <= len(text) <= _LONGEST_ORDER_ID or not text.isprintable() or not text.strip("* "):
        raise ValueError(f"{text!r} does not stand for order ids: write an id or its beginning, like woo-*")
    return text


def association(text: str) -> str:
    """Parse the file by which Apple verifies that a domain belongs to the merchant."""
    if len(text) > LONGEST_ASSOCIATION or not re.fullmatch(r"[\x20-\x7e\s]+", text):
        raise ValueError(
            f"the domain association file must be a text of at most {LONGEST_ASSOCIATION} ASCII characters"
        )
    return text


def google_identifier(text: str) -> str:
    """Parse a name or number by which Google, or the gateway for Google, identifies a party."""
    if not re.fullmatch(r"[\x21-\x7e]{1,100}", text):
        raise ValueError(f"{text!r} is not a valid name: write 1 to 100 characters without spaces")
    return text


def shop_name(text: str) -> str:
    """Parse the name of the shop that shoppers see."""
    if not 1 <= len(text) <= LONGEST_SHOP_NAME or not text.isprintable():
        raise ValueError(f"a shop's name must have 1 to {LONGEST_SHOP_NAME} printable characters")
    return text


def image_address(text: str) -> str:
    """Parse the address of an image, which only browsers request."""
    if not _is_public_https(text):
        raise ValueError("write a complete https address, like https://cdn.example.com/logo.svg")
    return text


def preflight_address(text: str) -> str:
    """Parse the address that the gateway, and never the app, asks before it takes or pays money."""
    if not _is_public_https(text):
        raise ValueError("write a complete https address, like https://shop.example.com/payments/check")
    return text


def _is_public_https(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_public = parts.hostname is not None and not is_private(parts.hostname)
    except ValueError:
        return False
    return is_public and parts.scheme == "https" and not parts.username and bool(_ADDRESS.fullmatch(text))


def color(text: str) -> str:
    """Parse a colour; return it in small letters."""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", text):
        raise ValueError(f"{text!r} is not a colour: write it like #1a2b3c")
    return text.lower()


def one_of(kind: type[StrEnum]) -> Callable[[str], str]:
    """Return a parser for one of several words."""

    def read(text: str) -> str:
        try:
            return kind(text.lower())
        except ValueError:
            raise ValueError(f"{text!r} is not one of {', '.join(kind)}") from None

    return read


def category(text: str) -> str:
    """Parse a merchant category code."""
    if not re.fullmatch(r"[0-9]{4}", text):
        raise ValueError(f"{text!r} is not a merchant category code: write four digits, like 5411")
    return text


def template(text: str) -> str:
    """Parse the template of payment descriptions at the gateway."""
    check_template(text)  # its TemplateError is a ValueError
    return text


def attribute(text: str) -> str:
    """Parse an attribute of the store's own, like ``delivery={metadata.delivery}``."""
    check_attribute(text)
    return text


def address(text: str) -> str:
    """Parse an address to which keys may be sent."""
    try:
        return safe_base_url("url", text)
    except InvalidRequestError as exc:
        raise ValueError(f"{exc.limit}; given: {exc.given}") from None
