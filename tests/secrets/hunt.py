"""Looks for secrets in whatever the app has left behind, in every form that they could have taken."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

_SHORTEST = 8  # anything shorter is found everywhere by chance
_SEPARATORS = (" ", "-", ".", "\N{NO-BREAK SPACE}")
_MAY_BE_SHOWN = 6  # the first digits of a card number; one more is too many


@dataclass(frozen=True)
class Secret:
    """Something that nobody may find, by the name under which a find is told."""

    name: str
    value: str

    def __post_init__(self) -> None:
        """Refuse what would be found by chance."""
        if len(self.value) < _SHORTEST:
            raise ValueError(f"{self.name} is too short to be looked for: see `SecurityCode`")

    def forms(self) -> Iterator[tuple[str, bytes]]:
        """Give each form that it can take, with the form's name."""
        plain = self.value.encode()
        yield "as it is", plain
        yield "backwards", self.value[::-1].encode()
        yield "in capitals", self.value.upper().encode()
        yield "in small letters", self.value.lower().encode()
        yield "in hexadecimal", plain.hex().encode()
        yield "in an address", quote(self.value, safe="").encode()
        yield "in JSON", json.dumps(self.value)[1:-1].encode()
        yield "in JSON within JSON", json.dumps(json.dumps(self.value)[1:-1])[1:-1].encode()
        for before in range(3):  # where it begins decides how base64 spells it
            yield from (("in base64", form) for form in _base64(b"\0" * before + plain, before))


@dataclass(frozen=True)
class CardNumber(Secret):
    """A card number: its first six and its last four digits may be seen, and no more."""

    def forms(self) -> Iterator[tuple[str, bytes]]:
        """Give each form, those in groups among them, and a mask that shows too much."""
        yield from super().forms()
        groups = [self.value[start : start + 4] for start in range(0, len(self.value), 4)]
        yield from (("in groups", separator.join(groups).encode()) for separator in _SEPARATORS)
        yield "with too many digits shown", self.value[: _MAY_BE_SHOWN + 2].encode()


@dataclass(frozen=True)
class SecurityCode:
    """The digits on a card's back. By themselves they are everywhere: they are looked for behind their name."""

    value: str
    name: str = "security code"

    def found_in(self, text: bytes) -> bool:
        """Return True when something calls these digits a security code."""
        names = rb"(?:cvv2?|cvc2?|security[_ -]?code)"
        return re.search(names + rb"\W{1,12}" + self.value.encode() + rb"(?!\d)", text, re.IGNORECASE) is not None


def find_secrets(secrets: Iterable[Secret | SecurityCode], left_behind: Mapping[str, bytes]) -> list[str]:
    """Return what was found and where, in words that do not repeat the secret."""
    found = []
    for secret in secrets:
        for place, content in left_behind.items():
            if isinstance(secret, SecurityCode):
                found += [f"{secret.name} in {place}"] if secret.found_in(content) else []
            else:
                found += [f"{secret.name} {how} in {place}" for how, form in secret.forms() if form in content]
    return found


def _base64(padded: bytes, before: int) -> Iterator[bytes]:
    """Give the part of the spelling that does not depend on what stands around it, in both alphabets."""
    first, last = -(-before * 8 // 6), len(padded) * 8 // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(padded)[first:last]
