"""Fixtures for pytest, asked for in ``conftest.py``: ``pytest_plugins = ["saleor_app_sdk.testing.plugin"]``.

Not registered by itself: a Saleor takes half a second to import, which only those tests should pay that use it.
"""

from collections.abc import Iterator

import pytest

from saleor_app_sdk.testing.server import serving_in_thread
from saleor_app_sdk.testing.settings import SaleorSettings


@pytest.fixture
def saleor_settings() -> SaleorSettings:
    """Return the settings of the test's Saleor; override this fixture for another version or channels."""
    return SaleorSettings(delay_factor=0)


@pytest.fixture
def saleor_url(saleor_settings: SaleorSettings) -> Iterator[str]:
    """Serve a new Saleor in a thread while the test runs: ``async with FakeSaleor(saleor_url) as saleor: ...``."""
    with serving_in_thread(saleor_settings) as url:
        yield url
