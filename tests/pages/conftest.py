from collections.abc import AsyncIterator

import pytest

from tests.conftest import MigratedDatabases
from tests.pages.stack import AppUnderTest, open_app_under_test


@pytest.fixture(scope="module")
async def app_under_test(
    tmp_path_factory: pytest.TempPathFactory, migrated: MigratedDatabases
) -> AsyncIterator[AppUnderTest]:
    """The pages are the same on every database: SQLite will do."""
    folder = tmp_path_factory.mktemp("app_under_test")
    async with open_app_under_test(folder, await migrated.sqlite(folder)) as app_under_test:
        yield app_under_test
