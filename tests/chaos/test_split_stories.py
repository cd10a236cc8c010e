"""The same stories of a marketplace: whatever happens, each sub-merchant has at the gateway what we wrote down."""

from collections.abc import Callable, Iterator

import pytest

from tests.chaos.always import ALWAYS
from tests.chaos.chance import granted_refund_stories
from tests.chaos.environment import Environment, open_environment
from tests.chaos.shares import BY_LINES, MARKET
from tests.chaos.story import Story
from tests.chaos.test_stories import play_stories

SHARE, ON_SQLITE, MORE_ON_SQLITE, BY_WHAT_IS_BOUGHT, ON_POSTGRESQL = 100, 10, 50, 40, 20


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with open_environment(account=MARKET) as environment:
        yield environment


@pytest.mark.long
@pytest.mark.parametrize("story", [pytest.param(story, id=name) for name, story in ALWAYS.items()])
def test_a_story_that_is_always_told(environment: Environment, story: Story) -> None:
    environment.play(story)


@pytest.mark.fault("all-at-once")
@pytest.mark.law
@pytest.mark.timeout(900)
def test_everybody_has_their_share(environment: Environment) -> None:
    play_stories(environment, ON_SQLITE, SHARE)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_everybody_has_their_share_in_more_stories(environment: Environment) -> None:
    play_stories(environment, MORE_ON_SQLITE, SHARE + 3)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_everybody_has_what_their_things_cost() -> None:
    with open_environment(account=BY_LINES) as environment:
        play_stories(environment, BY_WHAT_IS_BOUGHT, SHARE + 2, granted_refund_stories())


@pytest.mark.long
@pytest.mark.timeout(900)
def test_everybody_has_their_share_on_postgresql(new_postgresql: Callable[[], str]) -> None:
    with open_environment(new_postgresql(), MARKET) as environment:
        play_stories(environment, ON_POSTGRESQL, SHARE + 1)
