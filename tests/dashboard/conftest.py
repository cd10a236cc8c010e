from collections.abc import AsyncIterator

import pytest

from tests.dashboard.office import Office, open_office
from tests.payments.doors import paid, shop, till
from tests.payments.shop import Shop

__all__ = ["office", "paid", "shop", "till"]


@pytest.fixture
async def office(shop: Shop) -> AsyncIterator[Office]:
    """The office of a shop that is set up, and has sold nothing yet."""
    async with open_office(shop) as office:
        yield office
