"""JSON as the gateway speaks it: numbers are exact.

``json`` reads numbers with a fraction as floats and writes ``Decimal`` not at all; 0.1 + 0.2 would be
0.30000000000000004 somewhere on the way. Here a number with a fraction is a ``Decimal`` in both directions.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring_ascii
from typing import Any

# A number beyond these is no amount. "1e999999999" is eleven characters that would take a gigabyte to write out.
_MOST_DIGITS = 64


class NotJsonError(ValueError):
    """What was given is not JSON, or holds a number that no record of this interface holds."""


def _number(text: str) -> Decimal:
    number = Decimal(text)
    if len(text) > _MOST_DIGITS or (number and abs(number.adjusted()) > _MOST_DIGITS):
        raise NotJsonError("a number too long to be an amount")
    return number


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise NotJsonError("a number too long to be an amount")
    return int(text)


def _constant(text: str) -> Any:
    raise NotJsonError(f"{text} is not JSON")


def loads(text: str | bytes) -> Any:
    """Read JSON; numbers with a fraction or an exponent become ``Decimal``.

    Raises ``NotJsonError``, echoing nothing.
    """
    try:
        return json.loads(text, parse_float=_number, parse_int=_integer, parse_constant=_constant)
    except NotJsonError:
        raise
    except (ValueError, RecursionError):
        pass
    # Outside of the handler: the decoder's error carries the whole document, which may hold what no log may see.
    raise NotJsonError("not JSON")


def dumps(value: object) -> str:
    """Write JSON in ASCII; a ``Decimal`` becomes the number with the very digits it has.

    Raises ``TypeError`` for a float (money is never one) and for anything that is not JSON.
    """
    return "".join(_parts(value))


def _parts(value: object) -> list[str]:
    match value:
        case Mapping():
            return _joined("{", "}", [_member(name, item) for name, item in value.items()])
        case list() | tuple():
            return _joined("[", "]", [_parts(item) for item in value])
        case _:
            return [_scalar(value)]


def _scalar(value: object) -> str:
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return encode_basestring_ascii(value)
        case int():
            return str(int(value))
        case Decimal() if value.is_finite():
            return format(value, "f")
        case _:
            raise TypeError(f"{type(value).__name__} is not written to the gateway")


def _member(name: object, item: object) -> list[str]:
    if not isinstance(name, str):
        raise TypeError("the name of a JSON member is a string")
    return [encode_basestring_ascii(name), ":", *_parts(item)]


def _joined(opening: str, closing: str, groups: list[list[str]]) -> list[str]:
    parts = [opening]
    for number, group in enumerate(groups):
        if number:
            parts.append(",")
        parts.extend(group)
    parts.append(closing)
    return parts
