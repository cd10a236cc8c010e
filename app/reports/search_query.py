"""Parses a search text for payments: an e-mail address, an amount, or a name of the payment. Pure.

=======================================  =======================================================================
text                                     meaning
=======================================  =======================================================================
anything with an @                       the shopper's e-mail address
``1234.50``, ``1 234,50``, ``1,234.50``  an amount; with a currency also ``1000 UAH``, ``UAH 1000``
``#1042``, ``1042``, ``Order 1042``      Saleor's order number
a link to one of the payment's pages     the gateway's order, which ends its path
a link to the order in Saleor            Saleor's order, behind ``orders/``
a UUID, with or without dashes           Saleor's transaction, order or checkout, the gateway's order, or its id of an
                                         operation
six characters or more                   also the beginning of the gateway's order
anything else                            Saleor's transaction, order or checkout, or a reference of an operation
=======================================  =======================================================================
"""

import base64
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from urllib.parse import unquote
from uuid import UUID

from app.core.text import fit_text
from app.i18n.currencies import decimals_of
from app.rules.references import base_of_reference
from app.store.personal import BlindIndex
from app.store.search import PaymentFilter, PaymentNames
from integration_base.amounts import CENT
from integration_base.typed_text import typed_email, typed_number, visible_text

_ORDER_ID_DIGITS = 32
_MIN_PREFIX_LENGTH = 6
"""The fewest characters of a prefix: fewer would find orders by chance."""

_SIGNS = {"₴": "UAH", "€": "EUR"}
_CURRENCY_BEHIND = re.compile(r"(?: (?P<code>[A-Z]{3})| ?(?P<hryvnia>грн\.?)| ?(?P<sign>[₴€]))$", re.IGNORECASE)
_CURRENCY_IN_FRONT = re.compile(r"(?:(?P<code>[A-Z]{3}) |(?P<sign>[₴€]) ?)", re.IGNORECASE)  # as in Saleor's Dashboard
# Thousands separated by a space, an apostrophe, a comma or a point, the same each time; two decimals at
# most, behind the other one of comma and point. "1,000" has three digits behind the comma, so they are no decimals.
_NUMBER = re.compile(
    r"(?:(?P<plain>\d{1,13})|(?P<grouped>\d{1,3}(?P<apart>[ '’.,])\d{3}(?:(?P=apart)\d{3}){0,3}))"
    r"(?:(?P<point>[.,])(?P<decimals>\d{1,2}))?",
    re.ASCII,
)
# The third decimal of a dinar, as Saleor writes it: behind a point, or behind a comma where spaces separate thousands.
_THIRD_DECIMAL = re.compile(r"(?:\.|(?<=[ '’][0-9]{3}),)[0-9]{2}(?P<third>[0-9])$")
_PREFIX = re.compile(r"[0-9a-z]+")
# What stands before a number in descriptions of payments and in orders.
_LABEL = re.compile(r"(?:(?:order|payment|замовлення|платіж):? )?(?:[#№] ?)?(?=\S*\d)", re.IGNORECASE)
_LINK = re.compile(r"https?://[^/?#\s]+/(?P<path>[^?#\s]*[^/?#\s])/*(?:[?#]\S*)?", re.IGNORECASE)
_ORDERS = "orders"  # stands before the order's id in the pages of Saleor's Dashboard, some of which go on behind it
_SALEOR_TYPES = ("TransactionItem", "Order", "Checkout")


@dataclass(frozen=True, slots=True)
class ByEmail:
    """A search by the shopper's e-mail address, which must not be shown, stored or logged anywhere."""

    address: str

    def __repr__(self) -> str:
        return "ByEmail(...)"


@dataclass(frozen=True, slots=True)
class ByAmount:
    """A search by the exact amount to be paid; ``currency`` None: in any currency."""

    amount: Decimal
    currency: str | None


ParsedQuery = ByEmail | ByAmount | PaymentNames

_DECIMALS = 2  # of any payment
_MAX_DIGITS = 13  # before the point, of the largest amount


def parse_query(text: str) -> ParsedQuery | None:
    """Return the parsed text; None for an empty one. Never raises: a text that is nothing else is a name."""
    text = visible_text(fit_text(text))
    if not text:
        return None
    if "@" in (address := typed_email(text)):
        return ByEmail(address)
    return _parse_amount(typed_number(text)) or _parse_name(text)


def any_name(text: str) -> PaymentNames:
    """Return names that match the text as a payment's whole name, whichever of its names it is."""
    name = _bare_name(text)
    return PaymentNames(exact=_exact_names(name), order_number=name or None)


def _bare_name(text: str) -> str:
    """Return the name in a link to one of the payment's pages, or behind a label; else the text itself."""
    name = name_in_link(text)
    label = _LABEL.match(name)
    bare = name if label is None else name[label.end() :]
    digits = typed_number(bare)
    return digits if digits.isascii() and digits.isdecimal() else bare


def name_in_link(text: str) -> str:
    """Return Saleor's order in the link to its page, else the last step of a link; other text as it is."""
    link = _LINK.fullmatch(text)
    if link is None:
        return text
    steps = link["path"].split("/")
    place = steps.index(_ORDERS) + 1 if _ORDERS in steps[:-1] else -1
    return unquote(steps[place])


def narrow(
    wanted: PaymentFilter, query: ParsedQuery | None, emails: BlindIndex, installation_ids: Iterable[int]
) -> PaymentFilter:
    """Return the search narrowed to the parsed query; e-mail addresses are searched in those stores."""
    match query:
        case None:
            return wanted
        case ByEmail(address):
            return replace(wanted, email_digests=emails.digests_to_search(installation_ids, address))
        case ByAmount(amount, currency):
            return replace(wanted, amount=amount, currency=currency)
        case PaymentNames():
            return replace(wanted, names=query)


def _parse_amount(text: str) -> ByAmount | None:
    text = " ".join(text.split())  # amounts are shown with non-breaking spaces, and copied with them
    number_text, code = _split_currency(text)
    number = _in_hundredths(number_text, code)
    found = None if number is None else _NUMBER.fullmatch(number)
    if found is None or (found["apart"] and found["apart"] == found["point"]):
        return None
    if code is None and found["plain"] and not found["decimals"]:
        return None  # an order number
    digits = re.sub(r"\D", "", found["plain"] or found["grouped"])
    if len(digits) > _MAX_DIGITS:
        return None  # larger than any payment
    return ByAmount(Decimal(f"{digits}.{found['decimals'] or '0'}").quantize(CENT), code)


def _split_currency(text: str) -> tuple[str, str | None]:
    """Return a text without the currency behind or in front of it, and its code; None if there is none."""
    if behind := _CURRENCY_BEHIND.search(text):
        code = behind["code"] or ("UAH" if behind["hryvnia"] else _SIGNS[behind["sign"]])
        return text[: behind.start()], code.upper()
    if front := _CURRENCY_IN_FRONT.match(text):
        return text[front.end() :], (front["code"] or _SIGNS[front["sign"]]).upper()
    return text, None


def _in_hundredths(number: str, currency: str | None) -> str | None:
    """Return a number without the third decimal that its currency has; None if it is finer than any payment."""
    finer = _THIRD_DECIMAL.search(number) if currency is not None and decimals_of(currency) > _DECIMALS else None
    if finer is None:
        return number
    return number[:-1] if finer["third"] == "0" else None


def _parse_name(text: str) -> PaymentNames:
    name = _bare_name(text)
    if text.startswith(("#", "№")):
        return PaymentNames(order_number=name.lstrip("#№ ") or text)
    return replace(any_name(text), beginning=_order_id_prefix(name))


def _exact_names(text: str) -> frozenset[str]:
    named = base_of_reference(text)
    names = {text, text.lower(), named, named.lower()}
    for name in (text, named):
        with suppress(ValueError):
            names |= {UUID(name).hex, str(UUID(name)), *_saleor_ids(UUID(name))}
    return frozenset(names)


def _saleor_ids(token: UUID) -> set[str]:
    """Return Saleor's ids of what may have that token."""
    return {base64.b64encode(f"{kind}:{token}".encode()).decode() for kind in _SALEOR_TYPES}


def _order_id_prefix(text: str) -> str | None:
    """Return the prefix of an order id, which may be typed with a UUID's dashes; digits alone are an order number."""
    prefix = text.lower().replace("-", "")
    is_prefix = (
        _MIN_PREFIX_LENGTH <= len(prefix) < _ORDER_ID_DIGITS and _PREFIX.fullmatch(prefix) and not prefix.isdigit()
    )
    return prefix if is_prefix else None
