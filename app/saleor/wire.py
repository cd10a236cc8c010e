"""JSON in which an amount stays what it is: numbers with a point are ``Decimal`` on the way in and on the way out."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn


def read_json(raw: bytes) -> Any:
    """Parse UTF-8 JSON; numbers with a point or an exponent become ``Decimal``.

    Raises ValueError for everything that is not JSON, ``NaN`` and ``Infinity`` included, and for JSON that is nested
    deeper than Python reads.
    """
    try:
        return json.loads(raw.decode(), parse_float=Decimal, parse_constant=_not_a_number)
    except RecursionError as exc:
        msg = "the JSON is nested too deeply"
        raise ValueError(msg) from exc


def write_json(value: object) -> bytes:
    """Write ASCII JSON in which every ``Decimal`` is a number with exactly its own digits (``569.50``).

    Raises TypeError for a float (it has no exact digits to write) and for whatever JSON has no form for, ValueError for
    a ``Decimal`` that is not finite.
    """
    return _written(value).encode("ascii")


def _written(value: object) -> str:
    if value is None or isinstance(value, bool | int | str):
        return json.dumps(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            msg = "JSON has no form for a number that is not finite"
            raise ValueError(msg)
        # str(), not format(value, "f"): "1E+999999999" must not become a gigabyte of zeros
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_written(item) for item in value) + "]"
    msg = f"JSON has no exact form for {type(value).__name__}"
    raise TypeError(msg)


def _key(key: object) -> str:
    if not isinstance(key, str):
        msg = f"a JSON key must be a string, not {type(key).__name__}"
        raise TypeError(msg)
    return json.dumps(key)


def _not_a_number(constant: str) -> NoReturn:
    msg = f"{constant} is not JSON"
    raise ValueError(msg)
