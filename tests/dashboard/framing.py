"""A page that plays the Dashboard: another origin, the iframe as the Dashboard makes it, and its messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.async_api import ConsoleMessage, Error, FrameLocator, Page
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.browsing import chromium, serving
from tests.payments.shop import SALEOR

# Saleor contract, B.2.6: the sandbox, the address, and who says what when.
_DASHBOARD = """<!doctype html><html lang="en"><title>Dashboard</title><link rel="icon" href="data:,"><script>
const heard = [], tokens = [];
const frame = () => document.querySelector("iframe").contentWindow;
const say = (type, payload) => frame().postMessage({ type, payload }, "%(app)s");
const shake = () => {
  if (tokens.length) say("handshake", { token: tokens[0], version: 1, saleorVersion: "3.23.28" });
};
addEventListener("message", ({ data, source }) => {
  if (source !== frame()) return;
  heard.push(data);
  if (data.type === "notifyReady") shake();
  say("response", { actionId: data.payload.actionId, ok: true });
});
const refresh = (token) => { tokens[0] = token; say("tokenRefresh", { token }); };
const dress = (theme) => say("theme", { theme });
const speak = (locale) => say("localeChanged", { locale });
</script>
<body style="margin: 0"><iframe src="%(app)s%(path)s?%(query)s" onload="shake()" title="App"
  style="width: 100%%; height: 100vh; border: 0"
  sandbox="allow-same-origin allow-forms allow-scripts allow-downloads allow-popups"></iframe></html>"""


class Complaints(list[str]):
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
    app: ASGIApp, path: str = "/", *, width: int = 1000, complaints: Complaints | None = None
) -> AsyncIterator[tuple[Page, FrameLocator]]:
    """Give the Dashboard's page, and the frame in it that shows the app. Nobody is signed in yet: see ``sign_in``."""
    dashboard = FastAPI()
    async with serving(app) as here, serving(dashboard) as there, chromium() as browser:
        query = urlencode({"domain": "shop.example.com", "saleorApiUrl": SALEOR, "id": "QXBwOjE=", "theme": "light"})
        html = _DASHBOARD % {"app": here, "path": path, "query": query.replace("&", "&amp;")}

        @dashboard.get("/")
        async def show() -> HTMLResponse:
            return HTMLResponse(html)

        page = await browser.new_page(viewport={"width": width, "height": 900})
        if complaints is not None:
            complaints.of(page)
        await page.goto(there)
        yield page, page.frame_locator("iframe")


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
    await page.evaluate("token => { tokens[0] = token; shake(); }", token)


async def heard(page: Page, kind: str) -> list[dict[str, str]]:
    """Return what the app has said of one kind."""
    said = await page.evaluate("kind => heard.filter(each => each.type === kind).map(each => each.payload)", kind)
    return list(said)
