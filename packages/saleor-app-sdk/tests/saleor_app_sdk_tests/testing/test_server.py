"""The same Saleor in a thread, and as a process of its own."""

import asyncio
import logging
import sys

import httpx2
import pytest
from fastapi import FastAPI

from integration_base_tests.loopback import json_reply
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import unless_it_hangs
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, serving, serving_app_in_thread, serving_in_thread
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.stub import Stub


async def test_in_a_thread(stub: Stub) -> None:
    with serving_in_thread() as url:
        async with FakeSaleor(url) as saleor:
            done = await saleor.install(stub.manifest_url)
            assert done.status == "INSTALLED"
            assert saleor.api_url == f"{url}/graphql/"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url, trust_env=False)


def test_how_a_process_logs_is_its_own_business() -> None:
    """uvicorn's own settings would take the lines of all servers of the process away from its log."""
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(logging.INFO)
    try:
        with serving_in_thread(), serving_app_in_thread(lambda url: FastAPI(title=url)):
            assert (logger.level, logger.propagate, logger.handlers) == (logging.INFO, True, [])
            assert logging.getLogger("uvicorn").propagate
    finally:
        logger.setLevel(logging.NOTSET)


async def test_as_a_process(stub: Stub) -> None:
    command = (sys.executable, "-m", "saleor_app_sdk.testing", "--port", "0")
    process = await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY, stdout=asyncio.subprocess.PIPE)
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
