from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.dashboard.counter import Counter, open_counter
from tests.dashboard.office import Office, open_office
from tests.payments.doors import paid, shop, till
from tests.payments.shop import Shop
from tests.payments.till import Till

__all__ = ["office", "paid", "shop", "till"]


@pytest.fixture
async def office(shop: Shop) -> AsyncIterator[Office]:
    """The office of a shop that is set up, and has sold nothing yet."""
    async with open_office(shop) as office:
        yield office


@pytest.fixture
async def counter(database_url: str, tmp_path: Path, clock: Clock, till: Till) -> AsyncIterator[Counter]:
    """The counter of a store: staff on an order's page, a Saleor and the app on real ports."""
    async with open_counter(database_url, tmp_path, clock, till) as counter:
        yield counter
