"""A town with a shop that is ready to sell."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.journeys.town import Town, a_town, the_neighbours


@pytest.fixture(scope="session")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A Saleor and a gateway for all stories of this test process; each story finds them empty."""
    with the_neighbours(tmp_path_factory.mktemp("neighbours")) as neighbours:
        yield neighbours


@pytest.fixture
async def town(database_url: str, tmp_path: Path, neighbours: tuple[str, str]) -> AsyncIterator[Town]:
    """The three processes; nothing is installed yet."""
    async with a_town(database_url, tmp_path, neighbours) as town:
        yield town


@pytest.fixture
async def shop(town: Town) -> Town:
    """The town after the store owner has installed the app and connected a merchant account."""
    installed = await town.saleor.install(f"{town.app.url}/api/manifest")
    assert installed.status == "INSTALLED", installed.message
    await town.open_account()
    return town
