"""JSON with exact numbers, used alike for Saleor, the gateway, staff and programs.

``json`` reads numbers with a fraction as floats and cannot write ``Decimal``; 0.1 + 0.2 would become
0.30000000000000004 somewhere on the way. Here a number with a fraction is a ``Decimal`` in both directions.
"""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring_ascii
from typing import Any, NoReturn

# A longer number is not an amount. "1e999999999" is eleven characters that would take a gigabyte to write out.
_MAX_DIGITS = 64


class NotJsonError(ValueError):
    """The input is not JSON, or contains a number that is not accepted."""


def loads(text: str | bytes, *, any_number: bool = False) -> Any:
    """Parse JSON (bytes are UTF-8); numbers with a fraction or an exponent become ``Decimal``.

    A number that is too long to be an amount is rejected, unless ``any_number``: that is for documents with content
    from shoppers and other apps, where one such number must not make the rest unreadable.

    Raises ``NotJsonError``, whose message quotes nothing of the input.
    """
    parse_float, parse_int = (Decimal, int) if any_number else (_parse_decimal, _parse_integer)
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        unmarked = decoded.removeprefix("\ufeff")  # the byte order mark that programs on .NET write
        return json.loads(unmarked, parse_float=parse_float, parse_int=parse_int, parse_constant=_reject_constant)
    except NotJsonError:
        raise
    except (ValueError, InvalidOperation, RecursionError):
        pass
    # Raised outside of the handler: the decoder's error carries the whole document, which may be unfit for any log.
    raise NotJsonError("not JSON")


def dumps(value: object) -> str:
    """Format ``value`` as ASCII JSON; a ``Decimal`` keeps all of its digits (``569.50``).

    An exponent is only written for numbers too large to write out. Raises ``TypeError`` for a float (money is never
    one) and for anything that JSON cannot hold, ``ValueError`` for a ``Decimal`` that is not finite.
    """
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return encode_basestring_ascii(value)
        case int():
            return str(int(value))
        case Decimal():
            return _format_decimal(value)
        case Mapping():
            return "{" + ",".join([f"{_encode_name(name)}:{dumps(item)}" for name, item in value.items()]) + "}"
        case list() | tuple():
            return "[" + ",".join([dumps(item) for item in value]) + "]"
        case _:
            raise TypeError(f"JSON has no exact form for {type(value).__name__}")


def _encode_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError("the name of a JSON member is a string")
    return encode_basestring_ascii(name)


def _format_decimal(number: Decimal) -> str:
    if not number.is_finite():
        raise ValueError("JSON has no form for a number that is not finite")
    return format(number, "f") if abs(number.adjusted()) <= _MAX_DIGITS else str(number)


def _parse_decimal(text: str) -> Decimal:
    number = Decimal(text)
    if len(text) > _MAX_DIGITS or abs(number.adjusted()) > _MAX_DIGITS:
        raise NotJsonError("a number too long to be an amount")
    return number


def _parse_integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise NotJsonError("a number too long to be an amount")
    return int(text)


def _reject_constant(text: str) -> NoReturn:
    raise NotJsonError(f"{text} is not JSON")
