"""The sandbox as a process of its own, as a shop's developer starts it."""

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner

from gateway_client.sandbox.command import sandbox
from gateway_client.sandbox.control import SandboxControl
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import SandboxSettings
from integration_base_tests.waiting import LONGEST_WAIT


async def test_how_another_process_logs_is_that_ones_business() -> None:
    """uvicorn's own settings would take the lines of all servers of the process away from its log."""
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(logging.INFO)
    try:
        async with running_sandbox(SandboxSettings(port=0)):
            assert (logger.level, logger.propagate, logger.handlers) == (logging.INFO, True, [])
            assert logging.getLogger("uvicorn").propagate
    finally:
        logger.setLevel(logging.NOTSET)


async def test_it_starts_says_where_it_is_and_stops(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway_client.sandbox", "--port", "0", "--seed", "1"),
        *("--state", str(tmp_path / "state.json"), "--pos-id", "00000000-0000-4000-8000-000000000007"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        first = (await asyncio.wait_for(process.stdout.readline(), LONGEST_WAIT)).decode()
        assert first.startswith("Sandbox gateway on http://127.0.0.1:")
        address = first.split()[-1]
        async with httpx2.AsyncClient(base_url=address, trust_env=False) as http, SandboxControl(address) as control:
            headers = {"x-api-auth": "CPAY sandbox-api-key:sandbox-api-secret", "x-api-key": "sandbox-endpoints-key"}
            path = "/api/v1/pos/00000000-0000-4000-8000-000000000007/orders/0"
            assert (await http.get(path, headers=headers)).status_code == 404
            assert await control.payments() == []
    finally:
        process.terminate()
        rest, _ = await process.communicate()
    said = rest.decode()
    assert "00000000-0000-4000-8000-000000000007" in said
    assert "sandbox-api-secret" in said
    assert (tmp_path / "state.json").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--pos-id", "not-a-uuid"),
        ("--port", "99999"),
        ("--lifetime", "nan"),
        ("--settle-after", "1e30"),
        ("--state", "."),
        ("--state", __file__),
        ("--state", "no/such/folder/state.json"),
    ],
)
def test_a_wrong_option_is_explained(option: str, value: str) -> None:
    import typer

    app = typer.Typer()
    app.command()(sandbox)
    result = CliRunner().invoke(app, ["--port", "0", option, value])
    assert result.exit_code == 2, result.exception
    assert option in result.output


def test_without_the_extra_it_says_what_to_install() -> None:
    """As after `pip install gateway-client`: a library of the sandbox cannot be imported."""
    code = "import sys; sys.modules['typer'] = None\nfrom gateway_client.sandbox.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "The sandbox needs typer: pip install 'gateway-client[sandbox]'\n")
