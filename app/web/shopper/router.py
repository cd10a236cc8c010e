"""The shopper's addresses: `/pay/{order_id}`, the same with `.svg` and `.png`, `/pay/return/{order_id}`, and the style
sheet of a shop's colour.

Anyone who knows an order's id may see that order's page. It shows an amount and an outcome, no person and no card, and
it can change nothing. An id is as random as Saleor's transaction, so it cannot be guessed, and all unknown ids get the
same response. What the gateway appends to the address when it sends a browser back is unsigned and is ignored.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import structlog
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from fastapi.routing import APIRoute

from app.i18n.translation import LANGUAGES, language_name, translation_for
from app.web.security_headers import PageKind, route_class_for
from app.web.shopper.limits import PageLimits, TooManyVisitors
from app.web.shopper.page import MISSING, Page, page_for_later, return_page, web_address
from app.web.shopper.pay import pay_page
from app.web.shopper.qr import fits_qr_code, qr_png, qr_svg
from app.web.shopper.shop_style import render_stylesheet
from app.web.shopper.view import PaymentView, ShopView
from app.web.templates import Templates

FindPayment = Callable[[str], Awaitable[PaymentView | None]]
OnReturn = Callable[[str], Awaitable[None]]
CloseIfNotOwed = Callable[[str], Awaitable[bool]]

_ORDER_ID = re.compile(r"[A-Za-z0-9]{1,32}")
_ALTERED = re.compile(rf"({_ORDER_ID.pattern})[^A-Za-z0-9]*")
_POLL_COUNT = re.compile(r"[0-9]{1,3}")
_COLOR = re.compile(r"[0-9a-f]{6}")
_READING = ["GET", "HEAD"]  # link previews and mail scanners ask for the head first
_NO_SHOP = ShopView()
_TEMPLATES = Templates(Path(__file__).parent / "templates")

_log = structlog.stdlib.get_logger(__name__)


class _PageRoute(APIRoute):
    """A page of the shopper's. Who is turned away gets a page too, which loads by itself when there may be room."""

    page_kind = PageKind.SHOPPER

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        root = "../" * (self.path.count("/") - 1)

        async def handle_or_ask_to_wait(request: Request) -> Response:
            try:
                return await handle(request)
            except TooManyVisitors as refusal:
                polls = {name: count for name in ("w", "n") if (count := _poll_count(request, name))}
                page = page_for_later(f"?{urlencode(polls)}", refusal.retry_after)
                response = _render(page, request, status_code=refusal.status_code, root=root)
                response.headers.update(refusal.headers or {})
                return response

        return handle_or_ask_to_wait


def _render(
    page: Page, request: Request, language: str = "", *, root: str, status_code: int = 200, **values: object
) -> HTMLResponse:
    """Render a page in the language that the visitor has chosen on it, else in ``language``, else in the browser's."""
    chosen = request.query_params.get("lang", "")
    if chosen in LANGUAGES:
        page = page.keep(f"lang={chosen}")
    else:
        chosen = ""
    browser = request.headers.get("accept-language", "")
    translation = translation_for(",".join(filter(None, (chosen, language, browser))))
    names = {code: language_name(code) for code in LANGUAGES}
    html = _TEMPLATES.render(
        "page.html", translation, page=page, root=root, **{"qr": "", "shop": _NO_SHOP, "languages": names, **values}
    )
    return HTMLResponse(html, status_code)


async def _lead_on_unchecked(_order_id: str) -> bool:
    return False


def create_shopper_router(
    find: FindPayment, on_return: OnReturn, limits: PageLimits, close_if_not_owed: CloseIfNotOwed = _lead_on_unchecked
) -> APIRouter:
    """Create the router of the shopper's pages.

    `find` returns the view of an order's payment, or None. `on_return` is called for every poll of a payment whose
    outcome is still open (up to one every two seconds per page, so it should be quick and limit itself): a good moment
    for a look-up at the gateway. Its result is shown at once; its exceptions are logged and change nothing for the
    shopper. `close_if_not_owed` is called before a page leads to the gateway's page; it returns True if nobody
    should pay there any more. Like `on_return` it should be quick and limit itself. `limits` admits requests.
    """
    pages = _ShopperPages(find, on_return, close_if_not_owed)
    router = APIRouter(include_in_schema=False, dependencies=[Depends(limits)], route_class=_PageRoute)
    files = APIRouter(route_class=route_class_for(PageKind.VERSIONED_FILE))
    files.add_api_route("/pay/color/{color}.css", _stylesheet, methods=_READING)
    images = APIRouter(route_class=route_class_for(PageKind.IMAGE))
    images.add_api_route("/pay/{order_id}.svg", pages.svg, methods=_READING)
    images.add_api_route("/pay/{order_id}.png", pages.png, methods=_READING)
    router.include_router(files)
    router.include_router(images)  # before the page, whose path would match these too
    router.add_api_route("/pay/{order_id}", pages.pay, methods=_READING)
    router.add_api_route("/pay/return/{order_id}", pages.show_return_page, methods=_READING)
    router.add_api_route("/pay/return/{order_id}", _redirect_to_return_page, methods=["POST"])
    router.add_api_route("/pay/{order_id}/", _redirect_to_payment, methods=[*_READING, "POST"])
    router.add_api_route("/pay/return/{order_id}/", _redirect_from_slash, methods=[*_READING, "POST"])
    return router


@dataclass(frozen=True, slots=True)
class _ShopperPages:
    """The routes that show a payment; see ``create_shopper_router``."""

    find: FindPayment
    on_return: OnReturn
    close_if_not_owed: CloseIfNotOwed

    async def pay(self, request: Request, order_id: str) -> Response:
        view = await self._find_valid(request, order_id)
        if view is not None and view.checkout_url is None:  # it may have been paid
            view = await self._refresh(request, order_id, view)
        if view is None:
            return _not_found(request, order_id, "../")
        page = pay_page(view, waited=_poll_count(request, "w"), polls=_poll_count(request, "n"))
        qr = f"{view.order_id}.svg" if page.pay_at and fits_qr_code(page.pay_at) else ""
        return _render(page, request, view.language, root="../", qr=qr, shop=view.shop)

    async def show_return_page(self, request: Request, order_id: str) -> Response:
        view = await self._refresh(request, order_id, await self._find_valid(request, order_id))
        if view is None:
            return _not_found(request, order_id, "../../")
        page = return_page(view, _poll_count(request, "n"))
        return _render(page, request, view.language, root="../../", shop=view.shop)

    async def svg(self, request: Request, order_id: str) -> Response:
        return await self._qr_image(request, order_id, qr_svg, "image/svg+xml")

    async def png(self, request: Request, order_id: str) -> Response:
        return await self._qr_image(request, order_id, qr_png, "image/png")

    async def _qr_image(
        self, request: Request, order_id: str, draw: Callable[[str], bytes], media_type: str
    ) -> Response:
        view = await self._find_valid(request, order_id)
        checkout = web_address(view.checkout_url) if view else None
        if checkout is None:
            return PlainTextResponse("nothing to pay here", 404)
        if not fits_qr_code(checkout):
            return PlainTextResponse("the address of the payment page is too long for a QR code", 404)
        return Response(draw(checkout), media_type=media_type)

    async def _find_valid(self, request: Request, order_id: str) -> PaymentView | None:
        view = await self.find(order_id) if _ORDER_ID.fullmatch(order_id) else None
        if view is None or view.checkout_url is None or request.method == "HEAD":
            return view
        try:
            closed = await self.close_if_not_owed(order_id)
        except Exception as exc:  # noqa: BLE001 - whatever fails here, the shopper can pay
            _log.error("page.not_checked", payment=order_id, error=type(exc).__name__)
            return view
        return await self.find(order_id) if closed else view

    async def _refresh(self, request: Request, order_id: str, view: PaymentView | None) -> PaymentView | None:
        if view is None or not view.state.is_open or request.method == "HEAD":
            return view
        try:
            await self.on_return(order_id)
        except Exception as exc:  # noqa: BLE001 - whatever fails here, the shopper gets the page
            # Only its type: the message of an error deeper down may contain what no log should.
            _log.error("shopper_return.not_recorded", payment=order_id, error=type(exc).__name__)
            return view
        return await self.find(order_id)


async def _stylesheet(color: str) -> Response:
    if not _COLOR.fullmatch(color):
        return PlainTextResponse("no such colour", 404)
    return Response(render_stylesheet(f"#{color}"), media_type="text/css")


async def _redirect_to_return_page(request: Request, order_id: str) -> Response:
    """Redirect a browser that was sent back by POST to GET, so that reloading the page does not resend a form."""
    return _redirect_to_page(request, order_id, "../../")


async def _redirect_to_payment(request: Request, order_id: str) -> Response:
    return _redirect_to_page(request, order_id, "../../", above="../")


async def _redirect_from_slash(request: Request, order_id: str) -> Response:
    return _redirect_to_page(request, order_id, "../../../", above="../")


def _redirect_to_page(request: Request, order_id: str, root: str, *, above: str = "") -> Response:
    """Redirect to the page of an order whose id begins the last part of the address.

    Mail programs and messengers take what follows a link into it, such as a full stop. ``above`` leads from the
    address to the one that the page lies below.
    """
    found = _ALTERED.fullmatch(order_id)
    if found is None:
        return _render(MISSING, request, status_code=404, root=root)
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{above}{found[1]}{query}", status_code=303)  # relative: also below a proxy's path


def _not_found(request: Request, order_id: str, root: str) -> Response:
    if _ORDER_ID.fullmatch(order_id):
        return _render(MISSING, request, status_code=404, root=root)
    return _redirect_to_page(request, order_id, root)


def _poll_count(request: Request, name: str) -> int:
    """Return the number of earlier polls from the page's own query (`?n=`); anything invalid counts as 0."""
    count = request.query_params.get(name, "")
    return int(count) if _POLL_COUNT.fullmatch(count) else 0
