"""What happens in ``bench.storm`` but for deaths: a fault begins at once, lasts some seconds by chance, and ends."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from bench.cut_lines import Line
from bench.load import Load
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.scripting import FaultRule, WebhookRule
from saleor_app_sdk.testing.client import FakeSaleor

Happens: TypeAlias = Callable[[random.Random], Awaitable[object]]
_ODD_ANSWERS = (
    *("null", "[]", "7", '""', "{}", '{"data": null}', '{"data": []}', '{"errors": "no"}', '{"errors": [null]}'),
    *('{"data": {"report": null}}', '{"data": {"event0": {"errors": 1}}}', '{"data": {"app": []}}', "<html>", "\x00"),
    '{"data": {"transaction": {"id": 1e400}}}',
)


def faults_of(load: Load, lines: Mapping[str, Line], disk: Path | None) -> dict[str, Happens]:
    """Return the faults by their names; ``disk`` is the folder of a small disk, which can be filled."""
    found: dict[str, Happens] = {
        "Saleor answers badly": partial(_bad_saleor, load.saleors[0]),
        "the gateway answers badly": partial(_bad_gateway, load.gateway),
        "notifications go wrong": partial(_bad_notifications, load.gateway),
    }
    for name, line in lines.items():
        found[f"{name}: connections cut"] = partial(_cut, line)
        found[f"{name}: away"] = partial(_down, line)
        found[f"{name}: held"] = partial(_hold, line)
    if disk is not None:
        found["the disk is full"] = partial(_full_disk, disk)
    return found


async def _bad_saleor(saleor: FakeSaleor, chance: random.Random) -> None:
    faults: dict[str, Any] = chance.choice(
        [
            {"graphql_status": chance.choice([429, 500, 502, 503])},
            {"graphql_body": chance.choice(_ODD_ANSWERS)},
            {"graphql_answer_lost": True},
            {"webhook_answer_lost": "bad_gateway"},
            {"jwks_status": 503},
        ]
    )
    await saleor.set_faults(**faults)
    await asyncio.sleep(chance.uniform(0.5, 4))
    await saleor.clear_faults()


async def _bad_gateway(gateway: SandboxControl, chance: random.Random) -> None:
    moment = chance.choice(["before", "after"])
    effect = chance.choice(["drop", "truncate", "garbage", "status", "latency"])
    worded = {"status": chance.choice([500, 502, 503]), "wording": chance.choice(["gateway", "html", "empty"])}
    rule = {"effect": effect, "moment": moment, "path": "/api/*", "times": 10**6, "seconds": chance.uniform(0, 2)}
    await gateway.fault(FaultRule.model_validate(rule | (worded if effect == "status" else {})))
    await asyncio.sleep(chance.uniform(0.5, 4))
    await gateway.clear_rules()


async def _bad_notifications(gateway: SandboxControl, chance: random.Random) -> None:
    effect = chance.choice(["drop", "duplicate", "delay", "forge"])
    rule = {"effect": effect, "copies": 3, "seconds": chance.uniform(0, 3)}
    await gateway.webhook_rule(WebhookRule.model_validate(rule))
    await asyncio.sleep(chance.uniform(0.5, 4))
    await gateway.clear_rules()


async def _full_disk(disk: Path, chance: random.Random) -> None:
    ballast = disk / "ballast"
    try:
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(65536)):
                pass
        await asyncio.sleep(chance.uniform(0.5, 4))
    finally:
        ballast.unlink()


async def _cut(line: Line, _chance: random.Random) -> None:
    line.cut()


async def _down(line: Line, chance: random.Random) -> None:
    await line.down(chance.uniform(0.5, 5))


async def _hold(line: Line, chance: random.Random) -> None:
    await line.hold(chance.uniform(0.5, 5))
