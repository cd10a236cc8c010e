"""A shop and a sandbox, both over real HTTP on this machine."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import httpx2
from starlette.types import Receive, Scope, Send

from gateway_client.credentials import Credentials
from gateway_client.sandbox.control import SandboxControl
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import PointOfSale, SandboxSettings
from gateway_client.signature import verify
from integration_base.exact_json import dumps, loads
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import serve_app
from integration_base_tests.programs import python_environment

POS = PointOfSale()
FINGERPRINT = dict.fromkeys(
    [
        "browserColorDepth",
        "browserScreenHeight",
        "browserScreenWidth",
        "browserJavaEnabled",
        "browserLanguage",
        "browserTimeZone",
        "browserTimeZoneOffset",
        "browserAcceptHeader",
        "browserIpAddress",
        "browserUserAgent",
    ],
    "1",
)
NO_CARD: dict[str, Any] = dict.fromkeys(("cc_number", "exp_month", "exp_year", "card_cvv"))
SUCCESS, MASTERCARD, CHALLENGE, NO_MONEY, SLOW = (
    "4242424242424242",
    "5454545454545454",
    "4000000021220001",
    "4000000040090005",
    "4000000021190006",
)


@dataclass
class Shop:
    """Receives webhooks, and answers them as scripted."""

    answers: list[int] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    webhooks: list[dict[str, Any]] = field(default_factory=list)
    forged_count: int = 0
    webhook_arrived: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0

    def __post_init__(self) -> None:
        """Open the shop; while a test closes it, no webhook is answered."""
        self.open.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive one webhook; those that are not signed correctly are only counted."""
        body = (await receive())["body"]
        self.begun += 1
        await self.open.wait()
        headers = dict(scope["headers"])
        assert headers[b"content-type"].startswith(b"application/x-www-form-urlencoded")
        status = self.answers.pop(0) if self.answers else 200
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        form = parse_qs(body.decode(), strict_parsing=True)
        (data,), (signature,) = form["data"], form["signature"]
        self.raw.append(body)
        if verify(data, signature, [POS.api_secret.get_secret_value()]):
            self.webhooks.append(loads(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))))
        else:
            self.forged_count += 1
        self.webhook_arrived.set()

    def received(self) -> list[tuple[str, str, str]]:
        """(method, status, code) of each webhook, in order of arrival."""
        return [(webhook["method"], webhook["status"], webhook["status_code"]) for webhook in self.webhooks]


class Merchant:
    """Calls the gateway interface as a shop would."""

    def __init__(self, http: httpx2.AsyncClient, shop_url: str) -> None:
        self.http = http
        self.server_url = f"{shop_url}/gateway"
        self.result_url = f"{shop_url}/thanks?cart=a%2Fb"

    async def post(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        """A POST with exact numbers."""
        headers = {"content-type": "application/json"}
        name = "project_id" if path.startswith("/streaming-report/") else "pos_id"
        return await self.http.post(path, content=dumps({name: str(POS.pos_id)} | body), headers=headers)

    def hosted_body(self, order_id: str, amount: str = "100.00") -> dict[str, Any]:
        """The body of a hosted payment."""
        return {
            "mode": "hosted",
            "method": "purchase",
            "amount": Decimal(amount),
            "currency": "UAH",
            "description": "Three mugs",
            "order_id": order_id,
            "order_3ds_bypass": "always",
            "customer_email": "ann@example.com",
            "customer_phone": "+380501234567",
            "server_url": self.server_url,
            "result_url": self.result_url,
        }

    async def pay_hosted(self, order_id: str, amount: str = "100.00", **fields: Any) -> httpx2.Response:
        """Create a hosted payment."""
        return await self.post("/api/v1/payment", self.hosted_body(order_id, amount) | fields)

    def direct_body(self, order_id: str, amount: str = "100.00", card: str = SUCCESS) -> dict[str, Any]:
        """The body of a direct payment."""
        return {
            "mode": "direct",
            "method": "purchase",
            "amount": Decimal(amount),
            "currency": "UAH",
            "description": "Three mugs",
            "order_id": order_id,
            "order_3ds_bypass": "always",
            "cc_number": card,
            "exp_month": 12,
            "exp_year": 2030,
            "card_cvv": "123",
            "customer_fname": "Ann",
            "customer_lname": "Lee",
            "customer_email": "ann@example.com",
            "customer_phone": "+380501234567",
            "customer_ip": "192.0.2.1",
            "browser_fingerprint": FINGERPRINT,
            "server_url": self.server_url,
        }

    async def pay_direct(
        self, order_id: str, amount: str = "100.00", card: str = SUCCESS, **fields: Any
    ) -> httpx2.Response:
        """Pay with a card. A field that is None is not sent."""
        body = self.direct_body(order_id, amount, card)
        wanted = {name: value for name, value in (body | fields).items() if value is not None}
        return await self.post("/api/v1/payment", wanted)

    async def operate(self, operation: str, order_id: str, **fields: Any) -> httpx2.Response:
        """Capture, void, refund, or one of the split ones (`split/refund`)."""
        currency = "currency" if operation == "split/refund" else "order_currency"
        body = {"order_id": order_id, currency: "UAH", "server_url": self.server_url}
        return await self.post(f"/api/v1/{operation}", body | fields)

    async def cancel(self, order_id: str) -> httpx2.Response:
        """Cancel an unpaid hosted payment."""
        return await self.http.post(f"/api/v1/pos/{POS.pos_id}/order/{order_id}/cancel")

    async def look(self, order_id: str, operation: str = "", **query: str) -> httpx2.Response:
        """Look an order up, or one operation of it."""
        path = f"/api/v1/pos/{POS.pos_id}/orders/{order_id}"
        return await self.http.get(f"{path}/{operation}" if operation else path, params=query)

    async def records(self, order_id: str) -> list[tuple[str, str, str | None]]:
        """(method, status, code) of each record of an order."""
        found = read_json(await self.look(order_id))
        return [(record["method"], record["status"], record["status_code"]) for record in found]


@dataclass
class Harness:
    """Everything that a test needs."""

    url: str
    clock: Clock
    sandbox: Sandbox
    control: SandboxControl
    merchant: Merchant
    shop: Shop

    @property
    def credentials(self) -> Credentials:
        """The sandbox's point of sale, for the gateway's client."""
        return Credentials(
            pos_id=str(POS.pos_id),
            api_key=POS.api_key,
            api_secret=POS.api_secret.get_secret_value(),
            endpoints_key=POS.endpoints_key.get_secret_value(),
            base_url=self.url,
        )

    async def quiet(self) -> None:
        """Wait until every webhook is delivered or abandoned."""
        assert await self.control.wait_for_webhooks()


def read_json(response: httpx2.Response, status: int = 200) -> Any:
    """The JSON of an answer, numbers exact."""
    assert response.status_code == status, response.text
    return loads(response.content)


def lines(response: httpx2.Response) -> list[Any]:
    """The JSON of an answer that holds one object per line."""
    assert response.status_code == 200, response.text
    return [loads(line) for line in response.text.splitlines()]


@contextlib.asynccontextmanager
async def open_harness(clock: Clock, **settings: Any) -> AsyncIterator[Harness]:
    """Open a sandbox that ticks only by the test's clock, a shop, and a client with the right credentials."""
    shop = Shop()
    full = {"port": 0, "seed": "a story", "clock": clock, "tick": 3600.0, "webhook_retries": (0.0, 0.01)}
    headers = {
        "x-api-auth": f"CPAY {POS.api_key}:{POS.api_secret.get_secret_value()}",
        "x-api-key": POS.endpoints_key.get_secret_value(),
    }
    async with contextlib.AsyncExitStack() as shops, contextlib.AsyncExitStack() as sandboxes:
        shop_url = await shops.enter_async_context(serve_app(shop))
        url, app = await sandboxes.enter_async_context(running_sandbox(SandboxSettings(**(full | settings))))
        async with (
            httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False) as http,
            SandboxControl(url) as control,
        ):
            try:
                yield Harness(url, clock, app.state.sandbox, control, Merchant(http, shop_url), shop)
            finally:
                shop.open.set()
        # Both need a moment to stop; they take it together.
        await asyncio.gather(shops.aclose(), sandboxes.aclose())


def environment_of(harness: Harness) -> dict[str, str]:
    """Return what a program finds in its environment: nothing but the account."""
    return {
        **python_environment(),
        "GATEWAY_BASE_URL": harness.url,
        "GATEWAY_POS_ID": str(POS.pos_id),
        "GATEWAY_API_KEY": POS.api_key,
        "GATEWAY_API_SECRET": POS.api_secret.get_secret_value(),
        "GATEWAY_ENDPOINTS_KEY": POS.endpoints_key.get_secret_value(),
    }
