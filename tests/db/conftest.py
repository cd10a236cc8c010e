import pytest

from app.db.accounts import AccountBook
from app.db.database import Database
from app.db.inbox import Inbox
from app.db.installations import InstallationBook, OpenInstallation
from app.db.tables import MerchantAccount
from app.db.vault import Vault
from tests.conftest import Clock
from tests.db.rows import an_account, an_installation


@pytest.fixture
def installations(database: Database, vault: Vault, clock: Clock) -> InstallationBook:
    return InstallationBook(database, vault, clock)


@pytest.fixture
def accounts(database: Database, vault: Vault, clock: Clock) -> AccountBook:
    return AccountBook(database, vault, clock)


@pytest.fixture
def inbox(database: Database, vault: Vault) -> Inbox:
    return Inbox(database, vault)


@pytest.fixture
async def installation(installations: InstallationBook) -> OpenInstallation:
    return await an_installation(installations)


@pytest.fixture
async def account(accounts: AccountBook, installation: OpenInstallation) -> MerchantAccount:
    return await an_account(accounts, installation)
