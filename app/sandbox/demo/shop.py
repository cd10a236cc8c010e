"""The demo's shop: a storefront as small as can be, over HTTP, for browsers.

It does what ``docs/storefront.md`` tells storefronts to do: ``paymentGatewayInitialize``, ``transactionInitialize``,
send the shopper to ``checkoutUrl``, ``transactionProcess`` when they are back, ``checkoutComplete``. Its staff use the
played Saleor's Dashboard.
"""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Form, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.saleor.testing.client import FakeSaleor
from app.saleor.testing.views import CheckoutView, NewCheckout, SessionView, TransactionView
from app.saleor.testing.vocabulary import Flow
from app.sandbox.control.access import only_from_here
from app.sandbox.demo.telling import Exchange, Party
from app.sandbox.demo.watching import Watcher
from app.sandbox.pages.rendering import STATIC

_HERE = Path(__file__).parent
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PAID = {"CHARGE_SUCCESS", "AUTHORIZATION_SUCCESS"}
_UNDER_WAY = {"CHARGE_REQUEST", "AUTHORIZATION_REQUEST"}
_TO_PAY = {"CHARGE_ACTION_REQUIRED", "AUTHORIZATION_ACTION_REQUIRED"}
_Field = Annotated[str, Form()]


def create_shop(url: str, saleor: FakeSaleor, watcher: Watcher) -> FastAPI:
    """The shop that browsers reach at ``url``."""
    shop = _Shop(url, saleor, watcher)
    app = FastAPI(openapi_url=None)
    app.mount("/sandbox-static", StaticFiles(directory=STATIC))
    app.mount("/shop-static", StaticFiles(directory=_HERE / "static"))
    app.add_api_route("/", shop.front, methods=["GET"])
    app.add_api_route("/buy", shop.buy, methods=["POST"], dependencies=[Depends(only_from_here)])
    app.add_api_route("/back", shop.back, methods=["GET"])
    return app


class _Shop:
    def __init__(self, url: str, saleor: FakeSaleor, watcher: Watcher) -> None:
        self._url = url
        self._saleor = saleor
        self._watcher = watcher
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    async def front(self) -> Response:
        """What there is to buy."""
        return self._page("front.html")

    async def buy(self, way: _Field = "pay", checkout: _Field = "", language: _Field = "EN") -> Response:
        """Fill a basket, or take one that could not be paid, and send the shopper to the payment page."""
        flow = Flow.AUTHORIZATION if way == "reserve" else Flow.CHARGE
        async with self._watcher.exchange(Party.SHOPPER, Party.SHOP, f"checks out ({way})") as noted:
            basket = await self._basket(checkout, language)
            session = await self._begin(basket, flow, {"returnUrl": f"{self._url}/back", "qr": way == "qr"})
            data = session.data if isinstance(session.data, dict) else {}
            link = data.get("qrUrl") if way == "qr" else data.get("checkoutUrl")
            if link:
                noted.answer = "sent to the payment page"
                return RedirectResponse(link, 303)
            noted.answer, noted.failed = "no payment page", True
            return self._page("unpaid.html", 502, says=_why(session), checkout=basket)

    async def back(self, transaction_id: Annotated[str, Query(alias="transactionId")]) -> Response:
        """The shopper is back from the payment page: ask how it went, and place the order."""
        async with self._watcher.exchange(Party.SHOPPER, Party.SHOP, "is back") as noted:
            transaction = await self._saleor.transaction(transaction_id)
            if transaction.order_id is None:
                async with self._to_saleor("transactionProcess: how did it go?") as asked:
                    session = await self._saleor.process(transaction_id)
                    asked.answer = _result(session)
                if session.event is None or session.event.type not in _PAID | _UNDER_WAY:
                    noted.answer, noted.failed = "not paid", True
                    return await self._unpaid(transaction, session)
                await self._complete(transaction.checkout_id or "")
                transaction = await self._saleor.transaction(transaction_id)
            order = await self._saleor.order(transaction.order_id or "")
            noted.answer = f"order {order.number}"
            return self._page("thanks.html", order=order, transaction=transaction)

    async def _basket(self, checkout: str, language: str) -> CheckoutView:
        if checkout:
            return await self._saleor.checkout(checkout)
        async with self._to_saleor("checkoutCreate: apple juice and delivery") as asked:
            basket = await self._saleor.new_checkout(NewCheckout(language_code=language))
            asked.answer = f"{basket.total:.2f} {basket.currency} to pay"
        return basket

    async def _begin(self, basket: CheckoutView, flow: Flow, data: dict[str, Any]) -> SessionView:
        async with self._to_saleor("paymentGatewayInitialize: how can be paid?") as asked:
            config = await self._saleor.gateway_initialize(basket.id)
            asked.answer = ", ".join(error.message for error in config.errors) or "by this app"
            asked.failed = bool(config.errors)
        how = "reserve" if flow is Flow.AUTHORIZATION else "charge"
        words = f"transactionInitialize: {how} {basket.total:.2f} {basket.currency}"
        async with self._to_saleor(words) as asked:
            session = await self._saleor.initialize(basket.id, action=flow, data=data)
            asked.answer = _result(session)
            asked.failed = session.event is None or session.event.type not in _TO_PAY
        return session

    async def _complete(self, checkout_id: str) -> None:
        async with self._to_saleor("checkoutComplete: place the order") as asked:
            completed = await self._saleor.complete(checkout_id)
            if completed.order is None:
                asked.answer, asked.failed = ", ".join(error.message for error in completed.errors), True
                raise LookupError(asked.answer)
            order = completed.order
            asked.answer = (
                f"order {order.number}: chargeStatus {order.charge_status}, authorizeStatus {order.authorize_status}"
            )

    async def _unpaid(self, transaction: TransactionView, session: SessionView) -> Response:
        checkout = await self._saleor.checkout(transaction.checkout_id or "")
        return self._page("unpaid.html", says=_why(session), checkout=checkout)

    def _to_saleor(self, said: str) -> AbstractAsyncContextManager[Exchange]:
        return self._watcher.exchange(Party.SHOP, Party.SALEOR, said)

    def _page(self, template: str, status: int = 200, **values: object) -> HTMLResponse:
        html = self._templates.get_template(template).render(dashboard=self._saleor.dashboard_url, **values)
        return HTMLResponse(html, status, headers=_HEADERS)


def _result(session: SessionView) -> str:
    if session.event is not None:
        return session.event.type.value
    return session.internal_error or ", ".join(error.message for error in session.errors)


def _why(session: SessionView) -> str:
    """What a shopper is told: the first of the errors that the app names, else what Saleor recorded."""
    errors = session.data.get("errors") if isinstance(session.data, dict) else None
    if errors:
        return str(errors[0]["message"])
    return (session.event.message if session.event else "") or _result(session)
