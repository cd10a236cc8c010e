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
from tests.pages.stack import AppUnderTest, a_house

BEGUN = datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
PORT = 18100  # it is in the address of a payment link
WINDOW: ViewportSize = {"width": 1120, "height": 760}
TALL: ViewportSize = {"width": 1120, "height": 1180}


async def photograph(photographer: Photographer) -> None:
    """Open the house, and take every picture of the Dashboard."""
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
        async with a_house(folder, address, now=_clock(), port=PORT) as house:
            await _payments(house, photographer)
            await _what_is_to_do(house, photographer)


def _clock() -> Callable[[], datetime]:
    """Return a clock that goes as fast as any, from the same moment on each time."""
    began = time.monotonic()
    return lambda: BEGUN + timedelta(seconds=time.monotonic() - began)


async def _payments(house: AppUnderTest, photographer: Photographer) -> None:
    store = house.shop.saleor
    split, reserved, *_ = house.known["order_id"]

    page = await photographer.open_frame(await house.frame(store, "/payments"), WINDOW)
    await photographer.take(page, "dashboard-payments.png")

    page = await photographer.open_frame(await house.frame(store, f"/payments/{split}"), TALL)
    await page.frame_locator("iframe").get_by_text("Refund", exact=True).first.click()
    await photographer.take(page, "dashboard-payment.png")

    page = await photographer.open_frame(await house.frame(store, f"/payments/{reserved}"), WINDOW, dark=True)
    await photographer.take(page, "dashboard-payment-dark.png")

    page = await photographer.open_frame(await house.frame(store, f"/payments/{split}"), WINDOW, language="uk")
    await photographer.take(page, "dashboard-payment-uk.png")

    page = await photographer.open(f"{store.dashboard_url}orders/{quote(house.orders[-1])}", WINDOW, sharpness=1)
    await page.locator(".widget.loaded").wait_for()
    await photographer.take(page, "dashboard-widget.png")


async def _what_is_to_do(house: AppUnderTest, photographer: Photographer) -> None:
    page = await photographer.open_frame(await house.frame(house.new_store, "/"), WINDOW)
    await photographer.take(page, "dashboard-set-up.png")

    page = await photographer.open_frame(await house.frame(house.shop.saleor, "/attention"), WINDOW)
    await photographer.take(page, "dashboard-attention.png")

    page = await photographer.open(f"{house.shop.app.url}/pay/{house.known['order_id'][3]}")
    await photographer.take(page, "pay-page.png")
