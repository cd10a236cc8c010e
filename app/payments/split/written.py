"""Rules as a store owner writes them down: TOML or JSON."""

import json
import re
import tomllib
from decimal import Decimal, InvalidOperation
from typing import Any

from app.payments.core.messages import LazyMessage
from app.payments.split.rules import RulesError, SplitRules, read_rules

LONGEST = 1_000_000  # characters


def rules_in(text: str, *, as_json: bool = False) -> SplitRules:
    """Return the rules in a text; no text splits nothing. Raises RulesError."""
    if len(text) > LONGEST:
        raise RulesError([f"rules have at most {LONGEST} characters"])
    try:
        is_json = as_json or text.lstrip().startswith("{")
        # Not ``exact_json``, whose errors say nothing of what they have read: people need the place in what they wrote.
        data: Any = json.loads(text, parse_float=Decimal) if is_json else tomllib.loads(text, parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError) as error:
        raise RulesError([LazyMessage("it is neither TOML nor JSON (%(place)s)", place=_place(error))]) from error
    return read_rules(data)


def _place(error: Exception) -> str:
    """Return where reading ended."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.lineno}:{error.colno}"
    found = re.search(r"\(at line (\d+), column (\d+)\)$", str(error))
    return f"{found[1]}:{found[2]}" if found else "-"
