"""The shopper's addresses: `/pay/return/{order_id}` and `/pay/qr/{order_id}.svg`.

Whoever knows an order's id may see that order's page. It shows an amount and an outcome, no person and no card, and
it can do nothing. What the gateway appends to the address when it sends a browser back is unsigned and is ignored.
"""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import jinja2
import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse

from app.shopper.page import Page, missing_page, return_page, web_address
from app.shopper.qr import qr_image
from app.shopper.view import ReturnView
from app.shopper.words import preferred_language

FindPayment = Callable[[str], Awaitable[ReturnView | None]]
OnReturn = Callable[[str], Awaitable[None]]

_ORDER_ID = re.compile(r"[A-Za-z0-9]{1,32}")
_LOOKS = re.compile(r"[0-9]{1,3}")

_PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
_IMAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "cross-origin",  # storefronts show it as an <img>
}

_log = structlog.stdlib.get_logger(__name__)


def create_shopper_router(find: FindPayment, on_return: OnReturn) -> APIRouter:
    """The pages of shoppers.

    `find` tells what is known of an order, or None. `on_return` is told of every look at a payment whose outcome is
    still open (up to one every two seconds and page, so it should be quick and limit itself): a good moment to ask
    the gateway. What it learns is shown at once; what it raises is logged and changes nothing for the shopper.
    """
    router = APIRouter(include_in_schema=False)
    template = _template("return.html")

    async def known(order_id: str) -> ReturnView | None:
        return await find(order_id) if _ORDER_ID.fullmatch(order_id) else None

    async def known_after_asking(order_id: str) -> ReturnView | None:
        view = await known(order_id)
        if view is None or not view.state.is_open:
            return view
        try:
            await on_return(order_id)
        except Exception as exc:  # noqa: BLE001 - whatever is wrong behind it, the shopper gets the page
            # Its kind only: what an error deeper down says may hold what no log should.
            _log.error("return not followed up", order_id=order_id, error=type(exc).__name__)
            return view
        return await find(order_id)

    def shown(page: Page, status_code: int = 200) -> HTMLResponse:
        html = template.render(page=page)
        return HTMLResponse(html, status_code, headers=_PAGE_HEADERS)

    def not_found(request: Request) -> HTMLResponse:
        return shown(missing_page(preferred_language(request.headers.get("accept-language", ""))), 404)

    @router.get("/pay/return/{order_id}")
    async def come_back(request: Request, order_id: str) -> HTMLResponse:
        view = await known_after_asking(order_id)
        if view is None:
            return not_found(request)
        return shown(return_page(view, _looks(request)))

    @router.post("/pay/return/{order_id}")
    async def come_back_by_form(request: Request, order_id: str) -> Response:
        """A browser sent back by POST is asked to GET, so that reloading the page sends no form again."""
        if not _ORDER_ID.fullmatch(order_id):
            return not_found(request)
        return RedirectResponse(order_id, status_code=303, headers=_PAGE_HEADERS)  # relative: this very address

    @router.get("/pay/qr/{order_id}.svg")
    async def qr(order_id: str) -> Response:
        view = await known(order_id)
        checkout = web_address(view.checkout_url) if view else None
        if checkout is None:
            return PlainTextResponse("nothing to pay here", 404, headers=_IMAGE_HEADERS)
        return Response(qr_image(checkout), media_type="image/svg+xml", headers=_IMAGE_HEADERS)

    return router


def _looks(request: Request) -> int:
    """How often this page has looked before, as it told itself in `?n=`; anything odd counts as the first look."""
    counted = request.query_params.get("n", "")
    return int(counted) if _LOOKS.fullmatch(counted) else 0


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
