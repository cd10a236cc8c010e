"""Finds card numbers that somebody typed where they do not belong. Pure; repeats nothing of what it finds.

A card number has 13 to 19 digits and ends with its check digit (ISO/IEC 7812-1). People write it in groups, so whole
groups of digits that follow one another are tried together. Digits of all scripts count.
"""

import re
import unicodedata
from itertools import accumulate, pairwise

from app.gateway.luhn import passes_luhn

FEWEST_DIGITS, MOST_DIGITS = 13, 19
_LONGEST_GAP = 3  # characters between two groups of digits of one number
_DIGITS = re.compile(r"\d+")


def holds_card_number(text: str, *, fewest: int = FEWEST_DIGITS) -> bool:
    """Return True when ``text`` holds what can be a card number of at least ``fewest`` digits."""
    groups = list(_DIGITS.finditer(text))
    return any(_begins_one(text, groups[number:], fewest) for number in range(len(groups)))


def _begins_one(text: str, groups: list[re.Match[str]], fewest: int) -> bool:
    """Say whether the first of these groups, alone or with some that follow it at once, is a card number."""
    following = [groups[0]]
    for before, after in pairwise(groups):
        between = text[before.end() : after.start()]
        if len(between) > _LONGEST_GAP or any(character.isalnum() for character in between):
            break
        following.append(after)
    written = accumulate("".join(str(unicodedata.digit(digit)) for digit in group[0]) for group in following)
    return any(fewest <= len(number) <= MOST_DIGITS and number.strip("0") and passes_luhn(number) for number in written)
