"""Text from outside, as it can be stored."""

import hashlib
import re
from unicodedata import category

_IMPOSSIBLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_DIGEST = 12


def fit_text(text: str, most: int | None = None) -> str:
    """Return ``text`` as a column of ``most`` characters can hold it; mostly unchanged.

    Characters that no column can hold are replaced. Text that is too long is cut and ends with a digest of the whole,
    where there is room for one: two texts that differ stay different, and no text that fits equals one that was cut.
    """
    if not text.isascii() or "\x00" in text:
        text = _IMPOSSIBLE.sub(_REPLACEMENT, text)
    if most is None or len(text) <= most:
        return text
    room = most - _DIGEST - 1
    if room < _DIGEST:
        return f"{text[: most - 1]}…"
    return f"{text[:room]}…{hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]}"


def one_line(text: str) -> str:
    """Return ``text`` without line feeds, tabs and control characters, as receipts and forms have room for it."""
    return " ".join("".join(" " if category(mark) == "Cc" else mark for mark in text).split())
