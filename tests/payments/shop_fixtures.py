"""Fixtures that open a shop; the conftests of all rooms that tell stories of payments take them from here."""

from collections.abc import AsyncIterator

import pytest

from app.db.database import Database
from app.db.vault import Vault
from tests.conftest import Clock
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
