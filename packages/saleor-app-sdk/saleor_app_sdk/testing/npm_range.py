"""``requiredSaleorVersion``: version ranges as npm writes them (Saleor contract, B.2.1)."""

import re

Version = tuple[int, int, int]

_BEGINNING: Version = (0, 0, 0)
_NO_END: Version = (10**9, 0, 0)
_COMPARATOR = re.compile(r"^(>=|<=|>|<|=|\^|~)?\s*v?([\dxX*]+)(?:\.([\dxX*]+))?(?:\.([\dxX*]+))?(?:[-+][\w.+-]+)?$")
_HYPHEN = re.compile(r"^(\S+)\s+-\s+(\S+)$")
_SPACE_AFTER_OPERATOR = re.compile(r"(>=|<=|>|<|=|\^|~)\s+")


class BadRangeError(ValueError):
    """The text is not a version range."""


def satisfies(version: str, wanted: str) -> bool:
    """Return whether ``version`` (``3.23.28``) lies in the range (``>=3.20 <4``, ``^3.21``, ``3.20 - 3.24``, ``||``).

    Pre-releases count as the release they precede. Raises BadRangeError.
    """
    subject = _numbers(version)
    return any(_matches_all(subject, part.strip()) for part in wanted.split("||"))


def _numbers(version: str) -> Version:
    match = _COMPARATOR.match(version)
    if not match:
        raise BadRangeError(version)
    low, _ = _span(match)
    return low


def _matches_all(subject: Version, part: str) -> bool:
    if hyphen := _HYPHEN.match(part):
        return _matches(subject, f">={hyphen[1]}") and _matches(subject, f"<={hyphen[2]}")
    return all(_matches(subject, comparator) for comparator in _SPACE_AFTER_OPERATOR.sub(r"\1", part).split())


def _matches(subject: Version, comparator: str) -> bool:
    match = _COMPARATOR.match(comparator)
    if not match:
        raise BadRangeError(comparator)
    low, beyond = _span(match)
    limits: dict[str | None, tuple[Version, Version]] = {
        ">=": (low, _NO_END),
        ">": (beyond, _NO_END),
        "<": (_BEGINNING, low),
        "<=": (_BEGINNING, beyond),
        "^": (low, _next_breaking(low)),
        "~": (low, beyond if match[3] is None else (low[0], low[1] + 1, 0)),
    }
    first, end = limits.get(match[1], (low, beyond))
    return first <= subject < end


def _span(match: re.Match[str]) -> tuple[Version, Version]:
    """Return the first version that a partial one covers, and the first beyond it: 3.20 is 3.20.0 up to 3.21.0."""
    numbers = [int(part) for part in match.groups()[1:] if part and part.isdigit()]
    low = (*numbers, 0, 0, 0)[:3]
    if not numbers:
        return _BEGINNING, _NO_END
    beyond = (*numbers[:-1], numbers[-1] + 1, 0, 0, 0)[:3]
    return (low[0], low[1], low[2]), (beyond[0], beyond[1], beyond[2])


def _next_breaking(low: Version) -> Version:
    """Return the end of a caret range, which allows no change of the leftmost non-zero number."""
    if low[0]:
        return low[0] + 1, 0, 0
    return (0, low[1] + 1, 0) if low[1] else (0, 0, low[2] + 1)
