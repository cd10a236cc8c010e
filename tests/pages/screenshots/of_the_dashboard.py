"""Pictures of the app's pages in the played Dashboard, at a time and with names that do not change."""

import asyncio
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote
from uuid import UUID

from playwright.async_api import ViewportSize
from sqlmodel import col, select

from app.bootstrap import open_services
from app.db.migrate import migrate
from app.db.tables import ReconciliationRun, RunState
from app.payments.reconciliation.run import begin, go_on
from app.payments.services import Services
from app.saleor.testing import staff, storefront
from tests.pages.screenshots.photographer import Photographer
from tests.pages.stack import AppUnderTest, open_app_under_test
from tests.pages.two_months import sell_for_two_months

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
        clock = _Clock()
        async with open_app_under_test(folder, address, now=clock, port=PORT) as app_under_test:
            await _payments(app_under_test, photographer)
            await _at_the_gateway(app_under_test, photographer)
            await _what_is_to_do(app_under_test, photographer)
            await _payouts(app_under_test, photographer, clock)
            await _money(app_under_test, photographer, clock)
            await _overview(app_under_test, photographer, clock)


class _Clock:
    """A clock that goes as fast as any, from the same moment on each time."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.later = timedelta()

    def __call__(self) -> datetime:
        return BEGUN + self.later + timedelta(seconds=time.monotonic() - self._began)


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


async def _at_the_gateway(app_under_test: AppUnderTest, photographer: Photographer) -> None:
    store = app_under_test.shop.saleor
    page = await photographer.open_frame(await app_under_test.frame(store, "/balances"), WINDOW)
    await photographer.take(page, "dashboard-balances.png")
    page = await photographer.open_frame(await app_under_test.frame(store, "/register"), WINDOW)
    await page.frame_locator("iframe").get_by_text("Only some lines, or other fields").click()
    await photographer.take(page, "dashboard-register.png")


async def _payouts(app_under_test: AppUnderTest, photographer: Photographer, clock: _Clock) -> None:
    """The owner has switched payouts on, and named who may make them."""
    async with open_services(app_under_test.shop.settings, clock) as services:
        [account] = await services.accounts.all()
        await services.accounts.change(
            account.id,
            payouts=True,
            payout_most=Decimal(5000),
            payout_most_a_day=Decimal(20000),
            payout_staff=["olena@example.com"],
            pci_dss_confirmed_at=clock(),
        )
    page = await photographer.open_frame(await app_under_test.frame(app_under_test.shop.saleor, "/payouts/new"), TALL)
    await photographer.take(page, "dashboard-payout.png")


async def _what_is_to_do(app_under_test: AppUnderTest, photographer: Photographer) -> None:
    page = await photographer.open_frame(await app_under_test.frame(app_under_test.new_store, "/"), WINDOW)
    await photographer.take(page, "dashboard-set-up.png")

    page = await photographer.open_frame(await app_under_test.frame(app_under_test.shop.saleor, "/attention"), WINDOW)
    await photographer.take(page, "dashboard-attention.png")

    async with open_services(app_under_test.shop.settings) as services:
        for account in await services.accounts.all():
            await services.accounts.change(account.id, shop_name="Троянда й сини", shop_color="#c2185b")
    page = await photographer.open(f"{app_under_test.shop.app.url}/pay/{app_under_test.known['order_id'][3]}")
    await photographer.take(page, "pay-page.png")


async def _money(app_under_test: AppUnderTest, photographer: Photographer, clock: _Clock) -> None:
    """The night has passed, and the books were compared."""
    clock.later = timedelta(days=1)
    async with open_services(app_under_test.shop.settings, clock) as services:
        for account in await services.accounts.all():
            run = await go_on(services, await begin(services, account))
            assert run.state is RunState.DONE, run.failure
    path = f"/money?from={BEGUN:%Y-%m-%d}&to={clock():%Y-%m-%d}"
    page = await photographer.open_frame(await app_under_test.frame(app_under_test.shop.saleor, path), TALL)
    await photographer.take(page, "dashboard-money.png")


async def _is_compared(services: Services, now: datetime) -> bool:
    under_way = select(ReconciliationRun).where(col(ReconciliationRun.due_at) <= now + timedelta(minutes=5))
    async with services.database.transaction() as session:
        return (await session.exec(under_way)).first() is not None


async def _overview(app_under_test: AppUnderTest, photographer: Photographer, clock: _Clock) -> None:
    """The store has sold for two months, which the gateway knows nothing of: no comparison must be under way."""
    async with open_services(app_under_test.shop.settings, clock) as services:
        [account] = await services.accounts.all()
        while await _is_compared(services, clock()):  # noqa: ASYNC110 - the app's worker tells nobody
            await asyncio.sleep(0.2)
        await sell_for_two_months(services, account, clock())
    address = await app_under_test.frame(app_under_test.shop.saleor, "/?days=30")
    await photographer.take(await photographer.open_frame(address, TALL), "dashboard-overview.png")
    page = await photographer.open_frame(address, TALL, dark=True, language="uk")
    await photographer.take(page, "dashboard-overview-uk.png")
