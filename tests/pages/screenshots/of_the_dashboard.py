"""Pictures of the app's pages in the played Dashboard, at a time and with names that do not change."""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote
from uuid import UUID

from playwright.async_api import ViewportSize
from sqlmodel import col, select

from app.bootstrap import open_services
from app.flows.reconciliation.run import begin_run, complete_run
from app.services import Services
from app.store.migrate import migrate
from app.store.tables import ReconciliationRun, RunState
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing import staff, storefront
from tests.journeys.stories import BACK, order_id_of, wait_for_event
from tests.journeys.stories import begin as begin_to_pay
from tests.journeys.wallet_shop import GATEWAY_AT_GOOGLE
from tests.pages.screenshots.photographer import Photographer
from tests.pages.stack import AppUnderTest, open_app_under_test
from tests.pages.two_months import add_two_months_of_payments

CHECKOUT = """<!doctype html><html lang="en"><meta charset="utf-8"><style>
body {{ width: 440px; margin: 0; padding: 28px; box-sizing: border-box; background: #fff; color: #1c1c1c;
  font: 16px "DejaVu Sans", sans-serif; }}
p {{ display: flex; justify-content: space-between; margin: 0 0 20px; }}
button {{ display: block; width: 100%; height: 52px; margin: 0 0 12px; border: 0; border-radius: 8px; background: #000;
  color: #fff; font: 600 17px "DejaVu Sans", sans-serif; }}
hr {{ margin: 20px 0; border: 0; border-top: 1px solid #ddd; }}
button.other {{ margin: 0; background: #fff; color: #1c1c1c; border: 1px solid #8a8a8a; }}
</style><p><span>To pay</span><strong>{total}</strong></p>{buttons}<hr>
<button class="other">Pay another way</button></html>"""
BEGUN = datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
PORT = 18100  # it is in the address of a payment link
WINDOW: ViewportSize = {"width": 1120, "height": 760}
TALL: ViewportSize = {"width": 1120, "height": 1180}


async def photograph(photographer: Photographer) -> None:
    """Open the app_under_test, and take every picture of the Dashboard."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as place, fixed_ids():
        folder = Path(place)
        address = f"sqlite:///{folder / 'payments.sqlite'}"
        await migrate(address)
        clock = SameClock()
        async with open_app_under_test(folder, address, now=clock, port=PORT) as app_under_test:
            await _payments(app_under_test, photographer)
            await _at_the_gateway(app_under_test, photographer)
            await _what_is_to_do(app_under_test, photographer)
            await _payouts(app_under_test, photographer, clock)
            await _money(app_under_test, photographer, clock)
            await _overview(app_under_test, photographer, clock)
            await _subscription(app_under_test, photographer, clock)
            await _wallets(app_under_test, photographer, clock)


@contextmanager
def fixed_ids() -> Iterator[None]:
    """Let Saleor call things the same each time."""
    names = random.Random(7)  # noqa: S311 - names that are the same each time, not secrets

    def name() -> UUID:
        return UUID(int=names.getrandbits(128), version=4)

    with patch.object(storefront, "uuid4", name), patch.object(staff, "uuid4", name):
        yield


class SameClock:
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
    await photographer.open_again(page, page.locator(".widget.loaded"))
    await photographer.take(page, "dashboard-widget.png")


async def _at_the_gateway(app_under_test: AppUnderTest, photographer: Photographer) -> None:
    store = app_under_test.shop.saleor
    page = await photographer.open_frame(await app_under_test.frame(store, "/balances"), WINDOW)
    await photographer.take(page, "dashboard-balances.png")
    page = await photographer.open_frame(await app_under_test.frame(store, "/register"), WINDOW)
    await page.frame_locator("iframe").get_by_text("Only some lines, or other fields").click()
    await photographer.take(page, "dashboard-register.png")


async def _payouts(app_under_test: AppUnderTest, photographer: Photographer, clock: SameClock) -> None:
    await enable_payouts(app_under_test, clock)
    page = await photographer.open_frame(await app_under_test.frame(app_under_test.shop.saleor, "/payouts/new"), TALL)
    await photographer.take(page, "dashboard-payout.png")


async def enable_payouts(app_under_test: AppUnderTest, clock: Callable[[], datetime]) -> None:
    """Let the owner switch payouts on, and name who may make them."""
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


async def _money(app_under_test: AppUnderTest, photographer: Photographer, clock: SameClock) -> None:
    """The night has passed, and the books were compared."""
    clock.later = timedelta(days=1)
    async with open_services(app_under_test.shop.settings, clock) as services:
        for account in await services.accounts.all():
            run = await complete_run(services, await begin_run(services, account))
            assert run.state is RunState.DONE, run.failure
    path = f"/money?from={BEGUN:%Y-%m-%d}&to={clock():%Y-%m-%d}"
    page = await photographer.open_frame(await app_under_test.frame(app_under_test.shop.saleor, path), TALL)
    await photographer.take(page, "dashboard-money.png")


async def _wait_for_comparison(services: Services, now: datetime) -> bool:
    under_way = select(ReconciliationRun).where(col(ReconciliationRun.due_at) <= now + timedelta(minutes=5))
    async with services.database.transaction() as session:
        return (await session.exec(under_way)).first() is not None


async def add_two_months_of_sales(app_under_test: AppUnderTest, clock: SameClock) -> None:
    """Let the store have sold for two months, which the gateway knows nothing of: no comparison must be under way."""
    async with open_services(app_under_test.shop.settings, clock) as services:
        [account] = await services.accounts.all()
        while await _wait_for_comparison(services, clock()):  # noqa: ASYNC110 - the app's worker tells nobody
            await asyncio.sleep(0.2)
        await add_two_months_of_payments(services, account, clock())


async def _overview(app_under_test: AppUnderTest, photographer: Photographer, clock: SameClock) -> None:
    await add_two_months_of_sales(app_under_test, clock)
    address = await app_under_test.frame(app_under_test.shop.saleor, "/?days=30")
    await photographer.take(await photographer.open_frame(address, TALL), "dashboard-overview.png")
    page = await photographer.open_frame(address, TALL, dark=True, language="uk")
    await photographer.take(page, "dashboard-overview-uk.png")


async def _subscription(app_under_test: AppUnderTest, photographer: Photographer, clock: SameClock) -> None:
    """A customer has subscribed, and a month has passed."""
    shop = app_under_test.shop
    async with open_services(shop.settings, clock) as services:
        [account] = await services.accounts.all()
        await services.accounts.change(account.id, subscriptions=True, split_rules=None)
    basket = await shop.saleor.create_checkout()

    async def offered() -> bool:  # the app remembers the account for a moment
        return bool((await shop.saleor.gateway_initialize(basket.id)).data["subscriptions"])

    await eventually(offered)
    _, session = await begin_to_pay(shop, data={**BACK, "subscription": {"interval": "month"}}, checkout_id=basket.id)
    await shop.gateway.pay(order_id_of(session))
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    clock.later += timedelta(days=32)
    await shop.gateway.advance(timedelta(seconds=1))

    async def charged() -> bool:
        return (await shop.saleor.transaction(session.required_transaction.id)).event_types().count(
            "CHARGE_SUCCESS"
        ) > 1

    await eventually(charged)
    frame = await app_under_test.frame(shop.saleor, f"/payments/{order_id_of(session)}")
    page = await photographer.open_frame(frame, WINDOW)
    part = page.frame_locator("iframe").get_by_role("region", name="Subscription")
    await part.get_by_text("Cancel the subscription", exact=True).first.click()
    await part.evaluate("part => part.scrollIntoView({block: 'center'})")
    await photographer.take(page, "dashboard-subscription.png")


async def _wallets(app_under_test: AppUnderTest, photographer: Photographer, clock: SameClock) -> None:
    """A storefront shows a button for each wallet that it is offered; here they are not Apple's and Google's own."""
    shop = app_under_test.shop
    async with open_services(shop.settings, clock) as services:
        [account] = await services.accounts.all()
        await services.accounts.change(account.id, apple_pay=True, google_pay=True, **GATEWAY_AT_GOOGLE)
    basket = await shop.saleor.create_checkout()

    async def offered() -> dict[str, object] | None:
        wallets: dict[str, object] | None = (await shop.saleor.gateway_initialize(basket.id)).data.get("wallets")
        return wallets

    wallets = await eventually(offered)
    names = {"applePay": "Apple Pay", "googlePay": "Google Pay"}
    buttons = "".join(f"<button>{name}</button>" for wallet, name in names.items() if wallet in wallets)
    total = f"{basket.total:,.2f} {basket.currency}"
    html = CHECKOUT.format(buttons=buttons, total=total)
    await photographer.take_all_of(html, "wallet-buttons.png", width=440, height=290, sharpness=1.5)
