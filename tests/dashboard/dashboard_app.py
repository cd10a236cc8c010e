"""The office of a store: its staff, with Saleor's tokens, at the app's pages; and another store next door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from fastapi import APIRouter, FastAPI

from app.core.payment import Payment
from app.ops.doctor.deployment import Deployment
from app.services import Services
from app.store.accounts import AccountKeys, NewAccount
from app.store.tables import MerchantAccount
from app.web.dashboard.deep_link import find_deep_link
from app.web.dashboard.order.widget import OrderWidget
from app.web.dashboard.router import create_dashboard_router
from app.web.dashboard.routes import create_parts
from app.web.security_headers import SecureApp
from app.web.static import static_files
from saleor_app_sdk.dashboard_token import DashboardTokens
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.keyring import Keyring
from saleor_app_sdk_tests.dashboard_tokens import claims, jwt
from saleor_app_sdk_tests.fake_saleor import MinimalSaleor, SigningKey, signing_key
from saleor_app_sdk_tests.served_app import MANIFEST
from tests.commands.books import store_payment
from tests.payments.shop import SALEOR, Shop

OTHER_STORE = "https://next-door.example.com/graphql/"


@dataclass
class StaffClient:
    """Staff of the shop. ``parts`` and ``widget`` are routes, ``app`` is the app with all its pages, below ``base``."""

    shop: Shop
    key: SigningKey
    parts: tuple[APIRouter, ...]
    widget: APIRouter
    app: FastAPI
    http: httpx2.AsyncClient
    saleor: MinimalSaleor
    permissions: tuple[str, ...] = ("HANDLE_PAYMENTS", "MANAGE_ORDERS")

    @property
    def services(self) -> Services:
        """The desk of the shop."""
        return self.shop.services

    def token(self, **changed: Any) -> str:
        """Return what the Dashboard hands to the page now."""
        return jwt(self.key, claims(self.shop.clock, **({"user_permissions": [*self.permissions]} | changed)))

    def headers(self, token: str | None = None, saleor: str = SALEOR, **more: str) -> dict[str, str]:
        """Return the headers that the page's script sends."""
        token = self.token() if token is None else token
        return {"Authorization": f"Bearer {token}", "Saleor-Api-Url": saleor, **more}

    async def see(self, path: str, **more: str) -> httpx2.Response:
        """Look at a part; ``more`` headers."""
        return await self.http.get(f"/parts{path}", headers=self.headers(**more))

    async def do(self, path: str, **fields: str) -> httpx2.Response:
        """Submit a form; a field's name is said with _ for the point."""
        said = {name.replace("from_", "from."): text for name, text in fields.items()}
        return await self.http.post(f"/parts{path}", headers=self.headers(), data=said)

    async def payment(self, number: int, **different: Any) -> Payment:
        """Keep a payment of the shop; the ``number`` makes its names."""
        return await store_payment(self.services, self.shop.account, **names(number), **different)


def names(number: int) -> dict[str, Any]:
    """Return the names of a made-up payment."""
    return {"transaction_id": f"transaction-{number}", "order_id": f"{number:032x}", "order_number": str(1000 + number)}


@asynccontextmanager
async def open_staff_client(shop: Shop, *, base: str = "") -> AsyncIterator[StaffClient]:
    """Give the office of a shop whose Saleor's keys are known."""
    saleor = MinimalSaleor(signing_key("first"))
    await shop.services.installations.save_jwks(SALEOR, {"keys": [saleor.key.public]}, shop.clock())
    installations = shop.services.installations
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(saleor.asgi)) as to_saleor:
        tokens = DashboardTokens(installations, Keyring(installations, to_saleor, shop.clock), shop.clock)
        client = SaleorClient(to_saleor, Documents(MANIFEST / "operations"))
        deployment = Deployment(
            base_url="http://app.test",
            iframe_base_url=None,
            database_url="",
            key_file=Path("/nowhere"),
            app_id="gateway.payments.app",
            own_http=to_saleor,
            saleor_http=to_saleor,
            saleor=client,
            now=shop.clock,
        )
        parts = create_parts(
            shop.services,
            tokens,
            client,
            deployment=deployment,
            manifest_for=lambda _: {},
            app_name="Saleor Gateway",
            base=base,
        )
        app = SecureApp(redirect_slashes=False)
        dashboard = create_dashboard_router(
            app_name="Saleor Gateway", app_version="1", base=base, find_deep_link=partial(find_deep_link, installations)
        )
        widget = OrderWidget(shop.services, shop.saleor, tokens, app_name="Saleor Gateway", base=base).router()
        for a_p_i_router in (dashboard, *parts, widget):
            app.router.routes.extend(a_p_i_router.routes)  # as they are: FastAPI would read included ones a second time
        app.mount("/static", static_files())
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app.test") as http:
            yield StaffClient(shop, saleor.key, parts, widget, app, http, saleor)


async def other_store(shop: Shop) -> MerchantAccount:
    """Install the app in another store with the same keys, as one Saleor Cloud might have; return its account."""
    await shop.services.installations.save(
        saleor_api_url=OTHER_STORE,
        saleor_domain="next-door.example.com",
        schema_version="3.23",
        app_id="QXBwOjE=",
        token="another-token",
        jwks={"keys": [signing_key("first").public]},
    )
    installed = await shop.services.installations.find(OTHER_STORE)
    assert installed is not None
    keys = AccountKeys(api_key="other-key", api_secret="other-secret", endpoints_key="other-endpoints")
    return await shop.services.accounts.add(
        NewAccount(
            installation_id=installed.id,
            name="Next door",
            pos_id="another-pos",
            base_url="http://127.0.0.1:9",
            scheme_word="CPAY",
            keys=keys,
            currencies=["UAH"],
            storefront_origins=[],
        )
    )
