"""What people type and paste, in the signs of a Latin keyboard."""

from unicodedata import category, decimal, east_asian_width, normalize

_UNSEEN = frozenset({"Cc", "Cf"})  # control characters; marks of direction, characters without width
_VARIATIONS = frozenset(map(chr, range(0xFE00, 0xFE10)))  # what PDF readers put behind a character
_SIGNS = str.maketrans({"\u2212": "-", "\u066b": ".", "\u066c": ","})  # minus, Arabic separators
_AROUND_ADDRESSES = " .,;<>\u060c\u061b\u3001"  # with the Arabic comma and semicolon, and the ideographic comma
_LINK = "mailto:"
_FULL_STOP = str.maketrans("\u3002", ".")  # as browsers take it for the dot of a domain


def visible_text(text: str) -> str:
    """Return what people see of a text that they typed or pasted, with the spaces of a keyboard, and none around it.

    Address books of phones, and web pages, put marks of direction around what is copied from them.
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    spaced = (" " if character.isspace() else character for character in text)
    return "".join(mark for mark in spaced if category(mark) not in _UNSEEN and mark not in _VARIATIONS).strip()


def one_line(text: str) -> str:
    """Return ``text`` without line feeds, tabs and control characters, as receipts and forms have room for it.

    It is empty where nothing of it is seen.
    """
    if not visible_text(text):
        return ""
    return " ".join("".join(" " if category(mark) == "Cc" else mark for mark in text).split())


def typed_number(text: str) -> str:
    """Return a number that was typed or pasted, in the signs of a Latin keyboard.

    Other keyboards have digits of their own (Arabic, Persian, Hindi) or wide ones (Japanese), and word processors
    other dashes. Raised digits are none of the number: ``10²`` is not 102.
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    marks = _narrow(visible_text(text)).translate(_SIGNS)
    return "".join(
        str(decimal(mark)) if mark.isdecimal() else "-" if category(mark) == "Pd" else mark for mark in marks
    )


def typed_email(text: str) -> str:
    """Return an e-mail address that was typed or pasted, with the signs of a Japanese keyboard in their usual width.

    What stands around it where it is copied from (a list, a sentence, a link) is none of it, nor does an address begin
    or end so.
    """
    address = _narrow(visible_text(text)).translate(_FULL_STOP).strip(_AROUND_ADDRESSES)
    return address[len(_LINK) :].strip(_AROUND_ADDRESSES) if address.lower().startswith(_LINK) else address


def _narrow(text: str) -> str:
    """Return ``text`` without wide letters and signs. Those that look different otherwise stay what they are."""
    return "".join(normalize("NFKC", mark) if east_asian_width(mark) in "FH" else mark for mark in text)
