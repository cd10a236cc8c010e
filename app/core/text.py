"""Text from outside, as it can be stored."""

import hashlib
import re
from unicodedata import category, decimal, normalize

_IMPOSSIBLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_DIGEST = 12
_UNSEEN = frozenset({"Cc", "Cf"})  # control characters; marks of direction, characters without width
_VARIATIONS = frozenset(map(chr, range(0xFE00, 0xFE10)))  # what PDF readers put behind a character


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


def visible_text(text: str) -> str:
    """Return what people see of a text that they typed or pasted, with the spaces of a keyboard, and none around it.

    Address books of phones, and web pages, put marks of direction around what is copied from them.
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    spaced = (" " if character.isspace() else character for character in text)
    return "".join(mark for mark in spaced if category(mark) not in _UNSEEN and mark not in _VARIATIONS).strip()


def typed_number(text: str) -> str:
    """Return a number that was typed or pasted, in the signs of a Latin keyboard.

    Other keyboards have digits of their own (Arabic, Persian, Hindi) or wide ones (Japanese), and word processors
    other dashes.
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    marks = normalize("NFKC", visible_text(text))
    return "".join(
        str(decimal(mark)) if mark.isdecimal() else "-" if category(mark) == "Pd" or mark == "\u2212" else mark
        for mark in marks
    )
