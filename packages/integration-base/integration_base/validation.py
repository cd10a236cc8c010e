"""Pydantic's validation errors in words of our own, which people read.

The library's wording is written for programmers and changes between versions. None of it, and none of the input, is
repeated. A ValueError that a validator raises is quoted: its text is written for people already.
"""

import re
from collections.abc import Mapping

from pydantic_core import ErrorDetails

from integration_base.messages import gettext_noop

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


def error_template(found: ErrorDetails) -> tuple[str, dict[str, str]]:
    """Return the English message for one error of pydantic's and the values of its placeholders."""
    values = {name: str(value) for name, value in found.get("ctx", {}).items()}
    if found["type"] == "value_error":
        return "%(error)s", values
    if "expected" in values:  # 'this', 'that' or 'another'
        values["expected"] = ", ".join(re.findall(r"'([^']*)'", values["expected"]))
    return SENTENCES.get(found["type"], _UNREADABLE), values


def error_message(found: ErrorDetails) -> str:
    """Return the English message for one error of pydantic's."""
    template, values = error_template(found)
    return template % values if values else template
