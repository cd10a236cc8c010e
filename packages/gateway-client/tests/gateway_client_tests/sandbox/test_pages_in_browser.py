"""A shopper with a real browser: pays, is declined, is asked by the bank, scans a code; with and without JavaScript."""

import re

import pytest
from playwright.async_api import Browser, Page, expect

from gateway_client.sandbox.control import SandboxControl
from gateway_client_tests.sandbox.harness import Harness

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(params=[False, True], ids=["no-javascript", "javascript"])
async def page(browser: Browser, request: pytest.FixtureRequest) -> Page:
    context = await browser.new_context(java_script_enabled=request.param)
    return await context.new_page()


@pytest.fixture
async def address(harness: Harness) -> str:
    # The overview stands in for the shop's thank-you page: a page of the same machine that a browser can open.
    created = await harness.merchant.pay_hosted("mugs", "249.90", result_url=f"{harness.url}/?cart=7")
    location: str = created.headers["location"]
    return location


async def test_success(page: Page, address: str, harness: Harness) -> None:
    await page.goto(address)
    await page.get_by_label("Card number").fill("5454 5454 5454 5454")
    await page.get_by_role("button", name=re.compile("^Pay")).click()
    await expect(page).to_have_url(f"{harness.url}/?cart=7&order_id=mugs&status=success")
    assert await harness.merchant.records("mugs") == [("purchase", "success", "1000")]


async def test_decline(page: Page, address: str, harness: Harness) -> None:
    await page.goto(address)
    await page.get_by_role("button", name="Not enough money").click()
    await expect(page).to_have_url(f"{harness.url}/?cart=7&order_id=mugs&status=rejected")
    await page.goto(address)
    await expect(page.get_by_role("heading", name="Not paid")).to_be_visible()


async def test_3ds(page: Page, address: str, harness: Harness) -> None:
    await page.goto(address)
    await page.get_by_role("button", name="Code by SMS").click()
    await page.get_by_label("Code from the SMS").fill("000000")
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("Code from the SMS").fill("123456")
    await page.get_by_role("button", name="Confirm").click()
    await expect(page).to_have_url(f"{harness.url}/?cart=7&order_id=mugs&status=success")


async def test_qr(page: Page, address: str, harness: Harness) -> None:
    await page.goto(address.removesuffix("form") + "qr")
    code = page.get_by_role("img", name="QR code of the payment page").locator("svg")
    box = await code.bounding_box()
    assert box is not None
    assert box["width"] > 200
    await page.get_by_role("link", name="Pay on this device instead").click()
    await expect(page).to_have_url(address)


async def test_the_qr_page_says_by_itself_that_it_is_paid(page: Page, address: str, harness: Harness) -> None:
    await page.goto(address.removesuffix("form") + "qr")
    async with SandboxControl(harness.url) as control:
        await control.pay("mugs")
    await expect(page.get_by_role("heading", name="Paid")).to_be_visible()


async def test_nothing_is_loaded_from_elsewhere_and_nothing_is_blocked(
    page: Page, address: str, harness: Harness
) -> None:
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    for place in (address, address.removesuffix("form") + "qr", harness.url):
        await page.goto(place, wait_until="networkidle")
    assert [url for url in asked if not url.startswith((harness.url, "data:"))] == []
    assert problems == []


async def test_a_phone_shows_all_without_scrolling_sideways(page: Page, address: str, harness: Harness) -> None:
    await page.set_viewport_size({"width": 320, "height": 640})
    for place in (address, address.removesuffix("form") + "qr", harness.url):
        await page.goto(place)
        root = page.locator("html")
        assert await root.evaluate("element => element.scrollWidth") <= 320


async def test_the_overview_renews_itself(browser: Browser, harness: Harness) -> None:
    page = await browser.new_page()
    await page.goto(harness.url)
    await page.get_by_text("Address and credentials").click()
    await harness.merchant.pay_hosted("mugs")
    await expect(page.get_by_role("heading", name="mugs")).to_be_visible()
