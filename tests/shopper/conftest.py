"""A shop's shopper, the app's pages on a real server, and what stands behind them in these tests."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from app.web.security_headers import SecureApp
from app.web.shopper.limits import PageLimits
from app.web.shopper.router import create_shopper_router
from app.web.shopper.view import PaymentView
from app.web.static import static_files
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import serve_app

ADDRESS_HEADER = "X-Forwarded-For"


class Payments:
    """What is known of payments, what a look at the gateway would bring, and who asked."""

    def __init__(self) -> None:
        self.known: dict[str, PaymentView] = {}
        self.news: dict[str, PaymentView] = {}
        self.searched: list[str] = []
        self.returned: list[str] = []
        self.broken: Exception | None = None
        self.not_owed: set[str] = set()
        self.checked: list[str] = []

    def add(self, view: PaymentView) -> None:
        self.known[view.order_id] = view

    async def find(self, order_id: str) -> PaymentView | None:
        self.searched.append(order_id)
        return self.known.get(order_id)

    async def on_return(self, order_id: str) -> None:
        self.returned.append(order_id)
        if self.broken:
            raise self.broken
        self.known.update(self.news)

    async def close_if_not_owed(self, order_id: str) -> bool:
        self.checked.append(order_id)
        if self.broken:
            raise self.broken
        if order_id in self.not_owed:
            self.known[order_id] = replace(self.known[order_id], checkout_url=None, overdue=True)
        return order_id in self.not_owed


@pytest.fixture
def payments() -> Payments:
    return Payments()


@pytest.fixture
async def address(payments: Payments, clock: Clock) -> AsyncIterator[str]:
    app = SecureApp()
    limits = PageLimits(clock, ADDRESS_HEADER)
    app.include_router(
        create_shopper_router(payments.find, payments.on_return, limits, close_if_not_owed=payments.close_if_not_owed)
    )
    app.mount("/static", static_files())
    with_shop = FastAPI()

    @with_shop.get("/shop")
    async def shop() -> HTMLResponse:
        return HTMLResponse('<link rel="icon" href="data:,"><h1>Thank you for your order</h1>')

    with_shop.mount("/", app)
    async with serve_app(with_shop) as address:
        yield address


@pytest.fixture
async def visitor(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=address, trust_env=False) as visitor:
        yield visitor
