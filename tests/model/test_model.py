"""The laws hold in every state that is reached, and every fair future ends with equal books."""

from dataclasses import replace

import pytest

from app.core.vocabulary import State
from tests.model import app_side
from tests.model.explore import explore
from tests.model.moves import moves_of
from tests.model.scenarios import SCENARIOS, Scenario

_MOST_STATES = 1_500
"""Of each scenario: together some thirty seconds of one core. ``make model`` explores further."""

pytestmark = pytest.mark.law(2, 3, 5, 7, 8, 9, 10, 12, 13)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-"))
def test_laws_in_each_reachable_state_hold(scenario: Scenario) -> None:
    explored = explore(scenario.begin(), most_states=_MOST_STATES)
    assert not explored.found, "\n" + "\n\n".join(map(str, explored.found))
    assert explored.states > _MOST_STATES / 2


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-"))
def test_laws_with_two_faults_hold(scenario: Scenario) -> None:
    explored = explore(scenario.begin(faults=2), most_states=15_000)
    assert not explored.found, "\n" + "\n\n".join(map(str, explored.found))


def test_success_taken_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that finds nothing proves nothing: with a decision that is wrong, it tells how that happens."""
    rightly = app_side.transition

    def fail_what_is_unknown(*arguments: object) -> None:
        rightly(*arguments)  # type: ignore[arg-type]  # handed on
        operation = arguments[1]
        if operation.state is State.UNKNOWN:  # type: ignore[attr-defined]  # the second is the operation
            operation.state = State.FAILURE  # type: ignore[attr-defined]

    monkeypatch.setattr(app_side, "transition", fail_what_is_unknown)
    refunds = next(scenario for scenario in SCENARIOS if scenario.name == "refunds")
    explored = explore(refunds.begin(), most_states=20_000)
    assert "lost: refund" in str(explored.found[0])


def test_two_ways_to_one_state_count_once() -> None:
    scenario = replace(SCENARIOS[0], faults=0)
    world = scenario.begin()
    [begin] = [move for move in moves_of(world) if move.wish == "begin"]
    assert begin.apply(world).key() == begin.apply(world).key() != world.key()
