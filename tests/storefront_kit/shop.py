"""A storefront's checkout with the kit in it, behind a Content-Security-Policy as strict as there can be."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlencode

from playwright.async_api import Locator, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp

from app.web.static import kit_tag, static_files
from integration_base_tests.loopback import serve_app
from integration_base_tests.waiting import unless_it_hangs

REST = "; require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'"
STYLE = """
body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.4 sans-serif; }
:root { --accent: rgb(0, 90, 60); --text: rgb(0, 0, 0); }
gateway-payment { --gateway-payment-accent: var(--accent); --gateway-payment-on-accent: rgb(255, 255, 255); }
gateway-payment::part(button) { text-transform: uppercase; }
gateway-payment:not(:defined) { display: block; min-block-size: 13rem; }
gateway-payment[mode="direct"] { --gateway-payment-min-height: 24rem; }
gateway-payment[mode="direct"]:not(:defined) { min-block-size: 24rem; }
"""
LISTENS = """
window.told = [];
const names = ["ready", "redirect", "waiting", "paid", "reserved", "part", "failed", "unavailable", "error"];
for (const name of names) {
  document.addEventListener(`gateway-payment-${name}`, ({ detail }) => window.told.push([name, detail]));
}
"""
PAGE = """<!doctype html>
<html lang="{language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Checkout</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/shop.css">
<script src="/listens.js"></script>
{kit}
</head>
<body><main><h1>Checkout</h1>
<gateway-payment {attributes}></gateway-payment>
<p>Delivery in two days</p></main></body>
</html>"""


@dataclass(frozen=True)
class KitShop:
    """Where the checkout is. ``app`` and ``saleor`` are what its pages may reach beside it."""

    url: str

    def checkout(self, lang: str = "en", **attributes: str) -> str:
        """Return the address of a checkout whose element has these attributes; ``_`` stands for ``-``."""
        named = {name.replace("_", "-"): value for name, value in attributes.items()}
        return f"{self.url}/checkout?{urlencode({'lang': lang, **named})}"


@asynccontextmanager
async def kit_shop(
    app: str | None = None, saleor: str | None = None, routes: Mapping[str, ASGIApp] | None = None
) -> AsyncIterator[KitShop]:
    """Serve it. Without an ``app`` it serves the kit itself; ``routes`` are more of its paths."""

    async def checkout(request: Request) -> HTMLResponse:
        here = str(request.base_url).rstrip("/")
        given = {name: value for name, value in request.query_params.items() if name not in {"lang", "transactionId"}}
        given.setdefault("return-url", str(request.url.remove_query_params("transactionId")))
        said = " ".join(f'{escape(name)}="{escape(value)}"' for name, value in given.items())
        policy = (
            f"default-src 'none'; script-src 'self' {app or ''}; connect-src 'self' {saleor or ''}; "
            f"img-src 'self' data: {app or ''}; style-src 'self'{REST}"
        )
        language = request.query_params.get("lang", "en")
        page = PAGE.format(language=escape(language), kit=kit_tag(app or here), attributes=said)
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    async def style(_request: Request) -> PlainTextResponse:
        return PlainTextResponse(STYLE, media_type="text/css")

    async def listens(_request: Request) -> PlainTextResponse:
        return PlainTextResponse(LISTENS, media_type="text/javascript")

    mounted = [Mount(path, application) for path, application in (routes or {}).items()]
    pages = [Route("/checkout", checkout), Route("/shop.css", style), Route("/listens.js", listens)]
    router = Router([*pages, Mount("/static", static_files()), *mounted], redirect_slashes=False)
    async with serve_app(Starlette(routes=[Mount("/", router)])) as url:
        yield KitShop(url)


def button(page: Page, name: str = "Pay") -> Locator:
    """Return a button of the kit, whatever amount it names."""
    return page.get_by_role("button", name=re.compile(rf"^{re.escape(name)}(\s[\d.,\s]+\sUAH)?$"))


def message(page: Page) -> Locator:
    """Return what the kit says."""
    return page.locator("gateway-payment").get_by_role("status")


async def wait_for_events(page: Page, name: str) -> list[Any]:
    """Wait until the storefront has heard an event of this name; return the details of all of them."""
    async with unless_it_hangs():
        while not (found := await events_of(page, name)):  # noqa: ASYNC110 - a page of another process tells by asking
            await asyncio.sleep(0.02)
    return found


async def events_of(page: Page, name: str) -> list[Any]:
    """Return the details of the events of this name that the storefront has heard on this page."""
    found: list[Any] = await page.evaluate("name => told.filter(([each]) => each === name).map(([, it]) => it)", name)
    return found


async def type_card(page: Page, number: str, expiry: str = "12/40", cvv: str = "737") -> None:
    """Type a card as people do."""
    for label, value in (("Card number", number), ("Expiry date", expiry), ("Security code", cvv)):
        field = page.get_by_label(label)
        await field.clear()
        await field.press_sequentially(value)
