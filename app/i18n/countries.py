"""The countries of ISO 3166-1, by Unicode's table (CLDR), which Babel brings along."""

from functools import cache

from babel import Locale

# CLDR has names for these too, which are no countries there; Saleor knows "EU".
_NO_COUNTRIES = frozenset(["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "XK", "ZZ"])


@cache
def countries() -> frozenset[str]:
    """Return the two letters of each country."""
    return frozenset(str(code) for code in Locale("en").territories if len(str(code)) == 2) - _NO_COUNTRIES
