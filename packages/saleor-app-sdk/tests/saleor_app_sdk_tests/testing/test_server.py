"""The same Saleor in a thread, and as a process of its own."""

import asyncio
import logging
import socket
import sys

import httpx2
import pytest
import typer
from fastapi import FastAPI
from pydantic import ValidationError
from typer.testing import CliRunner

from integration_base_tests.loopback import json_reply
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import unless_it_hangs
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, serving, serving_app_in_thread, serving_in_thread
from saleor_app_sdk.testing.__main__ import main
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


async def test_an_address_may_end_in_a_slash(saleor: FakeSaleor) -> None:
    """As browsers write it: every call ended with "Not Found", as if the order were."""
    async with FakeSaleor(f"{saleor.url}/") as same:
        assert await same.apps() == []
        assert same.api_url == saleor.api_url


async def test_unknown_ids_are_lookup_errors(saleor: FakeSaleor) -> None:
    with pytest.raises(LookupError, match="no transaction"):
        await saleor.transaction("VHJhbnNhY3Rpb25JdGVtOjE=")
    with pytest.raises(LookupError, match="no checkout or order"):
        await saleor.initialize("nope")
    with pytest.raises(LookupError, match="no app"):
        await saleor.uninstall("nope")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--port", "70000", "65535"),
        ("--version", "newest", "3.23.28"),
        ("--version", "3", "3.23.28"),
        ("--schema", "no/such/schema.graphql", "does not exist"),
        ("--schema", ".", "is a directory"),
        ("--read-timeout", "nan", "number"),
        ("--read-timeout", "0", "greater than 0"),
        ("--delay-factor", "-1", "at least 0"),
    ],
)
def test_a_wrong_option_is_explained(monkeypatch: pytest.MonkeyPatch, option: str, value: str, words: str) -> None:
    """Some ended with a stack trace; the others were found by the first request, which was answered with 500."""
    monkeypatch.setattr("saleor_app_sdk.testing.__main__.serve_forever", lambda *_, **__: None)
    status, said = _run(option, value)
    assert status == 2
    assert option in said
    assert words in said


def test_a_port_that_is_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        status, said = _run("--port", str(port))
    assert status == 2
    assert f"cannot listen on port {port}: Address already in use" in said


@pytest.mark.parametrize("version", ["3.22", "3.22.0", "3.22.1-rc.2"])
async def test_a_version_may_be_written_without_its_last_number(stub: Stub, version: str) -> None:
    """Each request of an installation failed, and what was shown of it was an error of this Saleor's."""
    async with serving(SaleorSettings(version=version)) as running:
        done = await running.saleor.install(stub.manifest_url)
        assert done.status == "INSTALLED", done.message
    with pytest.raises(ValidationError, match=r"a version, like 3\.23\.28"):
        SaleorSettings(version=version.replace(".", "-"))


def _run(*options: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(main)
    result = CliRunner().invoke(app, options, env={"COLUMNS": "300", "NO_COLOR": "1"})
    return result.exit_code, " ".join(result.output.split())
