"""The same Saleor in a thread, and as a process of its own."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import SandboxSettings
from integration_base.server_clock import compare_clock
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, serving, serving_in_thread
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from tests.loopback import json_reply
from tests.saleor_testing.stub import Stub
from tests.waiting import LONGEST_WAIT, unless_it_hangs

ROOT = Path(__file__).parent.parent.parent


async def test_in_a_thread(stub: Stub) -> None:
    with serving_in_thread() as url:
        async with FakeSaleor(url) as saleor:
            done = await saleor.install(stub.manifest_url)
            assert done.status == "INSTALLED"
            assert saleor.api_url == f"{url}/graphql/"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url, trust_env=False)


async def test_as_a_process(stub: Stub) -> None:
    command = (sys.executable, "-m", "saleor_app_sdk.testing", "--port", "0")
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().split()[-1]
        async with FakeSaleor(url) as saleor:
            assert (await saleor.install(stub.manifest_url)).status == "INSTALLED"
    finally:
        process.terminate()
        await process.communicate()


async def test_unfinished_business_does_not_keep_it_from_closing(stub: Stub) -> None:
    stub.answer(
        WebhookEvent.TRANSACTION_INITIALIZE_SESSION, json_reply({"result": "CHARGE_SUCCESS", "pspReference": "p"})
    )
    stub.answer(WebhookEvent.TRANSACTION_REFUND_REQUESTED, json_reply({}, status=500))
    async with unless_it_hangs(), serving(SaleorSettings(retry_delays=(3600,))) as running:
        await running.saleor.install(stub.manifest_url)
        checkout = await running.saleor.create_checkout()
        session = await running.saleor.initialize(checkout.id)
        await running.saleor.refund(session.required_transaction.id)


async def test_unknown_ids_are_lookup_errors(saleor: FakeSaleor) -> None:
    with pytest.raises(LookupError, match="no transaction"):
        await saleor.transaction("VHJhbnNhY3Rpb25JdGVtOjE=")
    with pytest.raises(LookupError, match="no checkout or order"):
        await saleor.initialize("nope")
    with pytest.raises(LookupError, match="no app"):
        await saleor.uninstall("nope")


async def test_played_servers_show_the_clock_that_they_were_given() -> None:
    def long_ago() -> datetime:
        return datetime(2020, 2, 29, 12, tzinfo=UTC)

    async with (
        serving(clock=long_ago) as running,
        running_sandbox(SandboxSettings(port=0, clock=long_ago)) as (gateway, _),
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        for address in (f"{running.url}/.well-known/jwks.json", gateway):
            response = await http.get(address)
            assert response.headers.get_list("date") == ["Sat, 29 Feb 2020 12:00:00 GMT"]
            difference = await compare_clock(http, address, long_ago, within=LONGEST_WAIT)
            assert difference is not None
            assert not difference.size
