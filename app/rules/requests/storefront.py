"""The ``data`` that storefronts pass and get back: the contract of docs/storefront.md. Pure.

A shopper's contact details must not contain a card number. Only fields that a shopper types are refused: an order
number, or a number in the address of a storefront's page, can look like a card's by chance. No payment is refused for
that, and such values are stored sealed.

Blank is absent. A field that has a fallback refuses nobody: what cannot be read of it counts as absent. What is wrong
with the other fields is refused, all at once.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from ipaddress import IPv6Address, ip_address
from typing import Annotated, Any, Literal, TypeAlias
from unicodedata import category

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel, to_pascal

from app.i18n.countries import countries
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.i18n.validation import FieldError, find_field_errors
from app.rules.cards.card_form import MIN_DIGITS, holds_card_number
from app.rules.cards.encrypted_card import is_sealed
from app.rules.origins import origin_of
from app.rules.refusal import RefusalCode, RefusalError, combine
from gateway_client.models.base import Lenient
from gateway_client.models.values import ReceiptDelivery, absolute_url
from integration_base.typed_text import one_line, typed_email, typed_number

_Place: TypeAlias = tuple["_Place | None", str]  # where a value stands: in what, and how it is reached from there
_MAX_REPORTED = 10  # errors in one response
_LONGEST_URL = 2000
_CARD_FIELD = re.compile(
    r"((credit|debit|bank|payment)[_-]?)?(card|cc|pan)[_-]?(number|num|no)?"
    r"|(card[_-]?)?(cvv2?|cvc2?|security[_-]?code)([_-]?code)?"
    r"|((card|cc)[_-]?)?(exp|expiry|expiration)[_-]?(month|year|date)"
    r"|(card|cc)[_-]?token|cryptogram",
    re.IGNORECASE,
)
_PATHS = {
    "customer_email": "data.customer.email",
    "customer_phone": "data.customer.phone",
    "customer_fname": "data.customer.firstName",
    "customer_lname": "data.customer.lastName",
    "customer_patronym": "data.customer.patronymic",
    "customer_birthday": "data.customer.birthday",
    "customer_tax_id": "data.customer.taxId",
    "customer_country": "data.customer.country",
    "customer_ip": "data.customer.ip",
    "customer_referrer": "data.customer.referrer",
    "browser_fingerprint": "data.browserFingerprint",
    "amount": "amount",
}


def parse_country(value: Any) -> str | None:
    """Return the two letters of a country (ISO 3166-1); None for anything else.

    An address of Saleor holds them in an object: ``{"code": "UA", "country": "Ukraine"}``.
    """
    code = value.get("code") if isinstance(value, dict) else value
    text = code.strip().upper() if isinstance(code, str) else ""
    return text if text in countries() else None


def parse_ip(value: Any) -> str | None:
    """Return the IP address as a server writes it: with a port, or first in a list of proxies; None if there is none.

    For example ``203.0.113.7:52344``, ``203.0.113.7, 10.0.0.1``, ``[2001:db8::1]:443`` or, where a server listens for
    both kinds at once, ``::ffff:203.0.113.7``.
    """
    text = value.partition(",")[0].strip() if isinstance(value, str) else ""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return str((isinstance(address, IPv6Address) and address.ipv4_mapped) or address)


def parse_phone(value: Any) -> Any:
    """Return a phone number in the signs of a Latin keyboard; None for what says that there is none, such as ``-``."""
    number = typed_number(value) if isinstance(value, str) else value
    return None if isinstance(number, str) and not any(map(str.isdecimal, number)) else number


_Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256),  # as long as those of Saleor
    BeforeValidator(lambda value: one_line(value) if isinstance(value, str) else value),
]
_Country = Annotated[str | None, BeforeValidator(parse_country)]
_Ip = Annotated[str | None, BeforeValidator(parse_ip)]
_Referrer = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_URL), AfterValidator(absolute_url)
]
# Numbers and booleans of a script are converted to their text.
_Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=2048),
    BeforeValidator(lambda value: str(value).lower() if isinstance(value, bool | int | Decimal) else value),
]
_TypedEmail = BeforeValidator(lambda value: typed_email(value) if isinstance(value, str) else value)
_Email = Annotated[str, StringConstraints(max_length=254, pattern=r"^[^@\s]+@[^@\s]+$"), _TypedEmail]
_Number = Annotated[str, StringConstraints(max_length=32)]
_Phone = Annotated[_Number | None, BeforeValidator(parse_phone)]
_TaxId = Annotated[_Number, BeforeValidator(lambda value: typed_number(value) if isinstance(value, str) else value)]


# Phone numbers have up to 15 digits (ITU E.164), and some countries' tax ids nearly as many: every tenth of those
# passes the check by chance.
_FEWEST_IN_NUMBERS = 16
_NAMES = ("data.customer.firstName", "data.customer.lastName", "data.customer.patronymic")
_NUMBERS = frozenset({"data.customer.phone", "data.customer.taxId"})
_CARD_NUMBER_TYPED = gettext_noop("Your contact details contain a card number. Please correct them.")


class _StorefrontModel(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    @model_validator(mode="before")
    @classmethod
    def _blank_is_absent(cls, data: Any) -> Any:
        """Treat null and blank text as "not given", as most languages write a storefront's optional fields."""
        return {name: value for name, value in data.items() if not is_blank(value)} if isinstance(data, dict) else data


def is_blank(value: Any) -> bool:
    """Return True for null and for text without a character that is seen: white space, zero-width characters.

    Nobody types or pastes nothing but control characters: they are refused where they stand.
    """
    return value is None or (isinstance(value, str) and all(c.isspace() or category(c) == "Cf" for c in value))


def _read_object(value: Any) -> Any:
    """Return ``value``, or None for one without members: some languages write an empty object as an empty list."""
    return None if value in ([], {}) else value


def _to_lower_case(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


class Customer(_StorefrontModel):
    """The storefront's data about the shopper, which takes precedence over Saleor's.

    Saleor has the same, or the gateway can do without: what cannot be read counts as absent.
    """

    model_config = ConfigDict(coerce_numbers_to_str=True)

    email: Lenient[_Email] = None
    phone: Lenient[_Phone] = None
    first_name: Lenient[_Name] = None
    last_name: Lenient[_Name] = None
    patronymic: Lenient[_Name] = None
    birthday: Lenient[date] = None
    tax_id: Lenient[_TaxId] = None
    country: _Country = None
    ip: _Ip = None
    referrer: Lenient[_Referrer] = None


def unread_fields(data: Any, customer: Customer) -> list[str]:
    """Return the paths of what the storefront's data says of the shopper and nobody can read."""
    given = data.get("customer") if isinstance(data, dict) else None
    if not isinstance(given, dict):
        return []
    return [
        f"data.customer.{field.alias}"
        for name, field in Customer.model_fields.items()
        if getattr(customer, name) is None and not is_blank(given.get(field.alias or name, given.get(name)))
    ]


class Fingerprint(_StorefrontModel):
    """The shopper's browser (gateway interface, Browser fingerprint). A page cannot know its ``ip_address``."""

    model_config = ConfigDict(alias_generator=lambda name: "browser" + to_pascal(name))

    color_depth: _Text
    screen_height: _Text
    screen_width: _Text
    java_enabled: _Text
    language: _Text
    time_zone: _Text
    time_zone_offset: _Text
    accept_header: _Text
    user_agent: _Text
    ip_address: _Ip = None


class Plan(_StorefrontModel):
    """The schedule of a payment's subscription; each charge is of the payment's amount (gateway facts, 6)."""

    model_config = ConfigDict(extra="forbid")

    interval: Literal["day", "week", "month", "quarter", "year"]
    every: StrictInt = Field(default=1, ge=1, le=30)
    starts_on: date | None = None
    ends_on: date | None = None


class StorefrontData(_StorefrontModel):
    """``data`` of ``transactionInitialize``. Everything is optional; unknown fields are ignored."""

    return_url: Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_URL)] | None = None
    language: Lenient[str] = None  # as a browser writes it: see ``base_language``
    qr: Lenient[bool] = None
    receipt_delivery: Annotated[Lenient[ReceiptDelivery], BeforeValidator(_to_lower_case)] = None
    customer: Annotated[Customer, BeforeValidator(lambda value: _read_object(value) or Customer())] = Field(
        default_factory=Customer
    )
    card: str | None = Field(default=None, repr=False)  # encrypted
    browser_fingerprint: Annotated[Fingerprint | None, BeforeValidator(_read_object)] = None
    save_card: StrictBool = False  # consent is explicit, never inferred
    saved_card_id: StrictStr | None = None
    subscription: Annotated[Plan | None, BeforeValidator(_read_object)] = None


def parse_data(data: Any) -> StorefrontData:
    """Return the storefront's data. Raises RefusalError for a non-object, an invalid field, or card data.

    Plain card data must never travel through Saleor: it is refused by the names of the fields, whatever their values,
    so that a storefront which sends it is noticed on the first try. ``card`` itself may contain a sealed card only.
    """
    if is_blank(data) or data == []:
        return StorefrontData()
    if not isinstance(data, dict):
        raise RefusalError(RefusalCode.INVALID_DATA, "`data` must be a JSON object.", "data")
    for path in _card_fields({name: value for name, value in data.items() if not _is_sealed_card(name, value)}):
        raise RefusalError(
            RefusalCode.CARD_DATA_REFUSED,
            "Card data is accepted only encrypted and in `data.card`; otherwise the shopper enters it on the "
            "payment page.",
            path,
        )
    if not is_direct_payment(data):  # the payment page knows the browser itself
        data = {
            name: value for name, value in data.items() if name not in {"browserFingerprint", "browser_fingerprint"}
        }
    try:
        return StorefrontData.model_validate(data)
    except ValidationError as exc:
        raise combine([_field_refusal(error) for error in find_field_errors(exc)[:_MAX_REPORTED]]) from exc


def _field_refusal(error: FieldError) -> RefusalError:
    path = ".".join(["data", *error.path])
    return RefusalError(RefusalCode.INVALID_DATA, f"`{path}` is invalid: it {error.message}.", path)


def is_direct_payment(data: Any) -> bool:
    """Return True when the shopper pays with a card of the storefront or a saved one, whether valid or not."""
    return isinstance(data, dict) and not (is_blank(data.get("card")) and is_blank(data.get("savedCardId")))


def _is_sealed_card(name: str, value: Any) -> bool:
    return name == "card" and (is_blank(value) or is_sealed(value))


def stated_return_url(data: Any) -> str | None:
    """Return the address in data of which something else cannot be read; None when it cannot be read either."""
    stated = data.get("returnUrl") if isinstance(data, dict) else None
    url = stated.strip() if isinstance(stated, str) else ""
    return url if not is_blank(url) and len(url) <= _LONGEST_URL else None


def storefront_path(gateway_field: str) -> str | None:
    """Return where in ``data`` the storefront can pass a field of the gateway; None when it cannot."""
    return _PATHS.get(gateway_field)


def allowed_return_url(url: str | None, storefront_origins: Sequence[str]) -> str | None:
    """Return the address to which the shopper returns, if its origin is one of the account's storefronts.

    Raises RefusalError for any other: a payment page that forwards to any given address is a gift to phishers.
    """
    if url is None:
        return None
    origin = origin_of(url)
    if origin is None:
        raise RefusalError(
            RefusalCode.INVALID_RETURN_URL,
            "This return address is not a complete http(s) address without spaces, backslashes and control characters.",
            "data.returnUrl",
        )
    if origin not in map(origin_of, storefront_origins):
        raise RefusalError(
            RefusalCode.INVALID_RETURN_URL,
            "This return address is not at one of the storefronts that the store's merchant account allows.",
            "data.returnUrl",
        )
    return url


def _card_fields(data: Any) -> Iterator[str]:
    """Yield the paths of fields that are named like card data.

    Without recursion: JSON may be nested deeper than Python calls functions, and anybody can send it.
    """
    found: deque[tuple[Any, _Place]] = deque([(data, (None, "data"))])
    while found:
        value, place = found.popleft()
        if isinstance(value, dict):
            for key, inner in value.items():
                here = (place, f".{key}")
                if _CARD_FIELD.fullmatch(str(key)):
                    yield _path_of(here)
                found.append((inner, here))
        elif isinstance(value, list):
            found.extend((inner, (place, f"[{number}]")) for number, inner in enumerate(value))


def _path_of(place: _Place) -> str:
    steps: list[str] = []
    outer: _Place | None = place
    while outer is not None:
        outer, step = outer
        steps.append(step)
    return "".join(reversed(steps))


def check_typed_fields(typed: Mapping[str, str | None], language: str) -> None:
    """Refuse a card number in a field that the shopper typed; the refusal names the field by its key in ``typed``.

    Raises RefusalError. The parts of a name are also checked together: a number can be spread over them.
    """
    for field, text in typed.items():
        fewest = _FEWEST_IN_NUMBERS if field in _NUMBERS else MIN_DIGITS
        if text and holds_card_number(text, min_digits=fewest):
            raise _refusal(field, language)
    if holds_card_number(" ".join(_present(typed.get(field) for field in _NAMES))):
        raise _refusal(_NAMES[0], language)


def _present(texts: Iterable[str | None]) -> Iterable[str]:
    return (text for text in texts if text)


def _refusal(field: str, language: str) -> RefusalError:
    return RefusalError(
        RefusalCode.CARD_DATA_REFUSED,
        "The shopper's contact details contain a card number: none of them were stored.",
        field,
        shopper_message=translation_for(language).gettext(_CARD_NUMBER_TYPED),
    )
