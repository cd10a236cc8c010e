"""Fixtures that open a shop; the conftests of all rooms that tell stories of payments take them from here."""

from collections.abc import AsyncIterator

import pytest

from app.ledger.database import Database
from app.ledger.vault import Vault
from tests.conftest import Clock
from tests.payments.books import amounts
from tests.payments.shop import TOTAL, Shop, open_shop
from tests.payments.till import Till, open_till


@pytest.fixture
async def till() -> AsyncIterator[Till]:
    async with open_till(Till()) as till:
        yield till


@pytest.fixture
async def shop(database: Database, vault: Vault, clock: Clock, till: Till) -> AsyncIterator[Shop]:
    async with open_shop(database, vault, clock, till) as shop:
        yield shop


@pytest.fixture
async def reserved(shop: Shop) -> Shop:
    """A shop whose shopper has reserved 569.50."""
    await shop.paid("AUTHORIZATION")
    assert shop.amounts == amounts(authorized=TOTAL)
    return shop


@pytest.fixture
async def paid(shop: Shop) -> Shop:
    """A shop whose shopper has paid 569.50."""
    await shop.paid()
    assert shop.amounts == amounts(charged=TOTAL)
    return shop
