"""Pydantic's validation errors as messages of our own, which people read; on pages, in their language.

The library's wording is written for programmers and changes between versions. None of it, and none of the input, is
repeated. A ValueError that a validator of ours raises is quoted: its text is written for people already.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.i18n.messages import LazyMessage, Verbatim, gettext_noop

_UNREADABLE = gettext_noop("cannot be read")
_TEXT = gettext_noop("must be text")
_NUMBER = gettext_noop("must be a number")
_WHOLE = gettext_noop("must be a whole number")
_OBJECT = gettext_noop("must be an object with named fields")
_LIST = gettext_noop("must be a list")
_BOOLEAN = gettext_noop("must be true or false")
_DAY = gettext_noop("must be a date like 1991-08-24")
_MOMENT = gettext_noop("must be a date and time")
_ONE_OF = gettext_noop("must be one of %(expected)s")

SENTENCES: Mapping[str, str] = {
    "missing": gettext_noop("is required"),
    "extra_forbidden": gettext_noop("is not a known field: correct its name or leave it out"),
    "string_type": _TEXT,
    "string_too_long": gettext_noop("must have at most %(max_length)s characters"),
    "string_too_short": gettext_noop("must have at least %(min_length)s characters"),
    "string_pattern_mismatch": gettext_noop("is not in the expected format"),
    "bool_type": _BOOLEAN,
    "bool_parsing": _BOOLEAN,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "decimal_type": _NUMBER,
    "decimal_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "greater_than": gettext_noop("must be greater than %(gt)s"),
    "greater_than_equal": gettext_noop("must be at least %(ge)s"),
    "less_than": gettext_noop("must be less than %(lt)s"),
    "less_than_equal": gettext_noop("must be at most %(le)s"),
    "too_long": gettext_noop("must have at most %(max_length)s entries"),
    "too_short": gettext_noop("must have at least %(min_length)s entries"),
    "literal_error": _ONE_OF,
    "enum": _ONE_OF,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dataclass_type": _OBJECT,
    "dict_type": _OBJECT,
    "mapping_type": _OBJECT,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "ip_any_address": gettext_noop("must be an IP address"),
    "date_type": _DAY,
    "date_parsing": _DAY,
    "date_from_datetime_parsing": _DAY,
    "date_from_datetime_inexact": _DAY,
    "datetime_type": _MOMENT,
    "datetime_parsing": _MOMENT,
    "datetime_from_date_parsing": _MOMENT,
}
"""The message for a field, by pydantic's error type."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One validation error: the path of the field (empty for the whole input) and the message."""

    path: tuple[str, ...]
    message: LazyMessage | Verbatim

    @property
    def field(self) -> str:
        """The path with dots, for people."""
        return ".".join(self.path)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.path else self.message


def find_field_errors(error: ValidationError) -> list[FieldError]:
    """Return all errors, in the order of the fields."""
    return [_field_error(each) for each in error.errors(include_url=False, include_input=False)]


def error_message(found: ErrorDetails) -> str:
    """Return the English message for one error of pydantic's."""
    return _field_error(found).message


def _field_error(found: ErrorDetails) -> FieldError:
    path = tuple(str(step) for step in found["loc"] if step != "[key]")
    values = {name: str(value) for name, value in found.get("ctx", {}).items()}
    if found["type"] == "value_error":
        return FieldError(path, Verbatim(values["error"]))
    if "expected" in values:  # 'this', 'that' or 'another'
        values["expected"] = ", ".join(re.findall(r"'([^']*)'", values["expected"]))
    return FieldError(path, LazyMessage(SENTENCES.get(found["type"], _UNREADABLE), **values))
