"""What an app in the played Dashboard can notice of it, in a browser."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from playwright.async_api import Browser, Frame, Page, expect

from integration_base_tests.loopback import text_reply
from saleor_app_sdk.testing import FakeSaleor
from saleor_app_sdk_tests.testing.orders import an_order
from saleor_app_sdk_tests.testing.stub import Stub
from saleor_app_sdk_tests.testing.test_dashboard import WIDGET, the_app

pytestmark = [pytest.mark.browser, pytest.mark.long]

SANDBOX = "allow-same-origin allow-forms allow-scripts allow-downloads allow-popups"
# An app's page that keeps what it is told, and says what the test wants.
LISTENING = """<!doctype html><title>App</title><script>
const told = [];
addEventListener("message", ({ data }) => told.push(data));
const say = (type, payload = {}) => parent.postMessage({ type, payload: { ...payload, actionId: type } }, "*");
</script>"""


@asynccontextmanager
async def looking_at(browser: Browser, address: str, *, fake_time: bool = False) -> AsyncIterator[tuple[Page, Frame]]:
    """Open a page of the Dashboard; give it, and the first frame in it."""
    page = await browser.new_page()
    if fake_time:
        await page.clock.install()
    await page.goto(address)
    await expect(page.locator(".loaded")).to_be_visible()
    yield page, page.main_frame.child_frames[0]
    await page.close()


async def told(frame: Frame, kind: str, times: int = 1) -> Any:
    """Wait until the app was told something so often; return what it was told last."""
    await frame.wait_for_function(f"told.filter(({{ type }}) => type === '{kind}').length >= {times}")
    return await frame.evaluate(f"told.filter(({{ type }}) => type === '{kind}').at(-1).payload")


@pytest.fixture
async def address(saleor: FakeSaleor, installed: Stub) -> str:
    """Where the Dashboard shows the app."""
    for path in ("/", "/payments/7"):
        installed.answers[path] = text_reply(LISTENING)
    return f"{saleor.url}/dashboard/extensions/app/{quote((await the_app(saleor)).id)}"


async def test_the_frame_and_what_it_is_told_at_first(
    browser: Browser, saleor: FakeSaleor, installed: Stub, address: str
) -> None:
    async with looking_at(browser, f"{address}/payments/7?tab=history") as (page, frame):
        assert await page.locator("iframe").get_attribute("sandbox") == SANDBOX
        place = urlsplit(frame.url)
        assert f"{place.scheme}://{place.netloc}{place.path}" == f"{installed.url}/payments/7"
        assert dict(parse_qsl(place.query)) == {
            "tab": "history",
            "domain": urlsplit(saleor.url).netloc,
            "saleorApiUrl": saleor.api_url,
            "id": (await the_app(saleor)).id,
            "theme": "light",
        }
        await told(frame, "redirect")
        kinds = await frame.evaluate("told.map(({ type }) => type)")
        assert kinds == ["handshake", "localeChanged", "theme", "redirect"]
        handshake = await told(frame, "handshake")
        assert (handshake["version"], handshake["saleorVersion"]) == (1, "3.23.28")
        assert handshake["token"].count(".") == 2
        await frame.evaluate("say('notifyReady')")
        assert await told(frame, "handshake", 2) == handshake
        assert await told(frame, "response") == {"actionId": "notifyReady", "ok": True}


async def test_what_the_app_says_is_done(browser: Browser, address: str) -> None:
    async with looking_at(browser, address) as (page, frame):
        await frame.evaluate("say('notification', { status: 'success', title: 'Done', text: 'Refunded <b>1</b>' })")
        await expect(page.get_by_role("log")).to_have_text("Done: Refunded <b>1</b>")
        await frame.evaluate("say('updateRouting', { newRoute: '/payments/7' })")
        await expect(page).to_have_url(f"{address}/payments/7")
        assert urlsplit(frame.url).path == "/"
        await frame.evaluate("say('redirect', { to: '/' })")
        await expect(page.get_by_role("heading", name="Home")).to_be_visible()


async def test_theme_and_language_are_chosen_and_remembered(browser: Browser, address: str) -> None:
    async with looking_at(browser, address) as (page, frame):
        await page.get_by_role("button", name="Dark").click()
        assert await told(frame, "theme", 2) == {"theme": "dark"}
        await page.get_by_label("Language").select_option("uk")
        assert await told(frame, "localeChanged", 2) == {"locale": "uk"}
        await page.reload()
        await expect(page.locator(".loaded")).to_be_visible()
        (again,) = page.main_frame.child_frames
        assert "theme=dark" in again.url
        assert await told(again, "localeChanged") == {"locale": "uk"}


async def test_the_next_token_comes_before_one_is_over(browser: Browser, address: str) -> None:
    async with looking_at(browser, address, fake_time=True) as (page, frame):
        first = (await told(frame, "handshake"))["token"]
        await page.clock.run_for(250_000)  # its clock runs on by itself as well
        assert await frame.evaluate("told.some(({ type }) => type === 'tokenRefresh')") is False
        for times in (1, 2):
            await page.clock.run_for(271_000)
            assert (await told(frame, "tokenRefresh", times))["token"] != first


async def test_a_widget_is_posted_to_and_chooses_its_height(browser: Browser, saleor: FakeSaleor, stub: Stub) -> None:
    stub.manifest["extensions"] = [WIDGET]
    stub.answers["/widgets/order"] = text_reply(LISTENING)
    await saleor.install(stub.manifest_url)
    order, _ = await an_order(saleor, stub, "CHARGE_SUCCESS")
    address = f"{saleor.url}/dashboard/orders/{quote(order.id)}"
    async with looking_at(browser, address, fake_time=True) as (page, frame):
        (asked,) = stub.asked_for("/widgets/order")
        assert asked.method == "POST"
        fields = dict(parse_qsl(asked.body.decode()))
        assert {*fields} == {"saleorApiUrl", "accessToken", "appId", "orderId"}
        assert fields["orderId"] == order.id
        widget = page.locator("iframe")
        assert await widget.get_attribute("sandbox") == SANDBOX
        await frame.evaluate("say('widgetResize', { height: 321.5 })")
        assert await told(frame, "response") == {"actionId": "widgetResize", "ok": True}
        await expect(widget).to_have_css("height", "322px")
        await frame.evaluate("say('notifyReady')")
        await page.clock.run_for(271_000)
        assert (await told(frame, "tokenRefresh"))["token"] not in json.dumps(fields)
        assert await frame.evaluate("told.some(({ type }) => type === 'handshake')") is False
