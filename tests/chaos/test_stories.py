"""Whatever happens in whatever order: no money moves twice, none is lost, and the three ledgers agree.

Hypothesis generates the stories; those that it seldom generates, or that failed once, are always played. ``make chaos``
plays more of them.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.chaos.always import ALWAYS
from tests.chaos.chance import granted_refund_stories, stories
from tests.chaos.environment import Environment, open_environment
from tests.chaos.story import Story

SHARES, OF_GRANTED, OF_EACH, ON_POSTGRESQL = 26, 3, 20, 40


def shares(first: int, last: int) -> list[Any]:
    """Return the numbers of shares: one is played in every run, the rest in the long campaigns."""
    return [first, *(pytest.param(share, marks=pytest.mark.long) for share in range(first + 1, last))]


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    """SQLite, in memory and without its thread: a story is deterministic."""
    with open_environment() as environment:
        yield environment


@pytest.fixture
def postgresql_environment(new_postgresql: Callable[[], str]) -> Iterator[Environment]:
    with open_environment(new_postgresql()) as environment:
        yield environment


def play_stories(
    environment: Environment, number: int, share: int, strategy: SearchStrategy[Story] | None = None
) -> None:
    """Generate ``number`` stories and play them: in CI always the same ones, different ones for each ``share``."""

    @settings(max_examples=number, database=None)
    @given(stories() if strategy is None else strategy)  # a strategy has no truth value
    def the_laws_hold(story: Story) -> None:
        environment.play(story)

    told: Any = seed(share)(the_laws_hold) if os.environ.get("CI") else the_laws_hold
    told()


@pytest.mark.fault("all-at-once")
@pytest.mark.parametrize("story", [pytest.param(story, id=name) for name, story in ALWAYS.items()])
def test_a_story_that_is_always_told(environment: Environment, story: Story) -> None:
    environment.play(story)


@pytest.mark.fault("all-at-once")
@pytest.mark.law
@pytest.mark.timeout(900)
@pytest.mark.parametrize("share", shares(0, SHARES))
def test_three_ledgers_tell_one_story(environment: Environment, share: int) -> None:
    play_stories(environment, OF_EACH, share)


@pytest.mark.fault("all-at-once")
@pytest.mark.law
@pytest.mark.timeout(900)
@pytest.mark.parametrize("share", shares(SHARES + 1, SHARES + 1 + OF_GRANTED))
def test_each_granted_refund_is_paid_out_once(environment: Environment, share: int) -> None:
    play_stories(environment, OF_EACH, share, granted_refund_stories())


@pytest.mark.fault("all-at-once")
@pytest.mark.long
@pytest.mark.timeout(900)
def test_three_ledgers_tell_one_story_on_postgresql(postgresql_environment: Environment) -> None:
    play_stories(postgresql_environment, ON_POSTGRESQL, SHARES)
