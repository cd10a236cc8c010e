"""The app's page in a frame of another origin, as the Dashboard shows it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.async_api import Page, expect

from app.dashboard.framing import ANY_DASHBOARD
from app.dashboard.router import create_dashboard_router
from app.static import static_files
from tests.browsing import chromium, serving

pytestmark = pytest.mark.browser


@asynccontextmanager
async def dashboard_with(app_address: str) -> AsyncIterator[str]:
    """A Dashboard of another origin that frames the app and writes down what the app says to it."""
    dashboard = FastAPI()

    @dashboard.get("/")
    async def show() -> HTMLResponse:
        return HTMLResponse(
            "<script>heard = []; onmessage = ({data}) => heard.push(data);</script>"
            f'<iframe src="{app_address}/?theme=light" width="800" height="800" '
            'sandbox="allow-same-origin allow-forms allow-scripts allow-downloads allow-popups"></iframe>'
        )

    async with serving(dashboard) as address:
        yield address


@asynccontextmanager
async def shown_in_dashboard(frame_ancestors: tuple[str, ...] = ANY_DASHBOARD) -> AsyncIterator[Page]:
    app = FastAPI()
    app.include_router(
        create_dashboard_router(app_name="Saleor Gateway", app_version="1", frame_ancestors=frame_ancestors)
    )
    app.mount("/static", static_files())
    async with serving(app) as here, dashboard_with(here) as dashboard, chromium() as browser:
        page = await browser.new_page()
        await page.goto(dashboard)
        yield page


async def test_the_page_says_that_it_is_ready_and_follows_the_theme() -> None:
    async with shown_in_dashboard() as page:
        frame = page.frame_locator("iframe")
        await expect(frame.get_by_role("heading", name="Saleor Gateway")).to_be_visible()
        await page.wait_for_function("heard.length > 0")
        (ready,) = await page.evaluate("heard")
        assert ready["type"] == "notifyReady"
        assert ready["payload"]["actionId"]

        say = "message => document.querySelector('iframe').contentWindow.postMessage(message, '*')"
        await page.evaluate(say, {"type": "theme", "payload": {"theme": "dark"}})
        await expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
        await page.evaluate(say, {"type": "theme", "payload": {"theme": "<b>"}})
        await page.evaluate(say, None)
        await page.evaluate(say, {"type": "theme", "payload": {"theme": "light"}})
        await expect(frame.locator("html")).to_have_attribute("data-theme", "light")


async def test_a_site_that_was_not_named_cannot_frame_the_page() -> None:
    async with shown_in_dashboard(frame_ancestors=("https://dashboard.example.com",)) as page:
        (frame,) = page.main_frame.child_frames
        assert frame.url == "chrome-error://chromewebdata/"
