"""The same stories of a marketplace: whatever happens, each sub-merchant has at the gateway what we wrote down."""

from collections.abc import Callable, Iterator

import pytest

from tests.chaos.always import ALWAYS
from tests.chaos.chance import granted
from tests.chaos.shares import BY_LINES, MARKET
from tests.chaos.story import Story
from tests.chaos.test_stories import tell
from tests.chaos.theatre import Theatre, open_theatre

SHARE, ON_SQLITE, BY_WHAT_IS_BOUGHT, ON_POSTGRESQL = 100, 60, 40, 20


@pytest.fixture(scope="module")
def theatre() -> Iterator[Theatre]:
    with open_theatre(account=MARKET) as theatre:
        yield theatre


@pytest.mark.parametrize("story", [pytest.param(story, id=name) for name, story in ALWAYS.items()])
def test_a_story_that_is_always_told(theatre: Theatre, story: Story) -> None:
    theatre.tell(story)


@pytest.mark.law
@pytest.mark.timeout(900)
def test_everybody_has_their_share(theatre: Theatre) -> None:
    tell(theatre, ON_SQLITE, SHARE)


@pytest.mark.timeout(900)
def test_everybody_has_what_their_things_cost() -> None:
    with open_theatre(account=BY_LINES) as theatre:
        tell(theatre, BY_WHAT_IS_BOUGHT, SHARE + 2, granted())


@pytest.mark.timeout(900)
def test_everybody_has_their_share_on_postgresql(new_postgresql: Callable[[], str]) -> None:
    with open_theatre(new_postgresql(), MARKET) as theatre:
        tell(theatre, ON_POSTGRESQL, SHARE + 1)
