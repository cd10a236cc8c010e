"""Which call of the client asks what of the interface: the map by which cassettes are found wanting."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from re import fullmatch
from typing import Any
from urllib.parse import urlsplit

from vcr.request import Request  # type: ignore[import-untyped]  # vcrpy has no types

from gateway_client.balances import BalancesClient
from gateway_client.client import GatewayClient
from gateway_client.discovery import Discovery
from gateway_client.reports import Reports
from gateway_client.subscriptions import Subscriptions
from gateway_client.wallets import Wallets
from integration_base import exact_json

POS, STEP = "/api/v1/pos/[^/]+", "[^/]+"
GROUPS = {
    "": GatewayClient,
    "reports.": Reports,
    "balances.": BalancesClient,
    "subscriptions.": Subscriptions,
    "wallets.": Wallets,
    "discovery.": Discovery,
}


@dataclass(frozen=True)
class Endpoint:
    """One way of one call: ``part`` of the interface, and what its request looks like on a cassette.

    ``has`` are members of the body (``...`` for any value), ``lacks`` members that must not be there, ``query``
    what the address ends with.
    """

    part: str
    call: str
    verb: str
    path: str
    has: Mapping[str, Any] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    query: str = ""

    def made(self, request: Request) -> bool:
        """Whether ``request`` is this one."""
        address = urlsplit(request.uri)
        if request.method != self.verb or not fullmatch(self.path, address.path):
            return False
        body = exact_json.loads(request.body) if request.body else {}
        fits = all(name in body and value in (..., body[name]) for name, value in self.has.items())
        return (
            fits and fullmatch(self.query, address.query) is not None and not any(name in body for name in self.lacks)
        )


DIRECT, HOSTED = {"mode": "direct"}, {"mode": "hosted"}
PAYMENT, SPLIT = "/api/v1/payment", "/api/v1/split/purchase"
PURCHASE, AUTH = {"method": "purchase"}, {"method": "auth"}

ENDPOINTS = [
    Endpoint("1a", "create_direct", "POST", PAYMENT, DIRECT | PURCHASE | {"cc_number": ..., "card_cvv": ...}),
    Endpoint("1a", "create_direct", "POST", PAYMENT, DIRECT | PURCHASE | {"cc_token": ...}, lacks=("cc_number",)),
    Endpoint("1a", "create_direct", "POST", PAYMENT, DIRECT | PURCHASE | {"cryptogram": ...}, lacks=("cc_number",)),
    Endpoint("1a", "create_direct", "POST", PAYMENT, DIRECT | AUTH),
    Endpoint("1b", "create_hosted", "POST", PAYMENT, HOSTED | PURCHASE),
    Endpoint("1b", "create_hosted", "POST", PAYMENT, HOSTED | AUTH),
    Endpoint("1b", "create_hosted", "POST", PAYMENT, HOSTED, query="qr=true"),
    Endpoint("1c", "pay_out", "POST", PAYMENT, DIRECT | {"method": "credit"}),
    Endpoint("2", "create_direct", "POST", SPLIT, DIRECT | {"split": ...}),
    Endpoint("2", "create_hosted", "POST", SPLIT, HOSTED | {"split": ...}),
    Endpoint("3", "capture", "POST", "/api/v1/capture", lacks=("split",)),
    Endpoint("3", "capture", "POST", "/api/v1/split/capture", {"split": ..., "charge_amount": ...}),
    Endpoint("3", "capture", "POST", "/api/v1/split/capture", lacks=("split", "products")),
    Endpoint("4", "void", "POST", "/api/v1/void"),
    Endpoint("5", "refund", "POST", "/api/v1/refund", {"refund_amount": ...}),
    Endpoint("5", "refund", "POST", "/api/v1/refund", lacks=("refund_amount",)),
    Endpoint("6", "split_refund", "POST", "/api/v1/split/refund", {"split": ..., "currency": ...}),
    Endpoint("7", "cancel", "POST", f"{POS}/order/{STEP}/cancel"),
    Endpoint("8", "get_order", "GET", f"{POS}/orders/{STEP}"),
    Endpoint("8", "get_operation", "GET", f"{POS}/orders/{STEP}/{STEP}"),
    Endpoint("8", "subscriptions.transactions", "GET", f"{POS}/recurring/{STEP}", query="method=purchase&status=.+"),
    Endpoint("8", "reports.period", "GET", f"{POS}/transactions", query=r"startDate=\d{13}&enddate=\d{13}"),
    Endpoint("9", "resend", "GET", f"{POS}/orders/{STEP}/purchase", query="callback=true"),
    Endpoint("10", "reports.start", "POST", "/streaming-report/start", {"start_date": ..., "end_date": ...}),
    Endpoint("10", "reports.fetch", "GET", f"/streaming-report/fetch/{STEP}"),
    Endpoint("11", "balances.accounts", "GET", "/api/v1/balances/pos/[^/]+/accounts"),
    Endpoint("11", "balances.account", "GET", f"/api/v1/balances/pos/[^/]+/accounts/{STEP}"),
    Endpoint("12", "create_hosted", "POST", PAYMENT, {"init_recurring": ...}),
    Endpoint("12", "subscriptions.refund", "POST", f"{POS}/recurring/{STEP}/payments/{STEP}/refund"),
    Endpoint("12", "subscriptions.cancel", "PUT", f"/api/v1/recurring/{STEP}/cancel"),
    Endpoint("Authentication", "check_credentials", "GET", f"{POS}/orders/0"),
    Endpoint("Authentication", "refuses_other_keys", "GET", f"{POS}/orders/0"),
    Endpoint("Dialect", "discovery.capture_endpoint", "POST", "/api/v1/capture(/nowhere)?", lacks=("order_id",)),
    Endpoint("Tokens of wallets", "wallets.tokenize", "POST", "/api/v1/tokenization/tokenize", {"token": ...}),
    Endpoint("Tokens of wallets", "wallets.apple_pay_session", "POST", "/api/v1/applepay/session"),
]


def calls_of_the_client() -> Iterator[str]:
    """Every call that the client has: its public coroutines and lists."""
    for prefix, group in GROUPS.items():
        for name, member in vars(group).items():
            if not name.startswith("_") and (inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)):
                yield prefix + name
