"""The basic types of the interface: money, times, codes, limited texts (gateway interface, Conventions)."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, StringConstraints, ValidationInfo

from integration_base.amounts import CENT, has_whole_cents

_MAX_DIGITS = 15  # digits before the point; above every amount in every currency, below what could be a mistake
_NUMBER = re.compile(r"[-+]?\d{1,15}(\.\d{1,15})?(E[-+]?\d{1,2})?", re.IGNORECASE)  # 6E+2 is how Java writes 600
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Of ASCII a name has letters, digits, hyphens and underscores; with a colon it is an address of IPv6.
_LABEL = r"[^\x00-,./:-@\[-^`{-\x7f]+"
_SCHEMES = ("http", "https")
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?|[^,]*:[^,]*")
ZONE = "zone"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Method(StrEnum):
    """The kinds of operation (gateway interface, What the service does)."""

    PURCHASE = "purchase"
    AUTH = "auth"
    CREDIT = "credit"
    CAPTURE = "capture"
    VOID = "void"
    REFUND = "refund"
    P2P = "p2p"
    LOOKUP = "lookup"
    DISPUTE = "dispute"
    RECURRENT = "recurrent"

    @property
    def secondary(self) -> bool:
        """Whether it acts on an existing payment."""
        return self in (Method.CAPTURE, Method.VOID, Method.REFUND)


class Mode(StrEnum):
    """Whose page collects the payer's data: the merchant's (``direct``) or the gateway's (``hosted``)."""

    DIRECT = "direct"
    HOSTED = "hosted"


_WORDS = frozenset([*Method, *Mode])


def read_word(word: object) -> object:
    """Return a word of the interface in its spelling, any other as received."""
    lowered = in_small_letters(word)
    return lowered if isinstance(lowered, str) and lowered in _WORDS else word


def in_small_letters(word: object) -> object:
    """Return a word without white space around it, in small letters; anything else as it is."""
    return word.strip().lower() if isinstance(word, str) else word


# A word of which capitals and white space around it do not matter.
Word = Annotated[str, BeforeValidator(in_small_letters)]


class ReceiptDelivery(StrEnum):
    """How the payer gets the fiscal receipt (``f_receipt_delivery``)."""

    EMAIL = "email"
    SMS = "sms"
    VIBER = "viber"
    NONE = "none"


def to_decimal(value: object) -> Decimal:
    """Convert a ``Decimal``, an ``int`` or a plain decimal text to an exact number. Raises ``ValueError`` for others.

    A float is rejected: it is already not the intended number.
    """
    match value:
        case bool() | float():
            raise ValueError('an exact number, not a float or a boolean: Decimal("10.50"), "10.50" or 10')
        case Decimal():
            number = value
        case int():
            number = Decimal(value)
        case str() if _NUMBER.fullmatch(value.strip()):
            number = Decimal(value.strip())
        case _:
            raise ValueError("a decimal number")
    if not number.is_finite() or (number and number.adjusted() >= _MAX_DIGITS):
        raise ValueError(f"a number with at most {_MAX_DIGITS} digits before the point")
    return number


def empty_to_none(value: object) -> object:
    """Return ``value``, or ``None`` for an empty text, which some responses have for a missing value."""
    return None if isinstance(value, str) and not value.strip() else value


def check_two_decimals(number: Decimal) -> Decimal:
    """Return ``number``, without trailing zeros beyond two decimals. Raises ``ValueError`` if it has more decimals."""
    if not has_whole_cents(number):
        raise ValueError("at most 2 decimals")
    exponent = number.as_tuple().exponent
    return number.quantize(CENT) if isinstance(exponent, int) and exponent < -2 else number


def with_two_decimals(number: Decimal) -> Decimal:
    """Return the same number written with at least two decimals, as people write amounts: 569.50, not 569.5."""
    exponent = number.as_tuple().exponent
    return number.quantize(CENT) if isinstance(exponent, int) and exponent > -2 else number


def _check_positive(number: Decimal) -> Decimal:
    if number <= 0:
        raise ValueError("above zero")
    return number


# An amount that the gateway reports: exact, in whatever notation; the caller compares it with the requested amount.
ReportedAmount = Annotated[Decimal, BeforeValidator(to_decimal), AfterValidator(with_two_decimals)]
# An amount in a request: above zero, at most two decimals.
Amount = Annotated[
    Decimal,
    BeforeValidator(to_decimal),
    AfterValidator(check_two_decimals),
    AfterValidator(_check_positive),
    AfterValidator(with_two_decimals),
]
# A number in a request that is not an amount to be paid, for example a quantity.
Quantity = Annotated[Decimal, BeforeValidator(to_decimal), AfterValidator(_check_positive)]
Percent = Annotated[Decimal, BeforeValidator(to_decimal), Field(ge=0, le=100)]


def _read_timestamp(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if not isinstance(value, datetime):
        raise ValueError("yyyy-MM-ddTHH:mm:ss.SSS")  # noqa: TRY004 - pydantic turns ValueError into a broken limit
    try:
        zone = (info.context or {}).get(ZONE, UTC)
        return (value.replace(tzinfo=zone) if value.tzinfo is None else value).astimezone(UTC)
    except OverflowError:
        raise ValueError("a moment between the years 1 and 9999") from None


def _write_timestamp(value: datetime) -> str:
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")


# ``yyyy-MM-ddTHH:mm:ss.SSS``. The interface names no zone: it is the dialect's (``ZONE`` of the context), else UTC.
# Good for display and for a rough order, never for deciding which record is newer: that is what the status is for.
Timestamp = Annotated[datetime, BeforeValidator(_read_timestamp), PlainSerializer(_write_timestamp)]


def to_milliseconds(moment: datetime) -> int:
    """Return Unix time in milliseconds. Raises ``ValueError`` without a time zone."""
    if moment.tzinfo is None:
        raise ValueError("a moment with a time zone")
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def read_milliseconds(value: object) -> object:
    """Parse Unix time in milliseconds, as lists and registers write it. Raises ``ValueError`` for anything else."""
    if isinstance(value, datetime):
        return value
    try:
        return _EPOCH + timedelta(milliseconds=int(to_decimal(value)))
    except OverflowError:
        raise ValueError("a moment between the years 1 and 9999") from None


Day = Annotated[date, PlainSerializer(date.isoformat)]  # ``yyyy-MM-dd``


def _check_uuid(text: str) -> str:
    try:
        UUID(text)
    except ValueError:
        raise ValueError("a UUID") from None
    return text


def absolute_url(text: str) -> str:
    """Return ``text`` if it is an absolute http or https address with a host. Raises ``ValueError`` otherwise."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        is_host = _HOST.fullmatch(host) is not None and host not in _SCHEMES  # "https://https://shop.example.com"
        good = parts.scheme in _SCHEMES and is_host and parts.port != 0
    except ValueError:
        good = False
    if not good or text != text.strip() or _CONTROL.search(text) or "\\" in text or " " in text:
        raise ValueError("an absolute http(s) address")
    return text


def _check_order_id(text: str) -> str:
    if text != text.strip() or _CONTROL.search(text) or text in (".", ".."):
        raise ValueError("1 to 32 characters without control characters or space around")
    return text


Uuid = Annotated[
    str, BeforeValidator(lambda value: str(value) if isinstance(value, UUID) else value), AfterValidator(_check_uuid)
]
Url = Annotated[str, AfterValidator(absolute_url)]
Text = Annotated[str, StringConstraints(min_length=1)]
# Creation alone would allow more, but capture, void and refund allow 32: a longer id could never be refunded.
OrderId = Annotated[str, StringConstraints(min_length=1, max_length=32), AfterValidator(_check_order_id)]
Description = Annotated[str, StringConstraints(min_length=1, max_length=2048)]
Comment = Annotated[str, StringConstraints(max_length=2048)]
Payload = Annotated[str, StringConstraints(max_length=4000)]


def _to_upper_case(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


def _pattern_validator(form: str, rule: str) -> AfterValidator:
    """Return a validator of codes: the pattern they match, and the rule for the error message."""
    pattern = re.compile(form, re.ASCII)

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(rule)
        return text

    return AfterValidator(check)


# Codes are converted to upper case: "uah" is UAH, "uk" is Ukrainian.
_UpperCase = BeforeValidator(_to_upper_case)
_CURRENCY = _pattern_validator(r"[A-Z]{3}", "an ISO 4217 code: three letters, like UAH")
_COUNTRY = _pattern_validator(r"[A-Z]{2}", "an ISO 3166-1 alpha-2 code: two letters, like UA")
_LANGUAGE = _pattern_validator(r"[A-Z]{2}(_[A-Z]{2})?", "a language: two letters, like UK, or two and two, like ZH_HA")
Currency = Annotated[str, _UpperCase, _CURRENCY]
Country = Annotated[str, _UpperCase, _COUNTRY]
PageLanguage = Annotated[str, _UpperCase, AfterValidator(lambda text: text.replace("-", "_")), _LANGUAGE]
CategoryCode = Annotated[
    str, _pattern_validator(r"\d{4}", "a merchant category code: four digits, like 5411")
]  # ISO 18245
