"""The demo's shop: a minimal storefront over HTTP, for browsers.

It does what ``docs/storefront.md`` requires of storefronts: ``paymentGatewayInitialize``, ``transactionInitialize``,
send the shopper to ``checkoutUrl``, ``transactionProcess`` when they return, ``checkoutComplete``. On one page the
storefront kit does this, in the shopper's browser.
"""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, FastAPI, Form, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from app.demo.shop.texts import TEXTS
from app.demo.timeline import Timeline
from app.i18n.messages import Money
from app.i18n.translation import translation
from app.web.static import kit_tag
from gateway_client.sandbox.control.access import reject_cross_site
from gateway_client.sandbox.pages.rendering import STATIC, template_environment
from saleor_app_sdk.testing.client import FakeSaleor
from saleor_app_sdk.testing.views import CheckoutView, CompletionView, GatewayView, NewCheckout, SessionView
from saleor_app_sdk.testing.vocabulary import Flow

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
OLENA = "VXNlcjox"
"""The customer who is signed in where the payment button is."""
PART = "200.00"


class Shop:
    """The shop that browsers reach at ``url``."""

    def __init__(self, url: str, saleor: FakeSaleor, timeline: Timeline, app_url: str) -> None:
        self._url = url
        self._app_url = app_url
        self._saleor = saleor
        self._timeline = timeline
        self._templates = template_environment(HERE / "templates")

    def application(self) -> FastAPI:
        """Return the application that serves the shop's pages."""
        app = FastAPI(openapi_url=None)
        app.mount("/sandbox-static", StaticFiles(directory=STATIC))
        app.mount("/shop-static", StaticFiles(directory=HERE / "static"))
        app.add_api_route("/", self.front, methods=["GET"])
        app.add_api_route("/buy", self.buy, methods=["POST"], dependencies=[Depends(reject_cross_site)])
        app.add_api_route("/checkout", self.checkout, methods=["GET"])
        app.add_api_route("/back", self.back, methods=["GET"])
        return app

    async def front(self) -> Response:
        """Return the front page, with the product."""
        return self._page("front.html")

    async def buy(self, way: Field = "pay", checkout: Field = "", language: Field = "EN") -> Response:
        """Fill a basket, or reuse one whose payment failed, and redirect the shopper to the payment page."""
        if way == "button":
            return await self._redirect_to_button(language)
        saleor, flow = self._saleor, Flow.AUTHORIZATION if way == "reserve" else Flow.CHARGE
        async with self._timeline.record("shopper", "shop", f"checks out ({way})") as exchange:
            basket = await self._call_saleor(
                "checkoutCreate: apple juice and delivery" if not checkout else "checkout",
                saleor.checkout(checkout) if checkout else saleor.create_checkout(NewCheckout(language_code=language)),
                lambda basket: f"{Money(basket.total, basket.currency)} to pay",
            )
            await self._call_saleor(
                "paymentGatewayInitialize: how can be paid?", saleor.gateway_initialize(basket.id), _describe_gateway
            )
            request_data = {"returnUrl": f"{self._url}/back", "qr": way == "qr"}
            session = await self._call_saleor(
                f"transactionInitialize: {flow.value} {Money(basket.total, basket.currency)}",
                saleor.initialize(basket.id, action=flow, data=request_data),
                _describe_session,
            )
            data = session.data if isinstance(session.data, dict) else {}
            if link := data.get("qrUrl" if way == "qr" else "checkoutUrl"):
                exchange.response = "sent to the payment page"
                return RedirectResponse(link, 303)
            exchange.response, exchange.failed = "no payment page", True
            return self._unpaid_page(basket, session, 502)

    async def _redirect_to_button(self, language: str) -> Response:
        async with self._timeline.record("shopper", "shop", "checks out (payment button)") as exchange:
            basket = await self._call_saleor(
                "checkoutCreate: apple juice and delivery",
                self._saleor.create_checkout(NewCheckout(language_code=language, user={"id": OLENA})),
                lambda basket: f"{Money(basket.total, basket.currency)} to pay",
            )
            exchange.response = "the button is on the shop's page"
        return RedirectResponse(f"/checkout?{urlencode({'checkout': basket.id, 'language': language.lower()})}", 303)

    async def checkout(self, checkout: str, language: str = "en", amount: str = "") -> Response:
        """Return the page with the payment button: from here on the shopper's browser calls Saleor itself.

        It does so before the payment and after it.
        """
        try:
            basket = await self._saleor.checkout(checkout)
        except LookupError:  # it has become an order, or does not exist
            return RedirectResponse("/", 303)
        language = "uk" if language == "uk" else "en"
        formats = translation(language)
        here = f"/checkout?{urlencode({'checkout': checkout, 'language': language})}"
        page = self._page(
            "checkout.html",
            kit=kit_tag(self._app_url),
            basket=basket,
            language=language,
            total=formats.money(basket.total, basket.currency),
            part_of_it=formats.money(Decimal(PART), basket.currency),
            api_url=self._saleor.api_url,
            here=here,
            return_url=f"{here}&amount={PART}" if amount else here,
            part=PART,
            amount=PART if amount else "",
            token=await self._saleor.customer_token(OLENA),
        )
        script, saleor = f"script-src 'self' {self._app_url}", f"connect-src {self._saleor.url}"
        policy = HEADERS["Content-Security-Policy"].replace("img-src 'self'", f"img-src 'self' {self._app_url}")
        page.headers["Content-Security-Policy"] = f"{policy}; {script}; {saleor}"
        return page

    async def back(self, transaction_id: Annotated[str, Query(alias="transactionId")]) -> Response:
        """Process the transaction of a shopper who returns from the payment page, and place the order."""
        saleor = self._saleor
        async with self._timeline.record("shopper", "shop", "is back") as exchange:
            transaction = await saleor.transaction(transaction_id)
            if transaction.order_id is None:
                checkout = transaction.checkout_id or ""
                session = await self._call_saleor(
                    "transactionProcess: how did it go?", saleor.process(transaction_id), _describe_session
                )
                if session.event is None or session.event.type not in PLACED:
                    exchange.response, exchange.failed = "not paid", True
                    return self._unpaid_page(await saleor.checkout(checkout), session)
                await self._call_saleor(
                    "checkoutComplete: place the order", saleor.complete(checkout), _describe_completion
                )
                transaction = await saleor.transaction(transaction_id)
            order = await saleor.order(transaction.order_id or "")
            exchange.response = f"order {order.number}"
            return self._page("thanks.html", order=order)

    async def _call_saleor(self, request: str, call: Awaitable[T], describe: Callable[[T], str]) -> T:
        async with self._timeline.record("shop", "Saleor", request) as exchange:
            result = await call
            exchange.response = describe(result)
        return result

    def _unpaid_page(self, checkout: CheckoutView, session: SessionView, status: int = 200) -> Response:
        """Return a page with the first of the app's errors, or else with what Saleor recorded."""
        errors = session.data.get("errors") if isinstance(session.data, dict) else None
        says = (
            errors[0]["message"] if errors else (session.event and session.event.message) or _describe_session(session)
        )
        return self._page("unpaid.html", status, says=says, checkout=checkout)

    def _page(self, template: str, status: int = 200, *, language: str = "en", **values: object) -> HTMLResponse:
        html = self._templates.get_template(template).render(
            dashboard=self._saleor.dashboard_url, language=language, words=TEXTS[language], **values
        )
        return HTMLResponse(html, status, headers=HEADERS)


def _describe_gateway(config: GatewayView) -> str:
    return ", ".join(error.message for error in config.errors) or "by this app"


def _describe_session(session: SessionView) -> str:
    if session.event is not None:
        return session.event.type.value
    return session.internal_error or ", ".join(error.message for error in session.errors)


def _describe_completion(completed: CompletionView) -> str:
    if completed.order is None:
        return ", ".join(error.message for error in completed.errors)
    return f"order {completed.order.number}, chargeStatus {completed.order.charge_status}"
