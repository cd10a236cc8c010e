"""Pictures of the app's pages in the played Dashboard, at a time and with names that do not change."""

import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote
from uuid import UUID

from playwright.async_api import ViewportSize

from app.db.migrate import migrate
from app.saleor.testing import staff, storefront
from tests.pages.screenshots.photographer import Photographer
from tests.pages.stack import AppUnderTest, open_app_under_test

BEGUN = datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
PORT = 18100  # it is in the address of a payment link
WINDOW: ViewportSize = {"width": 1120, "height": 760}
TALL: ViewportSize = {"width": 1120, "height": 1180}


async def photograph(photographer: Photographer) -> None:
    """Open the app_under_test, and take every picture of the Dashboard."""
    names = random.Random(7)  # noqa: S311 - names that are the same each time, not secrets

    def name() -> UUID:
        return UUID(int=names.getrandbits(128), version=4)

    with (
        tempfile.TemporaryDirectory(prefix="pictures-") as place,
        patch.object(storefront, "uuid4", name),
        patch.object(staff, "uuid4", name),
    ):
        folder = Path(place)
        address = f"sqlite:///{folder / 'payments.sqlite'}"
        await migrate(address)
        async with open_app_under_test(folder, address, now=_clock(), port=PORT) as app_under_test:
            await _payments(app_under_test, photographer)
            await _what_is_to_do(app_under_test, photographer)


def _clock() -> Callable[[], datetime]:
    """Return a clock that goes as fast as any, from the same moment on each time."""
    began = time.monotonic()
    return lambda: BEGUN + timedelta(seconds=time.monotonic() - began)


async def _payments(app_under_test: AppUnderTest, photographer: Photographer) -> None:
    store = app_under_test.shop.saleor
    split, reserved, *_ = app_under_test.known["order_id"]

    page = await photographer.open_frame(await app_under_test.frame(store, "/payments"), WINDOW)
    await photographer.take(page, "dashboard-payments.png")

    page = await photographer.open_frame(await app_under_test.frame(store, f"/payments/{split}"), TALL)
    await page.frame_locator("iframe").get_by_text("Refund", exact=True).first.click()
    await photographer.take(page, "dashboard-payment.png")

    page = await photographer.open_frame(await app_under_test.frame(store, f"/payments/{reserved}"), WINDOW, dark=True)
    await photographer.take(page, "dashboard-payment-dark.png")

    page = await photographer.open_frame(await app_under_test.frame(store, f"/payments/{split}"), WINDOW, language="uk")
    await photographer.take(page, "dashboard-payment-uk.png")

    page = await photographer.open(
        f"{store.dashboard_url}orders/{quote(app_under_test.orders[-1])}", WINDOW, sharpness=1
    )
    await page.locator(".widget.loaded").wait_for()
    await photographer.take(page, "dashboard-widget.png")


async def _what_is_to_do(app_under_test: AppUnderTest, photographer: Photographer) -> None:
    page = await photographer.open_frame(await app_under_test.frame(app_under_test.new_store, "/"), WINDOW)
    await photographer.take(page, "dashboard-set-up.png")

    page = await photographer.open_frame(await app_under_test.frame(app_under_test.shop.saleor, "/attention"), WINDOW)
    await photographer.take(page, "dashboard-attention.png")

    page = await photographer.open(f"{app_under_test.shop.app.url}/pay/{app_under_test.known['order_id'][3]}")
    await photographer.take(page, "pay-page.png")
