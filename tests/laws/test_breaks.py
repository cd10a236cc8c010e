"""The ways to break the laws (``make laws``) fit the program as it is now."""

import pytest

from tests.conftest import REPOSITORY
from tests.laws.breaks import BREAKS, Break
from tests.marked.page import LAWS


def test_each_law_has_one() -> None:
    assert {each.law for each in BREAKS} == set(LAWS)


@pytest.mark.parametrize("law", BREAKS, ids=lambda law: f"{law.law}-{law.what.replace(' ', '-')}")
def test_the_text_that_is_changed_is_there(law: Break) -> None:
    assert law.files(REPOSITORY), f"app/{law.where} no longer holds {law.old!r}: say anew how this law can be broken"
