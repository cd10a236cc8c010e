"""What pydantic finds wrong, in sentences of ours: people read them, in the pages in their own language.

The library's wording is written for programmers, and changes with its versions; nothing of it, and nothing of what was
given, is repeated. A validator of ours that raises ValueError is quoted: its words are for people already.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.i18n.messages import LazyMessage, Verbatim, gettext_noop

_ANYTHING_ELSE = gettext_noop("cannot be read")
_TEXT = gettext_noop("must be a text")
_NUMBER = gettext_noop("must be a number")
_WHOLE = gettext_noop("must be a whole number")
_OBJECT = gettext_noop("must be an object with named fields")
_LIST = gettext_noop("must be a list")
_SWITCH = gettext_noop("must be true or false")
_DAY = gettext_noop("must be a date like 1991-08-24")
_MOMENT = gettext_noop("must be a date and a time")
_OF_SEVERAL = gettext_noop("must be one of %(expected)s")

SENTENCES: Mapping[str, str] = {
    "missing": gettext_noop("is required"),
    "extra_forbidden": gettext_noop("is not known here: correct its name, or leave it out"),
    "string_type": _TEXT,
    "string_too_long": gettext_noop("has at most %(max_length)s characters"),
    "string_too_short": gettext_noop("has at least %(min_length)s characters"),
    "string_pattern_mismatch": gettext_noop("is not written in the form that is expected"),
    "bool_type": _SWITCH,
    "bool_parsing": _SWITCH,
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
    "too_long": gettext_noop("has at most %(max_length)s entries"),
    "too_short": gettext_noop("has at least %(min_length)s entries"),
    "literal_error": _OF_SEVERAL,
    "enum": _OF_SEVERAL,
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
"""By pydantic's type of error, what is said of a field."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """One thing that is wrong: where (empty for the whole), and in which words."""

    where: tuple[str, ...]
    words: LazyMessage | Verbatim

    @property
    def field(self) -> str:
        """Where it is, as people write it."""
        return ".".join(self.where)

    def __str__(self) -> str:
        return f"{self.field}: {self.words}" if self.where else self.words


def found_wrong(error: ValidationError) -> list[Invalid]:
    """Return everything that is wrong, in the order of the fields."""
    return [_invalid(each) for each in error.errors(include_url=False, include_input=False)]


def words_of(found: ErrorDetails) -> str:
    """Return what is wrong with one field, in English."""
    return _invalid(found).words


def _invalid(found: ErrorDetails) -> Invalid:
    where = tuple(str(step) for step in found["loc"] if step != "[key]")
    values = {name: str(value) for name, value in found.get("ctx", {}).items()}
    if found["type"] == "value_error":
        return Invalid(where, Verbatim(values["error"]))
    if "expected" in values:  # 'this', 'that' or 'another'
        values["expected"] = ", ".join(re.findall(r"'([^']*)'", values["expected"]))
    return Invalid(where, LazyMessage(SENTENCES.get(found["type"], _ANYTHING_ELSE), **values))
