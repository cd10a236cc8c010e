"""The picture of the health check. Its clock is the machine's: that of Saleor and the gateway is compared with it."""

import tempfile
from pathlib import Path

from playwright.async_api import ViewportSize

from app.bootstrap import open_saleor, open_services
from app.store.migrate import migrate
from saleor_app_sdk.installed_app import fetch_app_in_saleor
from tests.pages.screenshots.photographer import Photographer
from tests.pages.stack import AppUnderTest, open_app_under_test

PORT = 18100  # it is in what is found of the app's address
TALL: ViewportSize = {"width": 1120, "height": 1180}


async def photograph(photographer: Photographer) -> None:
    """Open everything, and take the picture."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        address = f"sqlite:///{Path(place) / 'payments.sqlite'}"
        await migrate(address)
        async with open_app_under_test(Path(place), address, port=PORT) as app_under_test:
            await _show(app_under_test, photographer)


async def _show(app_under_test: AppUnderTest, photographer: Photographer) -> None:
    """The app was updated, and Saleor still has the webhooks of before."""
    settings, store = app_under_test.shop.settings, app_under_test.shop.saleor
    async with open_services(settings) as services, open_saleor(settings) as client:
        installation = await services.installations.find(store.api_url)
        assert installation is not None
        webhooks = (await fetch_app_in_saleor(client, installation)).app.webhooks or ()
        charge, refund = (
            next(webhook.id for webhook in webhooks if f"TRANSACTION_{kind}_REQUESTED" in webhook.events)
            for kind in ("CHARGE", "REFUND")
        )
        await client.execute(installation, "webhook_delete", {"id": charge})
        await client.execute(installation, "webhook_update", {"id": refund, "input": {"isActive": False}})
    page = await photographer.open_frame(await app_under_test.frame(store, "/set-up/health"), TALL)
    await page.frame_locator("iframe").locator("[data-final]").wait_for()
    await photographer.take(page, "dashboard-health.png")
