from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browsing import chromium
from tests.conftest import MigratedDatabases
from tests.pages.stack import AppUnderTest, a_house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, migrated: MigratedDatabases) -> AsyncIterator[AppUnderTest]:
    """The pages are the same on every database: SQLite will do."""
    folder = tmp_path_factory.mktemp("house")
    async with a_house(folder, await migrated.sqlite(folder)) as house:
        yield house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser
