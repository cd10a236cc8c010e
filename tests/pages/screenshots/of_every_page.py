"""A sheet for each page of the app: on a desk and on a phone, in light and dark, in English and Ukrainian."""

import asyncio
import base64
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import httpx2
from playwright.async_api import Page, ViewportSize

from app.bootstrap import open_services
from app.store.migrate import migrate
from saleor_app_sdk.testing import NewCheckout
from tests.journeys.stories import begin, order_id_of, wait_for_event
from tests.pages.places import addresses_of, page_routes
from tests.pages.screenshots.of_the_dashboard import PORT, SameClock, add_two_months_of_sales, enable_payouts, fixed_ids
from tests.pages.screenshots.photographer import HERE, Photographer
from tests.pages.stack import AppUnderTest, open_app_under_test

SHEETS = HERE / "pages"
IN_FRAME = 'id="content"'
WIDGET = "/widgets/order"
DESK: ViewportSize = {"width": 1180, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 860}
WIDTH = 2200
MOST_BYTES = 145_000
_SETTLED = 300  # milliseconds: what a page fetches for itself, like a code, has come by then

_SHEET = """<!doctype html><html lang="en"><meta charset="utf-8"><style>
* {{ box-sizing: border-box; }}
body {{ width: {width}px; margin: 0; padding: 24px; background: #e9ecef; color: #222; font: 20px sans-serif; }}
main {{ display: grid; grid-template-columns: {desk}fr {desk}fr {phone}fr {phone}fr; gap: 20px; }}
figure {{ margin: 0; }}
figcaption {{ margin-bottom: 8px; }}
img {{ display: block; width: 100%; border: 1px solid #adb5bd; border-radius: 6px; }}
</style><main>{pictures}</main></html>"""


@dataclass(frozen=True)
class Rendering:
    """How somebody looks at a page."""

    caption: str
    viewport: ViewportSize
    dark: bool
    language: str


RENDERINGS = (
    Rendering("Desk, light, English", DESK, False, "en"),
    Rendering("Desk, dark, Ukrainian", DESK, True, "uk"),
    Rendering("Phone, light, Ukrainian", PHONE, False, "uk"),
    Rendering("Phone, dark, English", PHONE, True, "en"),
)


def sheet_of(route: str) -> str:
    """Return the name of the file with the pictures of a route's page."""
    words = re.sub(r"[^a-z]+", "-", route.replace("_id}", "}").lower()).strip("-")
    return f"{words or 'overview'}.webp"


async def photograph(photographer: Photographer) -> None:
    """Open the app, let a store sell for two months, and take the sheet of every page."""
    SHEETS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as place, fixed_ids():
        folder = Path(place)
        database = f"sqlite:///{folder / 'payments.sqlite'}"
        await migrate(database)
        clock = SameClock()
        async with open_app_under_test(folder, database, now=clock, port=PORT) as app_under_test:
            shoppers = await _shoppers(app_under_test)
            await enable_payouts(app_under_test, clock)
            await add_two_months_of_sales(app_under_test, clock)
            for route in page_routes(app_under_test.application):
                await _take(photographer, app_under_test, route, shoppers)


async def _shoppers(app_under_test: AppUnderTest) -> dict[tuple[str, str], str]:
    """Let a shopper of each language be declined and try again; return the payments of the pages that they see."""
    shop = app_under_test.shop
    async with open_services(shop.settings) as services:
        for account in await services.accounts.all():
            await services.accounts.change(account.id, shop_name="Троянда й сини", shop_color="#c2185b")
    seen = {}
    for language in ("en", "uk"):
        basket = await shop.saleor.create_checkout(NewCheckout(language_code=language.upper()))
        _, declined = await begin(shop, checkout_id=basket.id)
        await shop.gateway.decline(order_id_of(declined))
        await wait_for_event(shop, declined.required_transaction.id, "CHARGE_FAILURE")
        _, again = await begin(shop, checkout_id=basket.id)
        seen["/pay/{order_id}", language] = order_id_of(again)
        seen["/pay/return/{order_id}", language] = order_id_of(declined)
    return seen


async def _take(
    photographer: Photographer, app_under_test: AppUnderTest, route: str, shoppers: dict[tuple[str, str], str]
) -> None:
    pictures = []
    for look in RENDERINGS:
        page = await _opened(photographer, app_under_test, route, shoppers.get((route, look.language)), look)
        await page.wait_for_timeout(_SETTLED)
        pictures.append((look.caption, await photographer.take(page)))
    sheet = await photographer.sheet(_sheet(pictures), width=WIDTH, most_bytes=MOST_BYTES)
    await asyncio.to_thread((SHEETS / sheet_of(route)).write_bytes, sheet)


async def _opened(
    photographer: Photographer, app_under_test: AppUnderTest, route: str, order_id: str | None, look: Rendering
) -> Page:
    known = app_under_test.known if order_id is None else {"order_id": [order_id]}
    path, store = addresses_of(route, known)[0], app_under_test.shop.saleor
    touch = look.viewport is PHONE
    if route == WIDGET:
        order = f"{store.dashboard_url}orders/{app_under_test.orders[-1].replace('=', '%3D')}"
        page = await photographer.open(order, look.viewport, dark=look.dark, language=look.language, sharpness=1)
        await photographer.open_again(page, page.locator(".widget.loaded"))
        await page.locator(".widget.loaded").scroll_into_view_if_needed()  # it grows once it is seen
        await page.wait_for_timeout(_SETTLED)
        await page.locator(".widget").evaluate("widget => widget.parentElement.scrollIntoView()")
        return page
    url = app_under_test.shop.app.url
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        framed = IN_FRAME in (await http.get(path)).text
    if not framed:
        return await photographer.open(
            url + path, look.viewport, dark=look.dark, language=look.language, sharpness=1, touch=touch
        )
    address = await app_under_test.frame(store, path)
    return await photographer.open_frame(address, look.viewport, dark=look.dark, language=look.language, touch=touch)


def _sheet(pictures: Sequence[tuple[str, bytes]]) -> str:
    figures = "".join(
        f'<figure><figcaption>{escape(caption)}</figcaption><img alt="" '
        f'src="data:image/png;base64,{base64.b64encode(picture).decode()}"></figure>'
        for caption, picture in pictures
    )
    return _SHEET.format(width=WIDTH, desk=DESK["width"], phone=PHONE["width"], pictures=figures)
