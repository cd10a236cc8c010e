"""The app's pages in the played Dashboard: another origin, the frame as Saleor's own makes it, and its messages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlencode, urlsplit

from playwright.async_api import Browser, ConsoleMessage, Error, FrameLocator, Page
from starlette.types import ASGIApp, Receive, Scope, Send

from integration_base_tests.loopback import serve_app
from integration_base_tests.waiting import unless_it_hangs
from saleor_app_sdk.testing import SaleorSettings
from saleor_app_sdk.testing import serving as saleor_serving
from saleor_app_sdk.testing.records import App
from saleor_app_sdk_tests.dashboard_tokens import APP_ID
from tests.payments.shop import SALEOR

# What tests have the Dashboard say, beside its own setTheme(theme) and setLocale(locale).
_SHORT_FORMS = """() => Object.assign(window, {
  frame: () => embedded[0].frame.contentWindow,
  say: (type, payload) => embedded[0].send(type, payload),
  refresh: (token) => { embedded[0].token = token; embedded[0].send("tokenRefresh", { token }); },
})"""


class BrowserErrors(list[str]):
    """What the browser complains of: scripts that failed, and everything that is an error on the console."""

    def of(self, page: Page) -> None:
        """Listen to a page, and to the frames in it."""
        page.on("console", self._console)
        page.on("pageerror", self._error)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.append(message.text)

    def _error(self, error: Error) -> None:
        self.append(str(error))


@asynccontextmanager
async def dashboard_of(
    browser: Browser,
    app: ASGIApp,
    path: str = "/",
    *,
    width: int = 1000,
    timezone: str | None = None,
    complaints: BrowserErrors | None = None,
) -> AsyncIterator[tuple[Page, FrameLocator]]:
    """Give the Dashboard's page, and the frame in it that shows the app. Nobody is signed in yet: see ``sign_in``."""
    settings = SaleorSettings(public_url=SALEOR.removesuffix("/graphql/"))
    async with serve_app(app) as here, saleor_serving(settings) as saleor:
        world = saleor.engine.state
        world.signed_in = None
        world.apps["app"] = _installed(here)
        page = await browser.new_page(viewport={"width": width, "height": 900}, timezone_id=timezone)
        if complaints is not None:
            complaints.of(page)
        await page.goto(f"{saleor.url}/dashboard/extensions/app/{APP_ID.replace('=', '%3D')}{path}")
        await page.evaluate(_SHORT_FORMS)
        yield page, page.frame_locator("iframe")
        await page.close()


async def path_of(frame: FrameLocator) -> str:
    """Return the path of the page that the frame shows, as its own address says it."""
    address = urlsplit(str(await frame.locator("html").evaluate("() => location.href")))
    said = [
        (name, value)
        for name, value in parse_qsl(address.query)
        if name not in {"saleorApiUrl", "domain", "id", "theme"}
    ]
    return address.path + (f"?{urlencode(said)}" if said else "")


async def clipboard_text(page: Page) -> str:
    """Return what somebody gets who pastes what was copied."""
    await page.evaluate("document.body.insertAdjacentHTML('afterbegin', '<textarea id=pasted></textarea>')")
    await page.locator("#pasted").press("Control+V")
    value = await page.locator("#pasted").input_value()
    await page.locator("#pasted").evaluate("each => each.remove()")
    return value


def _installed(app_url: str) -> App:
    """What that Saleor knows of the app. The installation itself is of no interest here."""
    return App(
        id=APP_ID,
        identifier="app",
        name="App",
        version="1",
        token="",
        permissions=("HANDLE_PAYMENTS",),
        active=True,
        hooks=[],
        manifest={"appUrl": app_url},
    )


def below(path: str, app: ASGIApp) -> ASGIApp:
    """Return the app behind a proxy that forwards what is below a path of its host, without that path."""

    async def forward(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            assert scope["path"].startswith(path), "asked beside the app"
            scope = {**scope, "path": scope["path"].removeprefix(path) or "/"}
        await app(scope, receive, send)

    return forward


async def sign_in(page: Page, token: str) -> None:
    """Hand a token to the app, as at a handshake; the next ones get the same."""
    await page.evaluate("token => { embedded[0].token = token; embedded[0].sendHandshake(); }", token)


async def messages_of(page: Page, kind: str) -> list[dict[str, str]]:
    """Return what the app has said of one kind."""
    said = await page.evaluate("kind => received.filter(each => each.type === kind).map(each => each.payload)", kind)
    return list(said)


async def wait_for_messages(page: Page, kind: str, times: int) -> None:
    """Wait until the app has said something of one kind so often."""
    async with unless_it_hangs():
        while True:
            if len(await messages_of(page, kind)) >= times:
                return
            await asyncio.sleep(0.02)
