"""A small Saleor to talk to, and what the SDK needs around it: a clock, a store, a key."""

import asyncio
import base64
import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from integration_base_tests.clock import Clock
from saleor_app_sdk.in_memory import MAX_PENDING_TOKENS, InMemoryInstallationStore, StoredInstallation
from saleor_app_sdk.installation import Installation

API_URL = "https://shop.example.com/graphql/"
IDENTIFIER = "gateway.payments.app"
MOST_PENDING = MAX_PENDING_TOKENS


@dataclass(frozen=True)
class Row(StoredInstallation):
    """An installation as the in-memory store keeps it. ``note`` stands for all that is not the SDK's business."""

    note: str = ""

    @property
    def pending_token(self) -> str | None:
        """The newest of them."""
        return self.pending_tokens[0] if self.pending_tokens else None


class InMemoryStore(InMemoryInstallationStore):
    """The SDK's own store, which can fail, and keeps what the SDK knows nothing of."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.broken = False
        self.heard: list[str] = []

    @property
    def rows(self) -> dict[str, Row]:
        return cast("dict[str, Row]", self.installations)

    def put(self, row: Row) -> None:
        self.rows[row.saleor_api_url] = row

    async def find(self, saleor_api_url: str) -> Row | None:
        if self.broken:
            msg = "the disk is full"
            raise OSError(msg)
        return self.rows.get(saleor_api_url)

    async def record_contact(self, installation: Installation, saleor_version: str | None) -> None:
        self.heard.append(installation.saleor_api_url)
        await super().record_contact(installation, saleor_version)

    def _change(self, saleor_api_url: str, **fields: Any) -> None:
        if self.broken:
            msg = "the disk is full"
            raise OSError(msg)
        self.rows.setdefault(saleor_api_url, Row(saleor_api_url))
        super()._change(saleor_api_url, **fields)


@dataclass
class SigningKey:
    """A Saleor's RSA key."""

    private: rsa.RSAPrivateKey
    kid: str

    @property
    def public(self) -> dict[str, Any]:
        numbers = RSAKey.import_key(self.private.public_key()).as_dict(private=False)
        return {**numbers, "kid": self.kid, "use": "sig", "alg": "RS256", "key_ops": ["verify"]}

    def sign(self, body: bytes, **header: Any) -> str:
        """Sign as Saleor does; ``header`` overrides parts of the protected header (None removes one)."""
        said = {"alg": "RS256", "b64": False, "crit": ["b64"], "kid": self.kid, "typ": "JWT"} | header
        protected = b64(json.dumps({name: value for name, value in said.items() if value is not None}).encode())
        made = self.private.sign(f"{protected}.".encode() + body, padding.PKCS1v15(), hashes.SHA256())
        return f"{protected}..{b64(made)}"


@cache
def signing_key(kid: str) -> SigningKey:
    return SigningKey(rsa.generate_private_key(65537, 2048), kid)


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass
class InstalledApp:
    """An app in a Saleor. Until it is active, its token is refused like any forged one."""

    id: str
    identifier: str = IDENTIFIER
    active: bool = True


@dataclass
class MinimalSaleor:
    """A Saleor that knows apps by token, publishes its key, and notes down who asked what at which address."""

    key: SigningKey = field(default_factory=lambda: signing_key("first"))
    apps: dict[str, InstalledApp] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    jwks: Response | None = None
    graphql: Response | None = None
    delay: float = 0
    silent_about: set[str] = field(default_factory=set)
    most_at_once: int = 0
    _now_asked: int = 0

    @property
    def key_fetches(self) -> int:
        return sum("jwks" in address for address in self.asked)

    @property
    def asgi(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/graphql/", self._graphql, methods=["POST"]),
                Route("/.well-known/jwks.json", self._jwks),
            ]
        )

    async def _graphql(self, request: Request) -> Response:
        self.asked.append(str(request.url))
        self.bodies.append(await request.body())
        self._now_asked += 1
        self.most_at_once = max(self.most_at_once, self._now_asked)
        try:
            is_silent = request.headers.get("authorization", "").removeprefix("Bearer ") in self.silent_about
            await asyncio.sleep(60 if is_silent else self.delay)
        finally:
            self._now_asked -= 1
        if self.graphql is not None:
            return self.graphql
        app = self.apps.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if app is None or not app.active:
            return JSONResponse(permission_denied("app"))
        return JSONResponse({"data": {"app": {"id": app.id, "identifier": app.identifier}}})

    async def _jwks(self, request: Request) -> Response:
        self.asked.append(str(request.url))
        for _ in range(20):  # let everybody else come as far as they can meanwhile
            await asyncio.sleep(0)
        return self.jwks or JSONResponse({"keys": [self.key.public]})


def permission_denied(path: str) -> dict[str, Any]:
    """Return what Saleor says to a token that it does not know, or not yet; with HTTP 200."""
    return {
        "errors": [
            {
                "message": "To access this path, you need one of the following permissions: AUTHENTICATED_APP",
                "path": [path],
                "extensions": {"exception": {"code": "PermissionDenied"}},
            }
        ],
        "data": {path: None},
    }


def refund_body(**changed: Any) -> dict[str, Any]:
    """Return a refund that staff requested at noon and a bit, as Saleor would send it; ``changed`` replaces parts."""
    said: dict[str, Any] = {
        "__typename": "TransactionRefundRequested",
        "issuedAt": "2026-11-21T13:00:00+00:00",
        "version": "3.23.28",
        "recipient": {"id": "QXBwOjE=", "identifier": IDENTIFIER},
        "transaction": {
            "id": "VHJhbnNhY3Rpb25JdGVtOjE=",
            "pspReference": "paid-1",
            "events": [
                {
                    "id": "VHJhbnNhY3Rpb25FdmVudDoy",
                    "type": "REFUND_REQUEST",
                    "pspReference": "",
                    "amount": {"amount": 100.1, "currency": "UAH"},
                    "idempotencyKey": "key-of-this-refund",
                    "createdAt": "2026-11-21T12:59:59+00:00",
                }
            ],
            "checkout": None,
            "order": {"id": "T3JkZXI6MQ==", "number": "23", "channel": {"slug": "uah", "currencyCode": "UAH"}},
        },
        "action": {"actionType": "REFUND", "amount": 100.1, "currency": "UAH"},
        "grantedRefund": None,
    }
    return said | changed


def initialize_body(**changed: Any) -> dict[str, Any]:
    """Return the start of a payment as Saleor would send it; ``changed`` replaces parts."""
    said: dict[str, Any] = {
        "__typename": "TransactionInitializeSession",
        "issuedAt": "2026-11-21T13:00:00+00:00",
        "version": "3.23.28",
        "recipient": {"id": "QXBwOjE=", "identifier": IDENTIFIER},
        "transaction": {"id": "VHJhbnNhY3Rpb25JdGVtOjE=", "pspReference": "", "events": []},
        "sourceObject": {
            "__typename": "Checkout",
            "id": "Q2hlY2tvdXQ6MQ==",
            "channel": {"slug": "uah", "currencyCode": "UAH"},
            "email": "taras@example.com",
        },
        "action": {"actionType": "CHARGE", "amount": 569.5, "currency": "UAH"},
        "data": {"returnUrl": "https://shop.example.com/back"},
        "merchantReference": "VHJhbnNhY3Rpb25JdGVtOjE=",
        "customerIpAddress": "127.0.0.1",
        "idempotencyKey": "key-of-this-payment",
    }
    return said | changed
