"""Compares the cost of one call through ``GatewayClient`` with that of the bare HTTP library.

Both send the same requests to the same server over the same kind of connections, in alternating rounds, so that a busy
machine slows both. The bare call is how one would do it without this client: ``httpx2`` with a dictionary, then
``response.json()``; it has no exact numbers, no models, no total deadline and no classification of errors. Building
the request is part of the client's cost.

    python -m bench.gateway_client [--rounds 40] [--calls 100]
"""

import argparse
import asyncio
import platform
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2

from bench.loopback import ORDER_ID, POS_ID, neighbour
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.models import BrowserFingerprint, DirectPayment, Refund

Act = Callable[[], Awaitable[object]]


@dataclass
class Cost:
    """Medians over the rounds, in microseconds per call: wall clock, and processor time of this process."""

    clock: float
    processor: float


@dataclass
class Pair:
    """One call done in both ways."""

    name: str
    client: Act
    bare: Act


CUSTOMER = {
    "customer_email": "olena@example.com",
    "customer_phone": "+380501234567",
    "customer_fname": "Olena",
    "customer_lname": "Kovalenko",
    "customer_ip": "192.0.2.7",
}
BROWSER = {
    "browserColorDepth": "24",
    "browserScreenHeight": "1080",
    "browserScreenWidth": "1920",
    "browserJavaEnabled": "false",
    "browserLanguage": "uk",
    "browserTimeZone": "Europe/Kyiv",
    "browserTimeZoneOffset": "-120",
    "browserAcceptHeader": "*/*",
    "browserIpAddress": "192.0.2.7",
    "browserUserAgent": "Mozilla/5.0",
}
CARD = {"cc_number": "4242424242424242", "exp_month": 12, "exp_year": 2030, "card_cvv": "123"}


def pairs(client: GatewayClient, http: httpx2.AsyncClient, keys: Credentials) -> list[Pair]:
    """A look-up, the smallest request with a body, and the largest."""
    headers = {"Accept": "application/json", **keys.headers(with_endpoints_key=True)}

    async def get(path: str) -> object:
        response = await http.get(keys.base_url + path, headers=headers, timeout=8)
        return response.raise_for_status().json()

    async def post(path: str, body: dict[str, Any]) -> object:
        response = await http.post(keys.base_url + path, json={"pos_id": POS_ID} | body, headers=headers, timeout=8)
        return response.raise_for_status().json()

    def look_up() -> Awaitable[object]:
        return client.get_order(ORDER_ID, timeout=8)

    def look_up_bare() -> Awaitable[object]:
        return get(f"/api/v1/pos/{POS_ID}/orders/{ORDER_ID}")

    def refund() -> Awaitable[object]:
        return client.refund(Refund(order_id=ORDER_ID, order_currency="UAH", refund_amount=Decimal(500)), timeout=8)

    def refund_bare() -> Awaitable[object]:
        return post("/api/v1/refund", {"order_id": ORDER_ID, "order_currency": "UAH", "refund_amount": 500})

    order: dict[str, Any] = {"order_id": ORDER_ID, "currency": "UAH", "description": "Order 1"}

    def pay() -> Awaitable[object]:
        fingerprint = BrowserFingerprint.model_validate(BROWSER)
        payment = DirectPayment(amount=Decimal(1500), browser_fingerprint=fingerprint, **order, **CUSTOMER, **CARD)
        return client.create_direct(payment, timeout=8)

    def pay_bare() -> Awaitable[object]:
        kind = {"mode": "direct", "method": "purchase", "amount": 1500, "order_3ds_bypass": "supported"}
        return post("/api/v1/payment", kind | order | CUSTOMER | CARD | {"browser_fingerprint": BROWSER})

    return [
        Pair("look-up of an order", look_up, look_up_bare),
        Pair("refund", refund, refund_bare),
        Pair("payment with a card", pay, pay_bare),
    ]


async def measure_round(act: Act, calls: int) -> Cost:
    """Measure one round of one way."""
    clock, processor = time.perf_counter(), time.process_time()
    for _ in range(calls):
        await act()
    return Cost((time.perf_counter() - clock) / calls * 1e6, (time.process_time() - processor) / calls * 1e6)


async def compare(pair: Pair, rounds: int, calls: int) -> tuple[Cost, Cost]:
    """Measure both ways, alternating; the first round of each is not counted."""
    ours, bare = [], []
    for number in range(rounds + 1):
        one, other = await measure_round(pair.client, calls), await measure_round(pair.bare, calls)
        if number:
            ours.append(one)
            bare.append(other)
    return _median(ours), _median(bare)


def _median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(c.clock for c in costs), statistics.median(c.processor for c in costs))


async def main(rounds: int, calls: int) -> None:
    """Measure and print."""
    with neighbour() as url:
        keys = Credentials(POS_ID, "key", "secret", "endpoints-key", url)
        async with httpx2.AsyncClient(trust_env=False) as own, httpx2.AsyncClient(trust_env=False) as http:
            print(
                f"{rounds} rounds of {calls} calls each, Python {platform.python_version()}, one call in microseconds"
            )
            columns = f"{'client':>10}{'bare':>10}{'ratio':>8}"
            print(f"{'':22}{columns}{'  processor:':12}{columns}")
            for pair in pairs(GatewayClient(own, keys), http, keys):
                ours, bare = await compare(pair, rounds, calls)
                clock = f"{ours.clock:10.0f}{bare.clock:10.0f}{ours.clock / bare.clock:8.2f}"
                processor = f"{ours.processor:10.0f}{bare.processor:10.0f}{ours.processor / bare.processor:8.2f}"
                print(f"{pair.name:22}{clock}{'':12}{processor}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=100)
    asked = parser.parse_args()
    asyncio.run(main(asked.rounds, asked.calls))
