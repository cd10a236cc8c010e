"""The demo's shop: a storefront as small as can be, over HTTP, for browsers.

It does what ``docs/storefront.md`` tells storefronts to do: ``paymentGatewayInitialize``, ``transactionInitialize``,
send the shopper to ``checkoutUrl``, ``transactionProcess`` when they are back, ``checkoutComplete``. On one page the
storefront kit does it, in the shopper's browser.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, FastAPI, Form, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from app.saleor.testing.client import FakeSaleor
from app.saleor.testing.views import CheckoutView, CompletionView, GatewayView, NewCheckout, SessionView
from app.saleor.testing.vocabulary import Flow
from app.sandbox.control.access import only_from_here
from app.sandbox.pages.rendering import STATIC, template_environment
from app.sandbox.timeline import Timeline
from app.static import kit_tag

T = TypeVar("T")

HERE = Path(__file__).parent
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
PLACED = {"CHARGE_SUCCESS", "AUTHORIZATION_SUCCESS", "CHARGE_REQUEST", "AUTHORIZATION_REQUEST"}
Field = Annotated[str, Form()]


class Shop:
    """The shop that browsers reach at ``url``."""

    def __init__(self, url: str, saleor: FakeSaleor, timeline: Timeline, app_url: str) -> None:
        self._url = url
        self._app_url = app_url
        self._saleor = saleor
        self._timeline = timeline
        self._templates = template_environment(HERE / "templates")

    def application(self) -> FastAPI:
        """Its pages."""
        app = FastAPI(openapi_url=None)
        app.mount("/sandbox-static", StaticFiles(directory=STATIC))
        app.mount("/shop-static", StaticFiles(directory=HERE / "static"))
        app.add_api_route("/", self.front, methods=["GET"])
        app.add_api_route("/buy", self.buy, methods=["POST"], dependencies=[Depends(only_from_here)])
        app.add_api_route("/checkout", self.checkout, methods=["GET"])
        app.add_api_route("/back", self.back, methods=["GET"])
        return app

    async def front(self) -> Response:
        """What there is to buy."""
        return self._page("front.html")

    async def buy(self, way: Field = "pay", checkout: Field = "", language: Field = "EN") -> Response:
        """Fill a basket, or take one that could not be paid, and send the shopper to the payment page."""
        if way == "button":
            return await self._to_the_button(language)
        saleor, flow = self._saleor, Flow.AUTHORIZATION if way == "reserve" else Flow.CHARGE
        async with self._timeline.exchange("shopper", "shop", f"checks out ({way})") as noted:
            basket = await self._ask(
                "checkoutCreate: apple juice and delivery" if not checkout else "checkout",
                saleor.checkout(checkout) if checkout else saleor.new_checkout(NewCheckout(language_code=language)),
                lambda basket: f"{basket.total:.2f} {basket.currency} to pay",
            )
            await self._ask(
                "paymentGatewayInitialize: how can be paid?", saleor.gateway_initialize(basket.id), _offered
            )
            data = {"returnUrl": f"{self._url}/back", "qr": way == "qr"}
            session = await self._ask(
                f"transactionInitialize: {flow.value} {basket.total:.2f} {basket.currency}",
                saleor.initialize(basket.id, action=flow, data=data),
                _result,
            )
            answered = session.data if isinstance(session.data, dict) else {}
            if link := answered.get("qrUrl" if way == "qr" else "checkoutUrl"):
                noted.answer = "sent to the payment page"
                return RedirectResponse(link, 303)
            noted.answer, noted.failed = "no payment page", True
            return self._unpaid(basket, session, 502)

    async def _to_the_button(self, language: str) -> Response:
        async with self._timeline.exchange("shopper", "shop", "checks out (payment button)") as noted:
            basket = await self._ask(
                "checkoutCreate: apple juice and delivery",
                self._saleor.new_checkout(NewCheckout(language_code=language)),
                lambda basket: f"{basket.total:.2f} {basket.currency} to pay",
            )
            noted.answer = "the button is on the shop's page"
        return RedirectResponse(f"/checkout?{urlencode({'checkout': basket.id, 'language': language.lower()})}", 303)

    async def checkout(self, checkout: str, language: str = "en") -> Response:
        """The payment button: from here on the shopper's browser talks to Saleor, before the payment and after it."""
        try:
            basket = await self._saleor.checkout(checkout)
        except LookupError:  # it is an order by now, or nobody's
            return RedirectResponse("/", 303)
        page = self._page(
            "checkout.html",
            kit=kit_tag(self._app_url),
            basket=basket,
            language="uk" if language == "uk" else "en",
            api_url=self._saleor.api_url,
            return_url=f"/checkout?{urlencode({'checkout': checkout, 'language': language})}",
        )
        script, saleor = f"script-src 'self' {self._app_url}", f"connect-src {self._saleor.url}"
        policy = HEADERS["Content-Security-Policy"].replace("img-src 'self'", f"img-src 'self' {self._app_url}")
        page.headers["Content-Security-Policy"] = f"{policy}; {script}; {saleor}"
        return page

    async def back(self, transaction_id: Annotated[str, Query(alias="transactionId")]) -> Response:
        """The shopper is back from the payment page: ask how it went, and place the order."""
        saleor = self._saleor
        async with self._timeline.exchange("shopper", "shop", "is back") as noted:
            transaction = await saleor.transaction(transaction_id)
            if transaction.order_id is None:
                checkout = transaction.checkout_id or ""
                session = await self._ask("transactionProcess: how did it go?", saleor.process(transaction_id), _result)
                if session.event is None or session.event.type not in PLACED:
                    noted.answer, noted.failed = "not paid", True
                    return self._unpaid(await saleor.checkout(checkout), session)
                await self._ask("checkoutComplete: place the order", saleor.complete(checkout), _order)
                transaction = await saleor.transaction(transaction_id)
            order = await saleor.order(transaction.order_id or "")
            noted.answer = f"order {order.number}"
            return self._page("thanks.html", order=order)

    async def _ask(self, said: str, answer: Awaitable[T], words: Callable[[T], str]) -> T:
        async with self._timeline.exchange("shop", "Saleor", said) as noted:
            answered = await answer
            noted.answer = words(answered)
        return answered

    def _unpaid(self, checkout: CheckoutView, session: SessionView, status: int = 200) -> Response:
        """Tell the shopper the first of the errors that the app names, else what Saleor recorded."""
        errors = session.data.get("errors") if isinstance(session.data, dict) else None
        says = errors[0]["message"] if errors else (session.event and session.event.message) or _result(session)
        return self._page("unpaid.html", status, says=says, checkout=checkout)

    def _page(self, template: str, status: int = 200, **values: object) -> HTMLResponse:
        html = self._templates.get_template(template).render(dashboard=self._saleor.dashboard_url, **values)
        return HTMLResponse(html, status, headers=HEADERS)


def _offered(config: GatewayView) -> str:
    return ", ".join(error.message for error in config.errors) or "by this app"


def _result(session: SessionView) -> str:
    if session.event is not None:
        return session.event.type.value
    return session.internal_error or ", ".join(error.message for error in session.errors)


def _order(completed: CompletionView) -> str:
    if completed.order is None:
        return ", ".join(error.message for error in completed.errors)
    return f"order {completed.order.number}, chargeStatus {completed.order.charge_status}"
