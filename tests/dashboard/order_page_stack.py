"""The counter of a store: a Saleor and the whole app on real ports, a gateway, and staff on an order's page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from app.bootstrap import open_services, open_worker
from app.core.payment import PaymentAggregate
from app.main import create_app
from app.services import Services
from app.settings import Settings
from app.store.accounts import AccountKeys, NewAccount
from app.store.aggregates import find_attempts
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import Reply, json_reply
from integration_base_tests.loopback import serve_app as serving_app
from saleor_app_sdk.testing import FakeSaleor, NewCheckout, Serving, serving
from saleor_app_sdk.testing.views import OrderView
from saleor_app_sdk_tests.dashboard_tokens import claims
from tests.payments.fake_gateway import POS_ID, FakeGateway, operation, payment
from tests.payments.shop import SECRET

WIDGET = "/widgets/order"


@dataclass
class OrderPageStack:
    """Staff of one store, with the Dashboard open. ``app`` is the app, ``url`` where it is."""

    running: Serving
    app: FastAPI
    url: str
    services: Services
    gateway: FakeGateway
    clock: Clock
    settings: Settings
    http: httpx2.AsyncClient

    @property
    def saleor(self) -> FakeSaleor:
        """The person in front of the Saleor."""
        return self.running.saleor

    @property
    def said(self) -> dict[str, Any]:
        """What this Saleor says of a member of staff now."""
        (app,) = self.running.engine.state.apps.values()
        return claims(self.clock, iss=self.saleor.api_url, app=app.id)

    def token(self, **changed: Any) -> str:
        """Return what the Dashboard hands to the widget now."""
        return self.running.engine.state.key.token(self.said | changed)

    def form(self, order_id: str, **fields: str) -> dict[str, str]:
        """Return what the Dashboard posts into the widget's frame, with more fields."""
        usual = {"saleorApiUrl": self.saleor.api_url, "accessToken": self.token(), "appId": self.said["app"]}
        return usual | {"orderId": order_id} | fields

    async def see(self, order_id: str, path: str = "", **more: str) -> httpx2.Response:
        """Look at the widget; ``path`` is what of it, ``more`` other fields."""
        return await self.http.post(f"{WIDGET}{path}", data=self.form(order_id, **more))

    async def order(self, wanted: NewCheckout | None = None) -> OrderView:
        """Take an order by telephone: nobody has paid it."""
        return await self.saleor.create_order(wanted)

    async def payments(self, order: OrderView) -> list[PaymentAggregate]:
        """Return the app's payments of an order."""
        return await self.aggregates_of(*(await self.saleor.order(order.id)).transaction_ids)

    async def aggregates_of(self, *transaction_ids: str) -> list[PaymentAggregate]:
        """Return the app's payments of transactions."""
        installation = await self.services.installations.find(self.saleor.api_url)
        assert installation is not None
        async with self.services.database.transaction() as session:
            return [*await find_attempts(session, installation.id, source_id="", transaction_ids=transaction_ids)]

    async def link(self, order: OrderView, amount: str = "569.50", page: str = "c0ffee") -> PaymentAggregate:
        """Let staff make a link; the gateway opens a page for it."""
        self.gateway.will_answer(self.gateway.page(page))
        shown = await self.see(order.id, "/link", amount=amount)
        assert shown.status_code == 200, shown.text
        return (await self.payments(order))[-1]

    async def pays(self, aggregate: PaymentAggregate, amount: object = None) -> None:
        """Let the customer pay on the page that a link leads to."""
        record = payment(aggregate.payment.order_id, amount=amount or aggregate.payment.amount)
        self.gateway.book[aggregate.payment.order_id] = [record]
        await self.http.get(f"/pay/return/{aggregate.payment.order_id}")

    def refunds(self, aggregate: PaymentAggregate, amount: str) -> None:
        """Let the gateway take the next refund of that amount."""
        self.gateway.will_answer(json_reply(operation("refund", aggregate.payment.order_id, amount)))

    def closed(self, aggregate: PaymentAggregate) -> Reply:
        """Return the gateway's answer that a page is closed."""
        return json_reply(payment(aggregate.payment.order_id, "failure", status_code="6007"))

    async def work(self) -> None:
        """Let a worker tell Saleor everything that there is to tell."""
        async with open_worker(self.settings, self.clock) as (worker, services):
            while await worker.work_once(services):
                pass


@asynccontextmanager
async def open_order_page_stack(
    database_url: str, folder: Path, clock: Clock, gateway: FakeGateway
) -> AsyncIterator[OrderPageStack]:
    """Open a store whose channel leads to one merchant account. No worker is at work."""
    later = FastAPI()
    async with serving_app(later) as url, serving(clock=clock) as running:
        settings = Settings(database_url=database_url, data_dir=folder / "data", base_url=url, worker=False)
        app = create_app(settings, clock)
        async with app.router.lifespan_context(app), open_services(settings, clock) as services:
            later.mount("/", app)
            done = await running.saleor.install(f"{url}/api/manifest")
            assert done.status == "INSTALLED", done.message
            installation = await services.installations.find(running.saleor.api_url)
            assert installation is not None
            account = await services.accounts.add(
                NewAccount(
                    installation_id=installation.id,
                    name="Main",
                    pos_id=POS_ID,
                    base_url=gateway.url,
                    scheme_word="CPAY",
                    keys=AccountKeys(api_key="the-api-key", api_secret=SECRET, endpoints_key="the-endpoints-key"),
                    currencies=["UAH"],
                    storefront_origins=[],
                )
            )
            await services.accounts.map_channel("uah", account.id)
            async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
                yield OrderPageStack(running, app, url, services, gateway, clock, settings, http)
