"""A town with a shop that is ready to sell."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.journeys.nursery import Mortal, Nursery, a_nursery
from tests.journeys.town import Town, a_town, the_neighbours


@pytest.fixture(scope="session")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A Saleor and a gateway for all stories of this test process; each story finds them empty."""
    with the_neighbours(tmp_path_factory.mktemp("neighbours")) as neighbours:
        yield neighbours


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """What starts the apps of this test process quickly. That a terminal starts one too, tests/commands show."""
    with a_nursery() as nursery:
        yield nursery


@pytest.fixture
async def town(database_url: str, tmp_path: Path, neighbours: tuple[str, str], nursery: Nursery) -> AsyncIterator[Town]:
    """The three processes; nothing is installed yet."""
    resident = partial(Mortal, nursery=nursery)
    async with a_town(database_url, tmp_path, neighbours, resident=resident) as town:
        yield town


@pytest.fixture
async def shop(town: Town) -> Town:
    """The town after the store owner has installed the app and connected a merchant account."""
    installed = await town.saleor.install(f"{town.app.url}/api/manifest")
    assert installed.status == "INSTALLED", installed.message
    await town.open_account()
    return town
