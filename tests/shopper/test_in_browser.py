"""The return page in a real browser, with JavaScript and without."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect

from app.shopper.page import LOOKS
from app.shopper.view import PaymentState
from tests.browsing import chromium
from tests.shopper.conftest import Payments
from tests.shopper.views import PAID, payment

pytestmark = pytest.mark.browser
HERE = f"/pay/return/{PAID.order_id}"


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


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


async def test_news_appear_in_place_and_then_the_shop_opens(
    payments: Payments, address: str, page: Page, complaints: list[str]
) -> None:
    payments.add(payment(PaymentState.WAITING, return_url=f"{address}/shop"))
    await page.goto(f"{address}{HERE}?order_id=T1a2b3c&status=success")
    await expect(page.get_by_role("heading")).to_have_text("Checking your payment")
    await page.evaluate("window.sameDocument = true")

    await waits_for(page, "?n=1")
    await page.clock.run_for(2_000)
    await waits_for(page, "?n=2")
    payments.add(payment(PaymentState.PAID, return_url=f"{address}/shop"))
    await page.clock.run_for(2_000)
    await waits_for(page, f"{address}/shop")
    await expect(page.get_by_role("heading")).to_have_text("Payment received")
    await expect(page).to_have_title("Payment received")
    assert await page.evaluate("window.sameDocument")
    await expect(page.get_by_role("link")).to_have_text("Back to the shop")

    await page.clock.run_for(3_000)
    await expect(page.get_by_role("heading")).to_have_text("Thank you for your order")
    assert complaints == []


async def test_the_page_stops_looking_and_lets_the_shopper_go(
    payments: Payments, address: str, page: Page, complaints: list[str]
) -> None:
    payments.add(payment(PaymentState.WAITING))
    await page.goto(f"{address}{HERE}?n={LOOKS - 1}")
    await page.clock.run_for(2_000)
    await expect(page.get_by_role("heading")).to_have_text("No answer yet")

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


async def test_without_javascript_the_page_reloads_itself(payments: Payments, address: str, browser: Browser) -> None:
    payments.add(payment(PaymentState.WAITING, return_url=f"{address}/shop"))
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{address}{HERE}")
    payments.add(payment(PaymentState.PAID, return_url=f"{address}/shop"))

    await page.wait_for_url(f"{address}{HERE}?n=1")
    await page.wait_for_url(f"{address}/shop")
