"""The shopper's pages in a real browser, with JavaScript and without."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect
from playwright.async_api import TimeoutError as NotInTime
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.shopper.page import POLLS
from app.web.shopper.view import OtherAttempt, PaymentState, ShopView
from integration_base_tests.loopback import serve_app
from tests.pages.hearing import announced, listen
from tests.qr_codes import read_qr_code
from tests.shopper.conftest import Payments
from tests.shopper.views import CHECKOUT, PAID, payment

pytestmark = [pytest.mark.browser, pytest.mark.long]
HERE = f"/pay/return/{PAID.order_id}"
LINK = f"/pay/{PAID.order_id}"
OPEN = payment(PaymentState.WAITING, checkout_url=CHECKOUT, return_url=None)


@pytest.fixture
async def complaints(page: Page) -> list[str]:
    """What the browser complains about: scripts that fail, files that the security policy keeps out."""
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    return heard


@pytest.fixture
async def page(browser: Browser) -> Page:
    """A page whose clock moves only when told to."""
    page = await browser.new_page()
    await page.clock.install(time=0)
    await page.clock.pause_at(1)
    return page


async def waits_for(page: Page, onward: str) -> None:
    """Until the page has digested the last answer and set its timer for this address."""
    await expect(page.locator("main")).to_have_attribute("data-onward", onward)


LAYOUT_SHIFT = """async () => {
  const entries = [];
  const observer = new PerformanceObserver((list) => entries.push(...list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  return [...entries, ...observer.takeRecords()].reduce((sum, { value }) => sum + value, 0);
}"""


PAINTED = "() => performance.getEntriesByName('first-contentful-paint').length > 0"


@pytest.mark.parametrize("language", ["en", "uk"])
async def test_pages_are_set_in_the_font_of_the_app_without_moving(
    payments: Payments, address: str, browser: Browser, language: str
) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT, language=language))
    page, refused = await browser.new_page(), []
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    for _ in range(2):  # from the network, then from the cache
        await page.goto(f"{address}{LINK}")
        assert await page.evaluate("async () => (await document.fonts.load('16px Inter', 'їa')).length") == 1
        assert await page.evaluate(LAYOUT_SHIFT) == 0
    assert refused == []
    await page.close()


@pytest.mark.parametrize("part", ["page", "script"])
async def test_nothing_is_painted_before_all_of_it_is_there(
    payments: Payments, address: str, browser: Browser, part: str
) -> None:
    """What is centred moves when more comes below it, and when the script writes moments in the shopper's time."""
    payments.add(replace(OPEN, expires_at=datetime(2026, 11, 28, 9, 5, tzinfo=UTC)))
    arrived = asyncio.Event()
    async with serve_app(in_two_pieces(address, part, arrived)) as slow:
        page = await browser.new_page(timezone_id="Europe/Kyiv")
        await page.goto(f"{slow}{LINK}", wait_until="commit")
        await page.get_by_role("heading").wait_for(state="attached")
        try:
            await page.wait_for_function(PAINTED, polling=50, timeout=1_000)
            painted_early = True
        except NotInTime:
            painted_early = False
        arrived.set()
        await page.wait_for_function(PAINTED, polling=50)
        assert not painted_early
        await expect(page.get_by_text("11:05")).to_be_visible()
        assert await page.evaluate(LAYOUT_SHIFT) == 0
        await page.close()


def in_two_pieces(address: str, part: str, arrived: asyncio.Event) -> ASGIApp:
    """Return the app behind a network that holds back the end of the page, or of its script, until it has arrived."""

    async def forward(scope: Scope, receive: Receive, send: Send) -> None:
        async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
            answer = await http.get(scope["path"])
        kind = answer.headers["content-type"]
        headers = [(name, value) for name, value in answer.headers.raw if name.lower() == b"content-type"]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
        middle = len(answer.content) * 2 // 3
        await send({"type": "http.response.body", "body": answer.content[:middle], "more_body": True})
        if {"page": "html", "script": "javascript"}[part] in kind:
            await arrived.wait()
        await send({"type": "http.response.body", "body": answer.content[middle:]})

    return forward


async def test_every_detail_ends_where_the_others_do(payments: Payments, address: str, browser: Browser) -> None:
    """On a phone some need a line of their own, and others more than one."""
    name = ShopView(name="The roses and other flowers of the garden behind the house")
    payments.add(replace(OPEN, order_number="7", expires_at=datetime(2026, 11, 28, 9, 5, tzinfo=UTC), shop=name))
    page = await browser.new_page(viewport={"width": 320, "height": 740})
    await page.goto(f"{address}{LINK}")
    lines = """(details) => details.flatMap((detail) => {
      const text = document.createRange();
      text.selectNodeContents(detail);
      return [...text.getClientRects()].map(({ right }) => Math.round(right));
    })"""
    ends = await page.locator("dd").evaluate_all(lines)
    assert len(ends) > await page.locator("dd").count()
    assert len({*ends}) == 1
    await page.close()


async def test_news_appear_in_place_and_then_the_shop_opens(
    payments: Payments, address: str, page: Page, complaints: list[str]
) -> None:
    payments.add(payment(PaymentState.WAITING, return_url=f"{address}/shop"))
    await page.goto(f"{address}{HERE}?order_id=T1a2b3c&status=success")
    await expect(page.get_by_role("heading")).to_have_text("Checking your payment")
    await page.evaluate("window.sameDocument = true")

    await waits_for(page, "?n=1")
    await listen(page.locator("html"))
    await page.clock.run_for(2_000)
    await waits_for(page, "?n=2")
    payments.add(payment(PaymentState.PAID, return_url=f"{address}/shop"))
    await page.clock.run_for(2_000)
    await waits_for(page, f"{address}/shop")
    await expect(page.get_by_role("heading")).to_have_text("Payment received")
    await expect(page).to_have_title("Payment received")
    (said,) = await announced(page.locator("html"))
    assert said.count("Payment received") == 1
    assert await page.evaluate("window.sameDocument")
    await expect(page.locator("main").get_by_role("link")).to_have_text("Back to the shop")

    await page.clock.run_for(3_000)
    await expect(page.get_by_role("heading")).to_have_text("Thank you for your order")
    assert complaints == []


async def test_the_page_stops_looking_and_lets_the_shopper_go(
    payments: Payments, address: str, page: Page, complaints: list[str]
) -> None:
    payments.add(payment(PaymentState.WAITING))
    await page.goto(f"{address}{HERE}?n={POLLS - 1}")
    await page.clock.run_for(2_000)
    await expect(page.get_by_role("heading")).to_have_text("No confirmation yet")

    asked = len(payments.searched)
    await page.clock.run_for(60_000)
    assert len(payments.searched) == asked

    await page.get_by_role("link", name="Check again").click()
    await expect(page.get_by_role("heading")).to_have_text("Checking your payment")
    assert complaints == []


async def test_a_dropped_look_is_tried_again(payments: Payments, address: str, page: Page) -> None:
    payments.add(payment(PaymentState.WAITING))
    await page.goto(f"{address}{HERE}")
    await page.route("**/*n=1", lambda route: route.abort())
    async with page.expect_event("requestfailed"):
        await page.clock.run_for(2_000)
    await page.unroute("**/*n=1")
    payments.add(payment(PaymentState.FAILED))
    await page.clock.resume()  # nothing on the page tells when it has noticed; so in real time from here

    await expect(page.get_by_role("heading")).to_have_text("The payment did not go through")


@pytest.mark.parametrize("back", ["by itself", "the network"])
async def test_page_whose_app_is_away_for_long_goes_on_when_it_is_back(
    payments: Payments, address: str, page: Page, back: str
) -> None:
    """It says that it updates automatically, and has no link to check again as long as it says so."""
    payments.add(payment(PaymentState.WAITING))
    await page.goto(f"{address}{HERE}")
    await page.route("**/*n=1", lambda route: route.fulfill(status=502))
    for seconds in (2, 2, 2, 2, 2, 2, 30):
        async with page.expect_response("**/*n=1"):
            await page.clock.resume()
            await page.clock.fast_forward(seconds * 1_000)
    await page.unroute("**/*n=1")
    payments.add(payment(PaymentState.FAILED))
    if back == "by itself":
        await page.clock.fast_forward(30_000)
    else:
        await page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_role("heading")).to_have_text("The payment did not go through")


async def test_a_shopper_among_too_many_visitors_is_not_given_up(
    payments: Payments, address: str, page: Page, complaints: list[str]
) -> None:
    """The page says that it loads by itself: it does so for as long as the app says when to come back."""
    payments.add(payment(PaymentState.WAITING))
    await page.goto(f"{address}{HERE}")
    busy, turned_away = {"Retry-After": "10"}, "<main><h1>Too many visitors at this moment</h1></main>"
    await page.route("**/*n=1", lambda route: route.fulfill(status=429, headers=busy, body=turned_away))
    await page.clock.run_for(2_000)
    for _ in range(8):
        async with page.expect_response("**/*n=1"):
            await page.clock.resume()
            await page.clock.fast_forward(10_000)
    await expect(page.get_by_role("heading")).to_have_text("Checking your payment")  # what is known is still there
    await page.unroute("**/*n=1")
    payments.add(PAID)
    await page.clock.fast_forward(10_000)
    await expect(page.get_by_role("heading")).to_have_text("Payment received")
    assert [text for text in complaints if "429" not in text] == []


async def test_without_javascript_the_page_reloads_itself(payments: Payments, address: str, browser: Browser) -> None:
    payments.add(payment(PaymentState.WAITING, return_url=f"{address}/shop"))
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{address}{HERE}")
    payments.add(payment(PaymentState.PAID, return_url=f"{address}/shop"))

    await page.wait_for_url(f"{address}{HERE}?n=1")
    await page.wait_for_url(f"{address}/shop")


class TestAPaymentLink:
    """The page behind it, which a customer may leave open on a computer while paying on a phone."""

    async def test_it_turns_into_what_became_of_the_payment(
        self, payments: Payments, address: str, page: Page, complaints: list[str]
    ) -> None:
        payments.add(OPEN)
        await page.goto(f"{address}{LINK}")
        await expect(page.get_by_role("heading")).to_have_text("Pay 1,234.50\u00a0UAH")
        await expect(page.get_by_role("link", name="Go to the payment page")).to_have_attribute("href", CHECKOUT)
        assert await read_qr_code(page.get_by_role("img")) == CHECKOUT
        await page.evaluate("window.sameDocument = true")

        await waits_for(page, "?w=1")
        await page.clock.run_for(10_000)
        await waits_for(page, "?w=2")
        payments.add(payment(PaymentState.WAITING, return_url=None))
        await page.clock.run_for(10_000)
        await expect(page.get_by_role("heading")).to_have_text("Checking your payment")
        await waits_for(page, "?n=1")
        payments.add(payment(PaymentState.PAID, return_url=None))
        await page.clock.run_for(2_000)
        await expect(page.get_by_role("heading")).to_have_text("Payment received")
        await expect(page.get_by_role("img")).to_have_count(0)
        assert await page.evaluate("window.sameDocument")
        assert complaints == []

    async def test_it_says_what_became_of_another_attempt_before_the_shopper_pays_twice(
        self, payments: Payments, address: str, page: Page
    ) -> None:
        other = OtherAttempt(PaymentState.WAITING, Decimal(200), "UAH", datetime(2026, 11, 28, 9, 5, tzinfo=UTC))
        payments.add(replace(OPEN, attempts=(other,)))
        await page.goto(f"{address}{LINK}")
        await expect(page.get_by_text("is still pending. Please wait before you pay again.")).to_be_visible()
        await page.get_by_role("link", name="Go to the payment page").focus()
        payments.add(replace(OPEN, attempts=(replace(other, state=PaymentState.PAID),)))
        await waits_for(page, "?w=1")
        await page.clock.run_for(10_000)
        await waits_for(page, "?w=2")
        await expect(page.get_by_role("listitem").filter(has_text="200.00")).to_contain_text("was paid")
        await expect(page.get_by_role("link", name="Go to the payment page")).to_be_focused()

    async def test_it_is_left_alone_while_nothing_has_changed(
        self, payments: Payments, address: str, page: Page
    ) -> None:
        payments.add(replace(OPEN, expires_at=datetime(2026, 11, 28, 9, 5, tzinfo=UTC)))
        await page.goto(f"{address}{LINK}")
        await page.get_by_role("link", name="Go to the payment page").focus()
        await waits_for(page, "?w=1")
        await page.clock.run_for(10_000)
        await waits_for(page, "?w=2")
        await expect(page.get_by_role("link", name="Go to the payment page")).to_be_focused()

    async def test_without_javascript_it_reloads_itself(
        self, payments: Payments, address: str, browser: Browser
    ) -> None:
        payments.add(OPEN)
        context = await browser.new_context(java_script_enabled=False)
        page = await context.new_page()
        await page.goto(f"{address}{LINK}?w=90")
        await expect(page.get_by_role("img")).to_be_visible()
        payments.add(payment(PaymentState.FAILED, return_url=None))
        await page.get_by_role("link", name="Check again").click()
        await expect(page.get_by_role("heading")).to_have_text("The payment did not go through")
        await expect(page.get_by_text("ask the shop for a new payment link")).to_be_visible()

    async def test_it_is_printed_in_black_on_white_with_the_address(
        self, payments: Payments, address: str, browser: Browser
    ) -> None:
        payments.add(OPEN)
        page = await browser.new_page(color_scheme="dark")
        await page.goto(f"{address}{LINK}")
        await expect(page.get_by_text(CHECKOUT)).to_be_hidden()
        await page.emulate_media(media="print")
        await expect(page.get_by_text(CHECKOUT)).to_be_visible()
        await expect(page.locator("main").get_by_role("link")).to_have_count(0)
        await expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
        assert await read_qr_code(page.get_by_role("img")) == CHECKOUT

    async def test_phone_prints_the_code_that_its_screen_does_not_show(
        self, payments: Payments, address: str, browser: Browser
    ) -> None:
        payments.add(OPEN)
        context = await browser.new_context(has_touch=True, is_mobile=True)
        page = await context.new_page()
        await page.goto(f"{address}{LINK}")
        await expect(page.get_by_role("img")).to_be_hidden()
        await page.emulate_media(media="print")
        assert await read_qr_code(page.get_by_role("img")) == CHECKOUT

    async def test_the_png_is_read_as_well(self, payments: Payments, address: str, page: Page) -> None:
        payments.add(OPEN)
        await page.goto(f"{address}{LINK}.png")
        assert await read_qr_code(page.locator("img")) == CHECKOUT
