"""JSON in which a number stays what it is, the same for Saleor, the gateway, staff and programs.

``json`` reads numbers with a fraction as floats and writes ``Decimal`` not at all; 0.1 + 0.2 would be
0.30000000000000004 somewhere on the way. Here a number with a fraction is a ``Decimal`` in both directions.
"""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring_ascii
from typing import Any, NoReturn

# A number beyond these is no amount. "1e999999999" is eleven characters that would take a gigabyte to write out.
_MOST_DIGITS = 64


class NotJsonError(ValueError):
    """What was given is not JSON, or holds a number that is not taken."""


def loads(text: str | bytes, *, any_number: bool = False) -> Any:
    """Read JSON, of bytes in UTF-8; numbers with a fraction or an exponent become ``Decimal``.

    A number that is too long to be an amount is not taken, unless ``any_number``: for documents that carry what
    shoppers and other apps have written, of which one number must not make all the rest unreadable.

    Raises ``NotJsonError``, echoing nothing.
    """
    parse_float, parse_int = (Decimal, int) if any_number else (_number, _integer)
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        return json.loads(decoded, parse_float=parse_float, parse_int=parse_int, parse_constant=_constant)
    except NotJsonError:
        raise
    except (ValueError, InvalidOperation, RecursionError):
        pass
    # Outside of the handler: the decoder's error carries the whole document, which may hold what no log may see.
    raise NotJsonError("not JSON")


def dumps(value: object) -> str:
    """Write JSON in ASCII; a ``Decimal`` becomes the number with the very digits it has (``569.50``).

    Its exponent is only written where it is too large to write out. Raises ``TypeError`` for a float (money is never
    one) and for anything that is not JSON, ``ValueError`` for a ``Decimal`` that is not finite.
    """
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return encode_basestring_ascii(value)
        case int():
            return str(int(value))
        case Decimal():
            return _digits(value)
        case Mapping():
            return "{" + ",".join([f"{_name(name)}:{dumps(item)}" for name, item in value.items()]) + "}"
        case list() | tuple():
            return "[" + ",".join([dumps(item) for item in value]) + "]"
        case _:
            raise TypeError(f"JSON has no exact form for {type(value).__name__}")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError("the name of a JSON member is a string")
    return encode_basestring_ascii(name)


def _digits(number: Decimal) -> str:
    if not number.is_finite():
        raise ValueError("JSON has no form for a number that is not finite")
    return format(number, "f") if abs(number.adjusted()) <= _MOST_DIGITS else str(number)


def _number(text: str) -> Decimal:
    number = Decimal(text)
    if len(text) > _MOST_DIGITS or abs(number.adjusted()) > _MOST_DIGITS:
        raise NotJsonError("a number too long to be an amount")
    return number


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise NotJsonError("a number too long to be an amount")
    return int(text)


def _constant(text: str) -> NoReturn:
    raise NotJsonError(f"{text} is not JSON")
