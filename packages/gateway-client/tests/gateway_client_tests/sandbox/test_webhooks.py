"""Webhooks on their way: order, repetitions, retries, and everything that can go wrong with them."""

import base64
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

from gateway_client.sandbox.control import SandboxControl, SandboxRefusedError
from gateway_client.sandbox.core.fields import is_loopback
from gateway_client.sandbox.deliveries import WebhookSender
from gateway_client.sandbox.scripting import WebhookRule
from gateway_client_tests.sandbox.harness import Harness, open_harness, read_json
from integration_base_tests.clock import Clock
from integration_base_tests.tls_server import https_server

PENDING, PAID = ("purchase", "pending", "2119"), ("purchase", "success", "1000")


async def test_a_shop_that_stumbles_is_told_again(harness: Harness) -> None:
    harness.shop.answers = [503, 200, 500, 500, 500]
    await harness.control.options(pending_webhook=False)
    await harness.merchant.pay_hosted("stumbles")
    await harness.control.pay("stumbles")
    await harness.quiet()
    (delivery,) = await harness.control.webhooks("stumbles")
    assert delivery.state == "delivered"
    assert [tried.http_status for tried in delivery.tries] == [503, 200]

    await harness.merchant.pay_hosted("falls")
    await harness.control.pay("falls")
    await harness.quiet()
    (delivery,) = await harness.control.webhooks("falls")
    assert delivery.state == "failed"
    assert len(delivery.tries) == 3


async def test_webhooks_of_one_order_set_out_one_after_the_other(harness: Harness) -> None:
    harness.shop.open.clear()
    for order_id in ("slow", "other"):
        await harness.merchant.pay_hosted(order_id)
        await harness.control.pay(order_id)
    assert not await harness.control.wait_for_webhooks(timeout=0.1)
    assert harness.shop.begun == 2  # the first of each order; the second waits until the first was answered
    harness.shop.open.set()
    await harness.quiet()
    for order_id in ("slow", "other"):
        told = [told["status"] for told in harness.shop.webhooks if told["order_id"] == order_id]
        assert told == ["pending", "success"]


async def test_a_client_of_ones_own_waits_as_long_as_is_asked_for(harness: Harness) -> None:
    """Its usual patience is that of a shop's requests: five seconds, unless it was given another."""
    harness.shop.open.clear()
    await harness.merchant.pay_hosted("slow")
    await harness.control.pay("slow")
    async with httpx2.AsyncClient(trust_env=False, timeout=0.2) as http:
        assert not await SandboxControl(harness.url, http).wait_for_webhooks(timeout=0.5)


async def test_a_shop_that_is_not_there(harness: Harness) -> None:
    await harness.merchant.pay_hosted("nobody", server_url="http://127.0.0.1:9/gateway")
    await harness.control.pay("nobody")
    await harness.quiet()
    assert {(d.state, d.tries[-1].problem) for d in await harness.control.webhooks()} == {("failed", "ConnectError")}


async def test_a_shop_with_a_certificate_of_its_own_authority(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    async with https_server("localhost", tmp_path, heard) as (port, _):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        async with open_harness(clock) as harness:
            await harness.merchant.pay_hosted("tls", server_url=f"https://localhost:{port}/gateway")
            await harness.control.pay("tls")
            await harness.quiet()
            assert {delivery.state for delivery in await harness.control.webhooks("tls")} == {"delivered"}
    assert heard[0].startswith(b"POST /gateway ")


async def test_held_webhooks_are_released_the_other_way_round(harness: Harness) -> None:
    await harness.control.hold_webhooks("mugs")
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    await harness.quiet()
    assert harness.shop.webhooks == []
    assert [d.state for d in await harness.control.webhooks("mugs")] == ["held", "held"]

    await harness.control.release_webhooks("mugs", newest_first=True)
    await harness.quiet()
    assert harness.shop.received() == [PAID, PENDING]
    await harness.merchant.operate("refund", "mugs")
    await harness.quiet()
    assert harness.shop.received()[-1] == ("refund", "success", "1004")


async def test_releasing_one_order_keeps_the_others_held(harness: Harness) -> None:
    await harness.control.hold_webhooks()
    for order_id in ("a", "b"):
        await harness.merchant.pay_hosted(order_id)
        await harness.control.pay(order_id)
    assert [d.order_id for d in await harness.control.release_webhooks("a")] == ["a", "a"]
    await harness.quiet()
    assert {told["order_id"] for told in harness.shop.webhooks} == {"a"}


async def test_duplicates_are_the_very_same(harness: Harness) -> None:
    await harness.control.webhook_rule(WebhookRule(effect="duplicate", status="success", copies=2))
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    await harness.quiet()
    assert harness.shop.received() == [PENDING, PAID, PAID, PAID]
    assert len(set(harness.shop.raw[1:])) == 1


async def test_lost_and_forged_webhooks(harness: Harness) -> None:
    await harness.control.webhook_rule(WebhookRule(effect="drop", status="pending", times=1))
    await harness.control.webhook_rule(WebhookRule(effect="forge", status="success", times=1))
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    await harness.quiet()
    assert (harness.shop.webhooks, harness.shop.forged_count) == ([], 1)


async def test_a_delayed_webhook_is_overtaken(harness: Harness) -> None:
    await harness.control.webhook_rule(WebhookRule(effect="delay", status="pending", seconds=0.2))
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    await harness.quiet()
    assert harness.shop.received() == [PAID, PENDING]


async def test_rules_can_be_taken_back(harness: Harness) -> None:
    await harness.control.webhook_rule(WebhookRule(effect="drop"))
    await harness.control.outcome("4009")
    await harness.control.clear_rules()
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    await harness.quiet()
    assert harness.shop.received() == [PENDING, PAID]


async def test_a_person_fires_a_webhook_with_a_lie_in_it(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs")
    await harness.control.fire_webhook("mugs", changes={"status": "success", "amount": Decimal("1.00")})
    await harness.control.fire_webhook("mugs", secret="somebody else's")
    await harness.quiet()
    assert [(told["status"], told["amount"]) for told in harness.shop.webhooks] == [("success", Decimal("1.00"))]
    assert harness.shop.forged_count == 1


async def test_a_webhook_is_sent_again_when_the_shop_asks(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    refund = read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("1.00")))
    await harness.quiet()
    before = len(harness.shop.webhooks)
    record = read_json(await harness.merchant.look("mugs", "refund", callback="true"))
    assert record["operation_id"] == refund["operation_id"]
    await harness.quiet()
    assert harness.shop.webhooks[before]["operation_id"] == refund["operation_id"]
    assert (await harness.merchant.look("mugs", "refund", callback="false")).status_code == 400
    (first, *_) = await harness.control.webhooks("mugs")
    await harness.control.repeat_webhook(first.delivery_id)
    await harness.quiet()
    assert harness.shop.raw[-1] == harness.shop.raw[0]


async def test_data_without_padding_is_signed_as_it_is_sent(harness: Harness) -> None:
    await harness.control.options(pad_webhook_data=False)
    for number in range(3):
        await harness.merchant.pay_hosted(f"mugs{'x' * number}")
        await harness.control.pay(f"mugs{'x' * number}")
    await harness.quiet()
    assert harness.shop.forged_count == 0
    assert len(harness.shop.webhooks) == 6
    assert not any(delivery.data.endswith("=") for delivery in await harness.control.webhooks())


async def test_nothing_is_told_when_no_address_was_given(harness: Harness) -> None:
    await harness.merchant.pay_hosted("silent", server_url=None)
    await harness.control.pay("silent")
    assert await harness.control.webhooks() == []
    with pytest.raises(SandboxRefusedError):
        await harness.control.fire_webhook("silent")


async def test_webhooks_stay_on_this_machine(harness: Harness) -> None:
    await harness.merchant.pay_hosted("far", server_url="https://192.0.2.1/gateway")
    await harness.control.pay("far")
    assert {d.state for d in await harness.control.webhooks()} == {"refused"}


@pytest.mark.parametrize(("allowed", "asked", "state"), [(True, ["shop.test"], "failed"), (False, [], "refused")])
async def test_webhooks_go_far_only_when_allowed_and_follow_nobody(
    clock: Clock, harness: Harness, allowed: bool, asked: list[str], state: str
) -> None:
    await harness.control.hold_webhooks()
    await harness.merchant.pay_hosted("far", server_url="https://shop.test/gateway")
    await harness.control.expire("far")
    (delivery,) = await harness.control.webhooks()
    hosts = []

    def elsewhere(request: httpx2.Request) -> httpx2.Response:
        hosts.append(request.url.host)
        return httpx2.Response(307, headers={"location": "http://other.test/"})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(elsewhere)) as http:
        webhook_sender = WebhookSender(http, clock, retries=(), allow_remote=allowed, on_change=lambda: None)
        webhook_sender.enqueue(delivery)
        await webhook_sender.wait_until_idle()
    assert (hosts, delivery.state) == (asked, state)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1/a", True),
        ("http://127.9.9.9:8443/a", True),
        ("https://[::1]/a", True),
        ("http://localhost/a", True),
        ("http://localhost.example.com/a", False),
        ("http://127.0.0.1.example.com/a", False),
        ("http://127.0.0.1@example.com/a", False),
        ("http://0.0.0.0/a", False),
        ("http://10.0.0.1/a", False),
        ("http://[::1", False),
        ("http:///a", False),
    ],
)
def test_what_counts_as_this_machine(address: str, here: bool) -> None:
    assert is_loopback(address) is here


async def test_webhook_fields_are_those_of_the_interface(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    await harness.merchant.operate("refund", "mugs", comment="broken")
    await harness.quiet()
    paid, refund = harness.shop.webhooks[-2:]
    assert {"payment_id", "order_id", "pos_id", "mode", "method", "amount", "currency", "status"} <= paid.keys()
    assert {"result_url", "user_action_required", "description"}.isdisjoint(paid)
    assert refund.keys() == {
        *("operation_id", "payment_id", "order_id", "transaction_id", "pos_id", "mode", "method", "amount"),
        *("currency", "status", "status_code", "status_description", "created_at", "processed_at", "receipt_url"),
    }
    raw = (await harness.control.webhooks())[-1].data
    assert b'"amount":100.00' in base64.urlsafe_b64decode(raw)


async def test_what_there_is_not_may_be_said_as_null(harness: Harness) -> None:
    await harness.control.options(webhook_nulls=True, pending_webhook=False)
    await harness.merchant.pay_direct("mugs", "20.09")
    await harness.merchant.pay_direct("cups")
    await harness.merchant.operate("refund", "cups")
    await harness.quiet()
    declined, paid, refunded = harness.shop.webhooks
    assert declined["fee"] is declined["cc_token"] is declined["limit_info"] is declined["processed_amount"] is None
    assert "operation_id" not in declined
    assert paid["payload"] is None
    assert refunded["limit_info"] is None
    assert "cc_mask" not in refunded
    assert all(refunded[name] is not None for name in ("operation_id", "payment_id", "amount", "status", "created_at"))
