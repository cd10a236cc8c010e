"""The ways to break the laws (``make laws``) fit the program as it is now."""

import pytest

from integration_base_tests.places import REPOSITORY
from tests.laws.breaks import BREAKS, Break
from tests.marked.page import LAWS


def test_each_law_has_one() -> None:
    assert {law.law for law in BREAKS} == set(LAWS)


@pytest.mark.parametrize("law", BREAKS, ids=lambda law: f"{law.law}-{law.what.replace(' ', '-')}")
def test_what_is_changed_is_there(law: Break) -> None:
    try:
        sources = law.sources(REPOSITORY)
    except LookupError as error:
        pytest.fail(f"say anew in tests/laws/breaks.py how law {law.law} is broken ({law.what}): {error}")
    assert sources
