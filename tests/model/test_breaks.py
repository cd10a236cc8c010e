"""A model that finds nothing proves nothing: it finds broken laws and faults of old, or says why it cannot."""

import pytest

from tests.model.breaks import FOUND_IN, NOT_FOUND, find_break, played_breaks
from tests.model.scenarios import SCENARIOS

_BREAKS = {broken.what: broken for broken in played_breaks()}


def test_each_break_is_found_or_it_is_said_why_not() -> None:
    assert sorted([*FOUND_IN, *NOT_FOUND]) == sorted(_BREAKS)
    assert set(FOUND_IN.values()) <= {scenario.name for scenario in SCENARIOS}


@pytest.mark.long
@pytest.mark.parametrize("what", FOUND_IN)
def test_model_finds(what: str) -> None:
    assert find_break(_BREAKS[what], states=2_000, scenario=FOUND_IN[what]) is not None
