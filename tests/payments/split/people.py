"""Sub-merchants, and rules about them."""

from typing import Any

from app.rules.split.rules import SplitRules, read_rules

MARKET = "aaaaaaaa-0000-4000-8000-000000000001"
POTTER = "bbbbbbbb-0000-4000-8000-000000000002"
SMITH = "cccccccc-0000-4000-8000-000000000003"
WEAVER = "dddddddd-0000-4000-8000-000000000004"
SELLERS = (POTTER, SMITH, WEAVER)
NAMES = {MARKET: "The market", POTTER: "Potter", SMITH: "Smith", WEAVER: "Weaver"}


def rules(**different: Any) -> SplitRules:
    """Rules by metadata, the market being the default sub-merchant."""
    return read_rules({"mode": "metadata", "default": MARKET, "names": NAMES} | different)
