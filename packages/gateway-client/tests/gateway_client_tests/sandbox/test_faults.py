"""A broken network, to order: what a shop's client sees, and what really happened at the gateway."""

import asyncio

import httpx2
import pytest
from pydantic import ValidationError

from gateway_client.sandbox.application import create_sandbox
from gateway_client.sandbox.faults import MOVED_TO, CallDroppedError
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.settings import SandboxSettings
from gateway_client_tests.sandbox.harness import Harness, read_json
from integration_base_tests.waiting import eventually


@pytest.mark.parametrize(("moment", "paid"), [("before", False), ("after", True)])
async def test_a_dropped_connection_is_no_answer(harness: Harness, moment: str, paid: bool) -> None:
    await harness.control.fault(FaultRule.model_validate({"effect": "drop", "moment": moment}))
    with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
        await harness.merchant.pay_direct("mugs")
    assert (await harness.merchant.look("mugs")).status_code == (200 if paid else 404)


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_answer_cut_in_the_middle(harness: Harness, moment: str) -> None:
    await harness.control.fault(FaultRule.model_validate({"effect": "truncate", "moment": moment}))
    with pytest.raises(httpx2.RemoteProtocolError):
        await harness.merchant.pay_direct("mugs")


@pytest.mark.parametrize(("moment", "paid"), [("before", False), ("after", True)])
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_error_whatever_was_done(harness: Harness, moment: str, paid: bool, status: int) -> None:
    rule = {"effect": "status", "moment": moment, "status": status, "headers": {"Retry-After": "3"}}
    await harness.control.fault(FaultRule.model_validate(rule))
    answer = await harness.merchant.pay_direct("mugs")
    assert answer.status_code == status
    assert answer.headers["retry-after"] == "3"
    assert (await harness.merchant.look("mugs")).status_code == (200 if paid else 404)


async def test_garbage_is_no_json(harness: Harness) -> None:
    await harness.control.fault(FaultRule(effect="garbage"))
    answer = await harness.merchant.pay_direct("mugs")
    assert answer.status_code == 200
    with pytest.raises(ValueError, match=r"JSON|Unterminated|Expecting"):
        answer.json()
    await harness.control.fault(FaultRule(effect="garbage", body="<html>maintenance</html>"))
    assert (await harness.merchant.pay_direct("more")).text == "<html>maintenance</html>"


@pytest.mark.parametrize(("moment", "paid"), [("before", False), ("after", True)])
async def test_an_answer_that_comes_too_late(harness: Harness, moment: str, paid: bool) -> None:
    await harness.control.fault(FaultRule.model_validate({"effect": "latency", "moment": moment, "seconds": 600}))
    harness.merchant.http.timeout = httpx2.Timeout(60, read=0.1)
    with pytest.raises(httpx2.ReadTimeout):
        await harness.merchant.pay_direct("mugs")
    harness.merchant.http.timeout = httpx2.Timeout(60)
    assert (await harness.merchant.look("mugs")).status_code == (200 if paid else 404)
    await harness.control.clear_rules()


async def begin_a_slow_call(harness: Harness) -> asyncio.Task[httpx2.Response]:
    """Begin to pay; ten minutes later the gateway would begin to work."""
    await harness.control.fault(FaultRule(effect="latency", seconds=600))
    paying = asyncio.create_task(harness.merchant.pay_direct("mugs"))
    await eventually(harness.control.calls)
    return paying


async def test_a_delay_ends_when_the_rules_are_cleared(harness: Harness) -> None:
    paying = await begin_a_slow_call(harness)
    await harness.control.clear_rules()
    assert read_json(await paying)["status"] == "success"


async def test_what_is_delayed_when_all_is_cleared_is_never_done(harness: Harness) -> None:
    """It was meant for the world before; whoever begins a new one finds nothing in it."""
    paying = await begin_a_slow_call(harness)
    await harness.control.reset()
    with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
        await paying
    assert await harness.control.payments() == []


async def test_latency_alone_changes_nothing(harness: Harness) -> None:
    await harness.control.fault(FaultRule(effect="latency", seconds=0.01))
    await harness.control.fault(FaultRule(effect="latency", seconds=0.01, moment="after"))
    read_json(await harness.merchant.pay_direct("a"))
    read_json(await harness.merchant.pay_direct("b"))


async def test_rules_are_for_the_calls_they_name_and_are_used_up(harness: Harness) -> None:
    await harness.control.fault(FaultRule(effect="status", order_id="chosen", http_method="POST"))
    await harness.control.fault(FaultRule(effect="status", path="/api/v1/void", times=2))
    await harness.control.fault(FaultRule(effect="status", order_id="looked", http_method="GET"))
    await harness.control.fault(FaultRule(effect="status", order_id="cancelled"))

    assert (await harness.merchant.pay_hosted("other")).status_code == 303
    assert (await harness.merchant.pay_hosted("chosen")).status_code == 500
    assert (await harness.merchant.pay_hosted("chosen")).status_code == 303
    for expected in (500, 500, 400):
        assert (await harness.merchant.operate("void", "chosen")).status_code == expected
    for expected in (500, 404):
        assert (await harness.merchant.look("looked")).status_code == expected
    for expected in (500, 404):
        assert (await harness.merchant.cancel("cancelled")).status_code == expected


async def test_the_payers_pages_are_spared_unless_named(harness: Harness) -> None:
    location = (await harness.merchant.pay_hosted("mugs")).headers["location"]
    await harness.control.fault(FaultRule(effect="status", status=503))
    assert (await harness.merchant.http.get(location)).status_code == 200
    await harness.control.fault(FaultRule(effect="status", status=503, path="/api/v1/checkout/*"))
    assert (await harness.merchant.http.get(location)).status_code == 503


async def test_without_a_server_of_ours_a_dropped_call_ends_all_the_same() -> None:
    app = create_sandbox(SandboxSettings())
    app.state.sandbox.rules.faults.append(FaultRule(effect="drop"))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://sandbox.test") as http:
        with pytest.raises(CallDroppedError):
            await http.get("/api/v1/pos/1/orders/0")


@pytest.mark.parametrize(
    ("status", "wording", "media_type", "body"),
    [
        (403, "html", "text/html", b"<html>"),
        (400, "empty", "text/plain", b""),
        (404, "other", "application/json", b'{"message":"no Route matched with those values"}'),
        (400, "gateway", "application/json", b'{"message":"Scripted answer","args":{"code":"P-400"}}'),
        (400, "record", "application/json", b'{"operation_id":'),
    ],
)
async def test_a_refusal_that_is_not_the_gateways_after_a_refund_that_was_made(
    harness: Harness, status: int, wording: str, media_type: str, body: bytes
) -> None:
    await harness.merchant.pay_direct("mugs")
    rule = {"effect": "status", "moment": "after", "status": status, "wording": wording}
    await harness.control.fault(FaultRule.model_validate(rule))
    answer = await harness.merchant.operate("refund", "mugs")
    assert (answer.status_code, answer.headers["content-type"]) == (status, media_type)
    assert answer.content.startswith(body)
    assert bool(answer.content) is bool(body)
    if wording == "record":
        assert answer.json()["status"] == "success"
    assert (await harness.merchant.records("mugs"))[-1] == ("refund", "success", "1004")


async def test_a_host_that_has_moved_says_where_to(harness: Harness) -> None:
    await harness.control.fault(FaultRule(effect="status", status=307, wording="empty"))
    answer = await harness.merchant.post("/api/v1/payment?qr=true", harness.merchant.hosted_body("mugs"))
    assert (answer.status_code, answer.content) == (307, b"")
    assert answer.headers["location"] == f"{MOVED_TO}/api/v1/payment?qr=true"
    assert (await harness.merchant.look("mugs")).status_code == 404
    elsewhere = {"Location": "https://other.test/"}
    await harness.control.fault(FaultRule(effect="status", status=301, headers=elsewhere))
    assert (await harness.merchant.pay_hosted("mugs")).headers["location"] == "https://other.test/"


def test_there_is_no_record_before_the_work_is_done() -> None:
    with pytest.raises(ValidationError, match="no record"):
        FaultRule(effect="status", status=400, wording="record")
