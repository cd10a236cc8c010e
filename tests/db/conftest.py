import pytest

from app.store.accounts import AccountRepository
from app.store.database import Database
from app.store.inbox import Inbox
from app.store.installations import InstallationRepository, OpenInstallation
from app.store.tables import MerchantAccount
from app.store.vault import Vault
from integration_base_tests.clock import Clock
from tests.db.rows import an_account, an_installation


@pytest.fixture
def installations(database: Database, vault: Vault, clock: Clock) -> InstallationRepository:
    return InstallationRepository(database, vault, clock)


@pytest.fixture
def accounts(database: Database, vault: Vault, clock: Clock) -> AccountRepository:
    return AccountRepository(database, vault, clock)


@pytest.fixture
def inbox(database: Database, vault: Vault) -> Inbox:
    return Inbox(database, vault)


@pytest.fixture
async def installation(installations: InstallationRepository) -> OpenInstallation:
    return await an_installation(installations)


@pytest.fixture
async def account(accounts: AccountRepository, installation: OpenInstallation) -> MerchantAccount:
    return await an_account(accounts, installation)
