"""Fixtures that open a shop; the conftests of all rooms that tell stories of payments take them from here."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.store.accounts import AccountRepository
from app.store.database import Database, create_engine
from app.store.inbox import Inbox
from app.store.installations import InstallationRepository
from app.store.vault import Vault
from integration_base_tests.clock import Clock
from tests.payments.fake_gateway import FakeGateway, open_fake_gateway
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, open_shop


@pytest.fixture
async def gateway() -> AsyncIterator[FakeGateway]:
    async with open_fake_gateway(FakeGateway()) as gateway:
        yield gateway


@pytest.fixture
async def shop(database: Database, vault: Vault, clock: Clock, gateway: FakeGateway) -> AsyncIterator[Shop]:
    async with open_shop(database, vault, clock, gateway) as shop:
        yield shop


@pytest.fixture
async def reserved_shop(shop: Shop) -> Shop:
    """A shop whose shopper has reserved 569.50."""
    await shop.complete_payment("AUTHORIZATION")
    assert shop.amounts == amounts(authorized=TOTAL)
    return shop


@pytest.fixture
async def paid_shop(shop: Shop) -> Shop:
    """A shop whose shopper has paid 569.50."""
    await shop.complete_payment()
    assert shop.amounts == amounts(charged=TOTAL)
    return shop


@pytest.fixture
async def second_process(shop: Shop, database_url: str, vault: Vault) -> AsyncIterator[Shop]:
    """The same shop, worked on by another process: with another pool of connections."""
    database = Database(create_engine(database_url))
    services = replace(
        shop.services,
        database=database,
        installations=InstallationRepository(database, vault, shop.clock),
        accounts=AccountRepository(database, vault, shop.clock),
        inbox=Inbox(database, vault),
    )
    yield replace(shop, services=services)
    await database.close()
