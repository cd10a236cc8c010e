"""Fixtures for pytest, which finds them by itself where the SDK is installed.

A module of its own beside the package: pytest imports it for every test of every project, and a Saleor takes half a
second to import. That is paid by the tests that ask for one; they need the extra ``testing``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from saleor_app_sdk.testing.settings import SaleorSettings


@pytest.fixture
def saleor_settings() -> SaleorSettings:
    """Return the settings of the test's Saleor; override this fixture for another version or channels."""
    from saleor_app_sdk.testing.settings import SaleorSettings  # noqa: PLC0415 - see above

    return SaleorSettings(delay_factor=0)


@pytest.fixture
def saleor_url(saleor_settings: SaleorSettings) -> Iterator[str]:
    """Serve a new Saleor in a thread while the test runs: ``async with FakeSaleor(saleor_url) as saleor: ...``."""
    from saleor_app_sdk.testing.server import serving_in_thread  # noqa: PLC0415 - see above

    with serving_in_thread(saleor_settings) as url:
        yield url
