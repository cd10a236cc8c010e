"""What a restart keeps, and what a seed repeats."""

import json
import os
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from gateway_client.sandbox.settings import Behaviour, PointOfSale, SandboxSettings
from gateway_client_tests.sandbox.harness import Harness, open_harness, read_json
from integration_base_tests.clock import Clock


async def test_a_restart_forgets_nothing(clock: Clock, tmp_path: Path) -> None:
    file = tmp_path / "sandbox.json"
    async with open_harness(clock, state=file) as harness:
        await harness.merchant.pay_hosted("mugs", method="auth")
        await harness.control.pay("mugs")
        await harness.merchant.operate("capture", "mugs")
        await harness.control.options(settle_after="PT5S")
        await harness.control.advance(timedelta(days=1))
        before = read_json(await harness.merchant.look("mugs"))
        await harness.quiet()
    async with open_harness(clock, state=file) as harness:
        after = read_json(await harness.merchant.look("mugs"))
        assert after == before
        assert (await harness.merchant.pay_hosted("mugs")).status_code == 400
        assert (await harness.control.options()).settle_after == timedelta(seconds=5)
        assert await harness.control.now() == clock() + timedelta(days=1)
        assert {d.state for d in await harness.control.webhooks()} == {"delivered"}
        assert (await harness.merchant.operate("refund", "mugs")).status_code == 200
    assert os.listdir(tmp_path) == ["sandbox.json"]  # noqa: PTH208 - a look at a folder, after everything


async def test_payments_of_a_point_of_sale_that_is_gone_are_left_alone(clock: Clock, tmp_path: Path) -> None:
    file = tmp_path / "sandbox.json"
    async with open_harness(clock, state=file) as harness:
        await harness.merchant.pay_hosted("mugs")
    other = PointOfSale(pos_id=UUID(int=2), behaviour=Behaviour(sector="gambling"))
    async with open_harness(clock, state=file, points_of_sale=(other,)) as harness:
        await harness.control.advance(timedelta(days=1))
        assert [payment.status_code for payment in await harness.control.payments()] == ["4149"]
        assert await harness.control.webhooks() == []
        assert (await harness.control.options()).sector == "gambling"
        assert (await harness.merchant.http.get("/")).status_code == 200


async def test_a_webhook_that_was_under_way_is_sent_after_a_restart(clock: Clock, tmp_path: Path) -> None:
    file = tmp_path / "sandbox.json"
    async with open_harness(clock, state=file) as harness:
        await harness.merchant.pay_hosted("mugs")
        await harness.control.pay("mugs")
        await harness.quiet()
    state = json.loads(file.read_bytes())
    assert len(state["deliveries"]) == 2
    async with open_harness(clock) as shop_of_later:
        for delivery in state["deliveries"]:
            delivery["state"] = "waiting"
            delivery["url"] = shop_of_later.merchant.server_url
        file.write_text(json.dumps(state))
        async with open_harness(clock, state=file) as harness:
            await harness.quiet()
        assert [told[1] for told in shop_of_later.shop.received()] == ["pending", "success"]


async def test_the_same_seed_gives_the_same_identifiers(clock: Clock) -> None:
    async def story(harness: Harness) -> list[dict[str, str]]:
        await harness.merchant.pay_hosted("mugs", method="auth")
        await harness.control.pay("mugs")
        await harness.merchant.operate("void", "mugs")
        names = ("payment_id", "operation_id", "transaction_id", "cc_token", "gateway_order_id")
        return [
            {n: record[n] for n in names if n in record} for record in read_json(await harness.merchant.look("mugs"))
        ]

    told = []
    for seed in ("one", "one", "two"):
        async with open_harness(clock, seed=seed) as harness:
            told.append(await story(harness))
    assert told[0] == told[1]
    assert told[0] != told[2]


async def test_a_reset_begins_anew(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs")
    await harness.control.reset()
    assert await harness.control.payments() == []
    assert (await harness.merchant.pay_hosted("mugs")).status_code == 303


def test_a_misspelt_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="clokc"):
        SandboxSettings.model_validate({"clokc": 1})
