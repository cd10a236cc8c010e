from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integration_base_tests.clock import Clock
from tests.dashboard.dashboard_app import StaffClient, open_staff_client
from tests.dashboard.order_page_stack import OrderPageStack, open_order_page_stack
from tests.payments.fake_gateway import FakeGateway
from tests.payments.shop import Shop
from tests.payments.shop_fixtures import gateway, paid_shop, shop

__all__ = ["gateway", "paid_shop", "shop", "staff_client"]


@pytest.fixture
async def staff_client(shop: Shop) -> AsyncIterator[StaffClient]:
    """The office of a shop that is set up, and has sold nothing yet."""
    async with open_staff_client(shop) as staff_client:
        yield staff_client


@pytest.fixture
async def stack(database_url: str, tmp_path: Path, clock: Clock, gateway: FakeGateway) -> AsyncIterator[OrderPageStack]:
    """The counter of a store: staff on an order's page, a Saleor and the app on real ports."""
    async with open_order_page_stack(database_url, tmp_path, clock, gateway) as stack:
        yield stack
