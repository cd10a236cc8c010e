"""The reference of the gateway's client lists every call and every name, and each of its samples runs."""

import ast
import inspect
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from pydantic import SecretStr

import gateway_client
from gateway_client import (
    DIALECTS,
    DialectName,
    GatewayClient,
    GatewayError,
    NotificationError,
    RefusedError,
    SignedButUnreadableError,
    Violation,
)
from gateway_client.notification import encode
from gateway_client.signature import sign
from gateway_client_tests.contract.endpoints import calls_of_the_client
from gateway_client_tests.counterpart import PAYMENT
from gateway_client_tests.examples import GOOGLE_TOKEN
from gateway_client_tests.sandbox.harness import NO_MONEY, Harness, open_harness
from integration_base_tests.clock import Clock
from integration_base_tests.pages import DOCS, Block, backticked, blocks, rows, section

PAGE = DOCS / "gateway-client.md"
SHARES = [
    {"amount": 60, "sub_merchant_id": "5b3c1c6d-0000-4000-8000-000000000001"},
    {"amount": 40, "sub_merchant_id": "5b3c1c6d-0000-4000-8000-000000000002"},
]


def samples(heading: str) -> dict[str, str]:
    """The sample of each row of a table."""
    listed = rows(section(PAGE, heading))
    assert all(len(cells) == 3 and cells[1].endswith(".") for cells in listed)
    return {backticked(cells[0])[0]: backticked(cells[2])[0] for cells in listed}


CALLS, NAMES = samples("## Every call"), samples("## Every name")


def test_every_call_and_every_name_is_listed_once_and_no_other() -> None:
    assert sorted(CALLS) == sorted(calls_of_the_client())
    assert sorted(NAMES) == sorted(gateway_client.__all__)
    assert all(name.removeprefix("reports.").rpartition(".")[2] in sample for name, sample in {**CALLS}.items())
    without_own_name = {name for name, sample in NAMES.items() if name not in sample}
    assert {name for name in without_own_name if not name.endswith("Error")} <= {"BrowserFingerprint"}


@pytest.fixture
async def harness(clock: Clock) -> AsyncIterator[Harness]:
    async with open_harness(clock) as harness:
        for order_id in ("HELD1", "HELD2"):
            await harness.merchant.pay_direct(order_id, method="auth")
        body = harness.merchant.direct_body("SPLIT1") | {"split": SHARES}
        assert (await harness.merchant.post("/api/v1/split/purchase", body)).status_code == 200
        await harness.merchant.pay_direct("DECLINED", card=NO_MONEY)
        await harness.merchant.pay_direct("MONTHLY", init_recurring={"interval_unit": "month", "interval_count": 1})
        yield harness


@pytest.fixture
async def names(harness: Harness, http: httpx2.AsyncClient) -> dict[str, Any]:
    """What a sample may use: the library's names, and what the page has set before it."""
    credentials = harness.credentials
    client = GatewayClient(http, credentials, dialect=DIALECTS[DialectName.PUBLIC])
    [monthly] = await client.get_order("MONTHLY", timeout=15)
    assert isinstance(monthly, gateway_client.PaymentRecord)
    assert monthly.recurring is not None
    [declined] = await client.get_order("DECLINED", timeout=15)
    data = encode(PAYMENT)
    known = {name: getattr(gateway_client, name) for name in gateway_client.__all__}
    known |= {"datetime": _Now(harness.clock), "UTC": UTC, "timedelta": timedelta}
    known |= {"client": client, "http": http, "credentials": credentials, "declined": declined}
    known |= {"recurring_id": monthly.recurring.id, "charge_id": monthly.payment_id}
    known |= {
        "token_of_the_wallet": GOOGLE_TOKEN,
        "form": urlencode({"data": data, "signature": sign(data, "s")}).encode(),
    }
    [before] = [block for block in blocks("python", among=[PAGE]) if block.role == "reference"]
    await _run(before, known)
    return known


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        yield http


class _Now:
    """The sandbox's clock stands still: the samples' "now" is its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self, zone: object) -> datetime:
        assert zone is UTC
        return self._clock()


async def _run(code: Block | str, known: dict[str, Any]) -> None:
    text = code.code if isinstance(code, Block) else code
    compiled = compile(text, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    came = eval(compiled, known)  # noqa: S307 - the page's own samples
    if inspect.iscoroutine(came):
        await came


def _error(name: str) -> Exception:
    """An error of that class, as it may come."""
    kind = getattr(gateway_client, name)
    if issubclass(kind, SignedButUnreadableError):
        return SignedButUnreadableError("not a record", "e30")
    if name == "InvalidRequestError":
        return gateway_client.InvalidRequestError("amount", "above zero", "0")
    about: Mapping[str, Any] = {"method": "POST", "path": "/api/v1/refund", "order_id": "17", "code": "P-1"}
    about = {**about, "http_status": 400}
    if issubclass(kind, RefusedError):
        refused: Exception = kind("Refused", pause=3.0, violations=(Violation("amount", "too much"),), **about)
        return refused
    assert issubclass(kind, GatewayError)
    lost: GatewayError = kind("Lost") if issubclass(kind, NotificationError) else kind("Lost", **about)
    lost.said = "<h1>Blocked</h1>"
    return lost


async def test_every_sample_runs_and_the_calls_before_the_names(names: dict[str, Any]) -> None:
    for sample in CALLS.values():
        await _run(sample, names)
    assert isinstance(names["token"], SecretStr)
    assert names["lines"]
    for name, sample in NAMES.items():
        if name.endswith("Error"):
            names["error"] = _error(name)
        await _run(f"value = {sample}", names)
        assert names["value"] not in (None, [], ""), name
