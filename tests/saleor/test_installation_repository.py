"""The app keeps installations as every store of the SDK must."""

from collections.abc import AsyncIterator

import pytest

from app.store.database import Database, create_engine
from app.store.installations import InstallationRepository
from app.store.vault import Vault
from integration_base_tests.clock import Clock
from saleor_app_sdk_tests.installation_store_cases import InstallationStoreCases
from tests.conftest import MigratedDatabases


@pytest.fixture
async def store(migrated: MigratedDatabases, vault: Vault, clock: Clock) -> AsyncIterator[InstallationRepository]:
    database = Database(create_engine(await migrated.sqlite()))
    yield InstallationRepository(database, vault, clock)
    await database.close()


class TestInstallationRepository(InstallationStoreCases):
    pass
