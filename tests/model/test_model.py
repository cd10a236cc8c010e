"""The laws hold in every state that is reached, and every fair future ends with equal books."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.rules.decisions.gateway_call import CallReturned
from tests.model.explore import explore
from tests.model.moves import moves_of
from tests.model.scenarios import SCENARIOS, Scenario

_MOST_STATES = 500
"""Of each scenario: together less than a minute of one core. ``make model`` explores further."""

pytestmark = pytest.mark.law(2, 3, 5, 7, 8, 9, 10, 12, 13)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-"))
def test_laws_in_each_reachable_state_hold(scenario: Scenario) -> None:
    explored = explore(scenario.begin(), most_states=_MOST_STATES)
    assert not explored.found, "\n" + "\n\n".join(map(str, explored.found))
    assert explored.states > 200  # what is wished for is possible at all


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-"))
def test_laws_with_two_faults_hold(scenario: Scenario) -> None:
    explored = explore(scenario.begin(faults=2), most_states=6_000)
    assert not explored.found, "\n" + "\n\n".join(map(str, explored.found))


def test_wrong_decision_is_found_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that finds nothing proves nothing: here an unknown outcome counts as a failure."""

    decide = CallReturned.decide

    def fail_what_is_unknown(
        returned: CallReturned, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]
    ) -> PaymentAggregate:
        decide(returned, aggregate, attempts)
        operation = aggregate.operation_by_id(returned.operation_id)
        if operation.state is State.UNKNOWN:
            operation.state = State.FAILURE
        return aggregate

    monkeypatch.setattr(CallReturned, "decide", fail_what_is_unknown)
    refunds = next(scenario for scenario in SCENARIOS if scenario.name == "two refunds")
    [found] = explore(refunds.begin(), most_states=3_000).found
    assert "lost: refund" in str(found)


def test_two_ways_to_one_state_count_once() -> None:
    scenario = replace(SCENARIOS[0], faults=0)
    world = scenario.begin()
    [begin] = [move for move in moves_of(world) if move.wish == "begin"]
    assert begin.apply(world).key() == begin.apply(world).key() != world.key()
