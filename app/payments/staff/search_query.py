"""Reads what somebody typed to find a payment: an e-mail address, an amount, or a name of the payment. Pure.

=======================================  =======================================================================
typed                                    is
=======================================  =======================================================================
anything with an @                       the shopper's e-mail address
``1234.50``, ``1 234,50``, ``1,234.50``  an amount; with a currency behind it also ``1000 UAH``
``#1042``, ``1042``                      Saleor's order number
a UUID, with or without dashes           Saleor's transaction, the gateway's order, or its id of an operation
six characters or more                   also the beginning of the gateway's order
anything else                            Saleor's transaction, or a reference of an operation
=======================================  =======================================================================
"""

import base64
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from uuid import UUID

from app.amounts import CENT
from app.db.blind_index import BlindIndex
from app.db.columns import fitting
from app.db.search import Names, Wanted
from app.payments.core.references import named_in

_ORDER_ID_DIGITS = 32
_FEWEST = 6
"""Characters that are a beginning: fewer would find orders by chance."""

_CURRENCY = re.compile(r"(?: (?P<code>[A-Za-z]{3})| ?(?P<hryvnia>₴|грн\.?))$", re.IGNORECASE)
# Thousands apart by a space, an apostrophe, a comma or a point, the same each time; two decimals at
# most, behind the other one of comma and point. "1,000" has three digits behind the comma, so they are no decimals.
_NUMBER = re.compile(
    r"(?:(?P<plain>\d{1,13})|(?P<grouped>\d{1,3}(?P<apart>[ '’.,])\d{3}(?:(?P=apart)\d{3}){0,3}))"
    r"(?:(?P<point>[.,])(?P<decimals>\d{1,2}))?",
    re.ASCII,
)
_BEGINNING = re.compile(r"[0-9a-z]+")


@dataclass(frozen=True, slots=True)
class ByEmail:
    """Looked for by the shopper's e-mail address, which must be shown, kept and logged nowhere."""

    address: str

    def __repr__(self) -> str:
        return "ByEmail(...)"


@dataclass(frozen=True, slots=True)
class ByAmount:
    """Looked for by exactly what was to be paid; ``currency`` None: in any."""

    amount: Decimal
    currency: str | None


Typed = ByEmail | ByAmount | Names

_MOST_DIGITS = 13  # before the point, of the largest amount


def read(text: str) -> Typed | None:
    """Return what was typed; None for nothing. Never raises: what is nothing else is a name."""
    text = fitting(text).strip()
    if not text:
        return None
    if "@" in text:
        return ByEmail(text)
    return _amount(text) or _by_name(text)


def every_name(text: str) -> Names:
    """Return that as the whole of a payment's name, whichever of its names it is."""
    return Names(exact=_exact(text), order_number=text.removeprefix("#").strip() or None)


def narrowed(wanted: Wanted, typed: Typed | None, emails: BlindIndex, installation_ids: Iterable[int]) -> Wanted:
    """Return what is wanted, of that only what was typed; addresses are looked for in those stores."""
    match typed:
        case None:
            return wanted
        case ByEmail(address):
            return replace(wanted, email_digests=emails.sought(installation_ids, address))
        case ByAmount(amount, currency):
            return replace(wanted, amount=amount, currency=currency)
        case Names():
            return replace(wanted, names=typed)


def _amount(text: str) -> ByAmount | None:
    text = " ".join(text.split())  # amounts are shown with spaces that do not break, and copied with them
    currency = _CURRENCY.search(text)
    found = _NUMBER.fullmatch(text[: currency.start()] if currency else text)
    if found is None or (found["apart"] and found["apart"] == found["point"]):
        return None
    if currency is None and found["plain"] and not found["decimals"]:
        return None  # an order number
    whole = re.sub(r"\D", "", found["plain"] or found["grouped"])
    if len(whole) > _MOST_DIGITS:
        return None  # of no payment
    code = None if currency is None else "UAH" if currency["hryvnia"] else currency["code"].upper()
    return ByAmount(Decimal(f"{whole}.{found['decimals'] or '0'}").quantize(CENT), code)


def _by_name(text: str) -> Names:
    if text.startswith("#"):
        return Names(order_number=text[1:].strip() or text)
    return replace(every_name(text), beginning=_beginning(text))


def _exact(text: str) -> frozenset[str]:
    named = named_in(text)
    names = {text, text.lower(), named, named.lower()}
    for name in (text, named):
        with suppress(ValueError):
            names |= {UUID(name).hex, str(UUID(name)), _transaction(UUID(name))}
    return frozenset(names)


def _transaction(token: UUID) -> str:
    """Return Saleor's id of the transaction with that token."""
    return base64.b64encode(f"TransactionItem:{token}".encode()).decode()


def _beginning(text: str) -> str | None:
    """Return the beginning of an order id, which may be typed with a UUID's dashes; digits alone are a number."""
    begun = text.lower().replace("-", "")
    right = _FEWEST <= len(begun) < _ORDER_ID_DIGITS and _BEGINNING.fullmatch(begun) and not begun.isdigit()
    return begun if right else None
