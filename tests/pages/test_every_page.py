"""Every page as people see it, in light and dark, in English and Ukrainian, on a desk, a small screen and a phone:
nothing keeps anybody from reading and using it, nothing jumps about, and the browser has nothing to complain of.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

import httpx2
import pytest
from playwright.async_api import Browser, Frame, Page, Route, ViewportSize, expect

from app.bootstrap import utc_now
from integration_base_tests.pages import DOCS, rows
from tests.journeys.stories import begin, order_id_of
from tests.pages.hearing import heard_faults
from tests.pages.places import addresses_of, page_routes
from tests.pages.screenshots.of_every_page import SHEETS, sheet_of
from tests.pages.screenshots.of_the_dashboard import enable_payouts
from tests.pages.sight import browser_errors, choosing, faults, spacing_faults
from tests.pages.stack import NEW, AppUnderTest
from tests.payments.cards.seals import NUMBER

pytestmark = pytest.mark.browser

DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
# The frame is as wide then as Saleor's own Dashboard leaves it on a screen of 1024 pixels, beside its menu.
SMALL: ViewportSize = {"width": 971, "height": 768}
IN_FRAME = 'id="content"'


@dataclass(frozen=True)
class Look:
    """How somebody looks at a page. Each value of each kind is in one of ``LOOKS``."""

    theme: str
    language: str
    viewport: ViewportSize


LOOKS = (Look("light", "en", DESK), Look("dark", "uk", PHONE), Look("light", "uk", SMALL))


@asynccontextmanager
async def a_page(browser: Browser, look: Look) -> AsyncIterator[Page]:
    context = await browser.new_context(
        viewport=look.viewport,
        color_scheme="dark" if look.theme == "dark" else "light",
        locale={"en": "en-GB", "uk": "uk-UA"}[look.language],
    )
    await context.add_init_script(choosing(theme=look.theme, locale=look.language))
    yield await context.new_page()
    await context.close()


async def opened(page: Page, address: str) -> Frame:
    """Open a page of the app in the Dashboard; return its frame when it shows something."""
    await page.goto(address)
    part = page.frame_locator("iframe").locator("#content:not([aria-busy]) h1")
    await expect(part.or_(page.frame_locator("iframe").locator("[role=alert]:visible")).first).to_be_visible()
    return page.main_frame.child_frames[0]


@asynccontextmanager
async def staying(page: Page) -> AsyncIterator[None]:
    """Let the page lead nowhere else: some do by themselves after seconds, and to look at one can take longer.

    It is left at the end, or it would still lead away while the next one is opened.
    """

    async def stay(route: Route) -> None:
        if route.request.is_navigation_request():
            await route.fulfill(status=204)  # browsers then stay where they are
        else:
            await route.continue_()

    await page.route("**/*", stay)
    yield
    await page.goto("about:blank")
    await page.unroute("**/*", stay)


async def all_right(browser: Browser, addresses: list[str], *, framed: bool, looks: tuple[Look, ...] = LOOKS) -> None:
    """Look at these pages in each way; fail with all that is wrong, each with its page and look."""
    found = []
    for look in looks:
        async with a_page(browser, look) as page:
            for address in addresses:
                with browser_errors(page) as complaints:
                    if framed:
                        wrong = await framed_faults(await opened(page, address), look)
                    else:
                        await page.goto(address, wait_until="load")
                        async with staying(page):
                            wrong = await faults(page) + await too_wide(page.main_frame)
                found += [f"{address} ({look.theme}, {look.language}): {complaint}" for complaint in wrong + complaints]
    assert not found, "\n" + "\n".join(found)


async def framed_faults(frame: Frame, look: Look) -> list[str]:
    """Return what is wrong with a page of the app in the Dashboard, as it stands."""
    wrong = await faults(frame) + await heard_faults(frame)
    wrong += await wrong_language(frame, look) + await too_wide(frame) + await spacing_faults(frame)
    alarm = frame.locator("#alert")
    return wrong + ([f"alarm: {await alarm.inner_text()}"] if await alarm.is_visible() else [])


async def wrong_language(frame: Frame, look: Look) -> list[str]:
    said = await frame.locator("html").get_attribute("lang")
    found = [] if said == look.language else [f"it is in {said}"]
    other = {"en": ",", "uk": "."}[look.language]
    fields = await frame.locator("[inputmode=decimal]").evaluate_all(
        "fields => fields.flatMap((field) => [field.value, field.placeholder])"
    )
    return found + [f"an amount of another language: {text}" for text in fields if other in text]


_SCROLLED_SIDEWAYS = """() => [...document.querySelectorAll("body *")].filter((part) => {
  const { overflowX } = getComputedStyle(part);
  return (overflowX === "auto" || overflowX === "scroll") && part.scrollWidth > part.clientWidth;
}).map((part) => part.outerHTML.slice(0, 80))"""


async def too_wide(frame: Frame) -> list[str]:
    """Nothing is wider than its page; on a phone nothing is scrolled sideways within it either."""
    wide, seen = await frame.evaluate(
        "() => [document.documentElement.scrollWidth - document.documentElement.clientWidth, innerWidth]"
    )
    found = [f"{wide} pixels too wide"] if wide else []
    if seen <= PHONE["width"]:
        found += [f"scrolled sideways: {part}" for part in await frame.evaluate(_SCROLLED_SIDEWAYS)]
    return found


async def pages_of(app_under_test: AppUnderTest, *, framed: bool) -> list[str]:
    """Return the paths of all pages of the app: those that the Dashboard frames, or the others."""
    paths = [
        path for route in page_routes(app_under_test.application) for path in addresses_of(route, app_under_test.known)
    ]
    async with httpx2.AsyncClient(base_url=app_under_test.shop.app.url, trust_env=False) as http:
        return [path for path in paths if (IN_FRAME in (await http.get(path)).text) is framed]


@pytest.mark.long
async def test_the_apps_pages_in_the_dashboard(app_under_test: AppUnderTest, browser: Browser) -> None:
    paths = await pages_of(app_under_test, framed=True)
    assert {"/", "/payments"} <= {*paths}
    await all_right(
        browser, [await app_under_test.frame(app_under_test.shop.saleor, path) for path in paths], framed=True
    )


@pytest.mark.long
async def test_the_apps_pages_in_a_store_where_nothing_has_happened(
    app_under_test: AppUnderTest, browser: Browser
) -> None:
    of_the_shop = [name for names in app_under_test.known.values() for name in names if name != NEW]
    paths = [path for path in await pages_of(app_under_test, framed=True) if path.rpartition("/")[2] not in of_the_shop]
    await all_right(
        browser, [await app_under_test.frame(app_under_test.new_store, path) for path in paths], framed=True
    )


@pytest.mark.long
async def test_payout_form_with_its_refusal_and_its_review(app_under_test: AppUnderTest, browser: Browser) -> None:
    await enable_payouts(app_under_test, utc_now)
    address = await app_under_test.frame(app_under_test.shop.saleor, "/payouts/new")
    found = []
    for look in LOOKS:
        async with a_page(browser, look) as page:
            frame = await opened(page, address)
            found += [f"form {look}: {fault}" for fault in await framed_faults(frame, look)]
            go_on = frame.locator("form[action$='/payouts/review'] > button")
            await frame.locator("[name$=first_name]").fill("Соломія-Олександра")
            await frame.locator("[name$=last_name]").fill("Нечуй-Левицька" * 5)
            await go_on.click()
            await expect(frame.locator(".summary")).to_be_focused()
            found += [f"refusal {look}: {fault}" for fault in await framed_faults(frame, look)]
            for name, text in (("[name=amount]", "40"), ("#card", NUMBER), ("[name=description]", "prize" * 40)):
                await frame.locator(name).fill(text)
            await go_on.click()
            await expect(frame.locator("form[action$='/payouts/confirm']")).to_be_visible()
            found += [f"review {look}: {fault}" for fault in await framed_faults(frame, look)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("looks", [LOOKS[:1], pytest.param(LOOKS[1:], marks=pytest.mark.long)], ids=["one", "others"])
async def test_pages_that_anybody_may_open(
    app_under_test: AppUnderTest, browser: Browser, looks: tuple[Look, ...]
) -> None:
    paths = await pages_of(app_under_test, framed=False)
    assert {"/support", "/privacy"} <= {*paths}
    await all_right(browser, [app_under_test.shop.app.url + path for path in paths], framed=False, looks=looks)


@pytest.mark.long
async def test_the_gateways_pages(app_under_test: AppUnderTest, browser: Browser) -> None:
    gateway = app_under_test.shop.gateway
    for card in ("4000000021220001", "4000000021190006"):  # waits for the payer's bank; for the bank
        _, session = await begin(app_under_test.shop)
        await gateway.pay(order_id_of(session), card=card)
    payments = await gateway.payments()
    ends = {(payment.status, payment.waits_for_payer): payment for payment in payments}
    pages = [app_under_test.shop.gateway_url, *(end.checkout_url for end in ends.values())]
    pages += [payment.qr_url for payment in payments if payment.status == "init"][:1]
    pages += [payment.challenge_url for payment in payments if payment.waits_for_payer][:1]
    paid = next(payment for payment in payments if payment.status == "success")
    pages.append(f"{app_under_test.shop.gateway_url}/public/receipt/{paid.payment_id}")
    assert len(pages) == 9
    await all_right(browser, pages, framed=False)


@pytest.mark.long
async def test_the_dashboards_own_pages_and_what_the_app_shows_there(
    app_under_test: AppUnderTest, browser: Browser
) -> None:
    dashboard = app_under_test.shop.saleor.dashboard_url
    orders = [f"{dashboard}orders/{quote(order)}" for order in app_under_test.orders]
    await all_right(browser, [dashboard, *orders], framed=False)
    found = []
    for look in LOOKS:
        async with a_page(browser, look) as page:
            for address in orders:
                await page.goto(address)
                await expect(page.locator("[data-widget]:not(.loaded)")).to_have_count(0)
                await page.locator(".widget").scroll_into_view_if_needed()  # a frame out of sight is not painted
                (widget,) = page.main_frame.child_frames
                wrong = await faults(widget) + await heard_faults(widget) + await too_wide(widget)
                found += [f"{address} ({look.theme}, {look.language}): {fault}" for fault in wrong]
    assert not found, "\n" + "\n".join(found)


async def test_every_page_has_its_pictures_in_the_documentation(app_under_test: AppUnderTest) -> None:
    table = rows((DOCS / "pages.md").read_text())
    told = {row[0].strip("`"): row[1] for row in table if row[0].startswith("`/")}
    routes = {*page_routes(app_under_test.application)}
    assert told.keys() == routes
    for route in routes:
        assert f"(images/pages/{sheet_of(route)})" in told[route]
        assert (SHEETS / sheet_of(route)).is_file(), f"make screenshots ARGS=pages takes the picture of {route}"


async def test_a_page_with_faults_is_found_out(browser: Browser) -> None:
    async with a_page(browser, LOOKS[0]) as page:
        with browser_errors(page) as complaints:
            await page.set_content(
                "<html><form><input type=email></form><p style='color: #eee; height: 50vh'>Pale</p>"
                "<h2 style='margin: 0'>Far</h2><div style='margin: 30px 0 0'>"
                "<p style='margin: 0'>One</p><p style='margin: 0'>Two</p></div>"
                "<a href='/a'>This</a><a href='/b'>This</a><nav></nav><dialog></dialog><table><td>1</td></table>"
                "<label>Sum <input aria-describedby=x><small id=x>in UAH</small></label>"
                "<script>console.warn('Hm')</script>"
            )
            found = " ".join([*await faults(page), *await spacing_faults(page), *await heard_faults(page)])
            for margin in range(100, 700, 20):  # a page that has only just been drawn may still settle down
                await page.evaluate(f"document.querySelector('p').style.marginTop = '{margin}px'")
                await page.wait_for_timeout(50)
                if shift := [fault for fault in await faults(page) if "jump" in fault]:
                    found += shift[0]
                    break
    assert complaints == ["Hm"]
    for fault in (
        "html-has-lang",
        "label",
        "color-contrast",
        "things jump about",
        "the browser's own words",
        "touches",
        "pixels below",
        "does something else too: : This",
        "said twice: Sum in UAH",
        "a table without a name",
        "not described",
        "an empty nav",
    ):
        assert fault in found
