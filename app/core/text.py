"""Text from outside, as it can be stored."""

import hashlib
import re

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
