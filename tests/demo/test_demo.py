"""The demo as people start it: it plays through, tells what happened, names what went wrong, leaves nobody behind."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.demo.story import Demo
from gateway_client_tests.sandbox.plain_browser import Browser

pytestmark = [pytest.mark.journey, pytest.mark.timeout(300)]

_LONG_ENOUGH = 240.0
DEMO = ("-m", "app.cli", "demo", "--free-ports")
WITH_WRONG_KEYS = """
import asyncio, sys
from pathlib import Path
from pydantic import SecretStr
from app.demo.story import run
from app.demo.timeline import Output

wrong = SecretStr("somebody-elses-secret")
sys.exit(asyncio.run(run(Path(sys.argv[1]), Output(None), once=True, free_ports=True, api_secret=wrong)))
"""


def left_behind(folder: Path) -> list[int]:
    """Processes whose environment names the demo's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
        except OSError:  # it has just ended, or is not ours
            continue
        if f"APP_DATA_DIR={folder}".encode() in environment:
            found.append(int(process.name))
    return found


def the_app(folder: Path) -> int:
    """The process of the app among those of the demo."""
    (found,) = [
        process_id
        for process_id in left_behind(folder)
        if b"run" in Path(f"/proc/{process_id}/cmdline").read_bytes().split(b"\0")
    ]
    return found


async def typed(line: str, folder: Path) -> str:
    """What a person reads who types this line in a terminal, elsewhere and without the demo's environment."""
    environment = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH"}}
    process = await asyncio.create_subprocess_shell(
        line, cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


def log_of_the_app(folder: Path) -> list[str]:
    """The lines that the app of the demo has logged."""
    (log,) = folder.rglob("app.log")
    return log.read_text().splitlines()


@asynccontextmanager
async def started(*arguments: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A demo; should the test fail, it is ended as a person would end it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.communicate()


async def until_its_end(process: asyncio.subprocess.Process) -> tuple[str, str]:
    said, complained = await asyncio.wait_for(process.communicate(), _LONG_ENOUGH)
    return said.decode(), complained.decode()


async def events(demo: asyncio.subprocess.Process) -> AsyncIterator[dict[str, Any]]:
    assert demo.stdout is not None
    async for line in demo.stdout:
        yield json.loads(line)


def told(said: str, event: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, said.splitlines()) if line["event"] == event]


@pytest.mark.parametrize(("dialect", "checks"), [("public", 25), pytest.param("interface", 26, marks=pytest.mark.long)])
async def test_it_tells_every_step_and_ends_well(tmp_path: Path, dialect: str, checks: int) -> None:
    # What is set for the person's own app must not be touched, nor get in the way.
    theirs = {"APP_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/theirs", "SANDBOX_API_SECRET": "theirs"}
    kept = tmp_path / "kept"
    async with started(*DEMO, "--once", "--dialect", dialect, "--keep", str(kept), **theirs) as demo:
        said, complained = await until_its_end(demo)
    assert demo.returncode == 0, said + complained
    assert complained == ""
    titles = [str(getattr(Demo, step).__doc__).removesuffix(".") for step in Demo.steps]
    assert len(titles) > 10
    assert [title for title in titles if title not in said] == []
    assert f"✓ All {checks} checks are right" in said
    assert "✗" not in said
    assert "\x1b" not in said, "no colours where there is no terminal"
    assert (kept / "data" / "payments.sqlite").exists()
    assert (kept / "logs" / "app.log").exists()
    assert left_behind(kept) == []


@pytest.mark.long
async def test_a_wrong_step_is_named_with_the_reason(tmp_path: Path) -> None:
    async with started("-c", WITH_WRONG_KEYS, str(tmp_path)) as demo:
        said, complained = await until_its_end(demo)
    assert demo.returncode == 1, said + complained
    (trouble,) = told(said, "trouble")
    assert trouble["step"] == "connect"
    assert trouble["expected"] == "the gateway takes the keys"
    assert "rejects these keys" in trouble["found"]
    assert trouble["log"]
    assert "somebody-elses-secret" not in said
    assert told(said, "end") == []
    assert left_behind(tmp_path) == []


@pytest.mark.long
async def test_a_process_that_dies_is_named_with_its_last_words(tmp_path: Path) -> None:
    async with started(*DEMO, "--json", "--keep", str(tmp_path)) as demo:
        async for event in events(demo):
            if event["event"] == "place":
                break
        os.kill(the_app(tmp_path), signal.SIGKILL)
        said, complained = await until_its_end(demo)
    assert demo.returncode == 1, said + complained
    (trouble,) = told(said, "trouble")
    assert trouble["found"] == "the app has ended by itself"
    assert trouble["log"] == log_of_the_app(tmp_path)[-12:]
    assert left_behind(tmp_path) == []


async def decline_then_pay(browser: Browser, address: str) -> None:
    """What a person does on the page that was left open."""
    page = await browser.press(await browser.open(address), "Not enough money")
    back = page.redirect
    assert back is not None
    for _ in range(100):  # the page would look again by itself as well
        page = await browser.open(back)
        if page.heading != "Checking your payment":
            break
    assert page.heading == "The payment did not go through"
    page = await browser.open(page.link("Back to the shop"))
    assert page.heading == "Not paid"
    # The shopper's words if the shop is faster than the app's report, else what Saleor has recorded.
    assert "not enough money" in page.words or "Insufficient funds [4009]" in page.words
    page = await browser.press(page, "Try again")
    assert page.redirect is not None
    await browser.press(await browser.open(page.redirect), "Pay")


@pytest.mark.long
async def test_then_the_person_plays_until_ctrl_c(tmp_path: Path) -> None:
    places: dict[str, str] = {}
    heard: list[str] = []
    async with httpx2.AsyncClient(trust_env=False) as http, started(*DEMO, "--json", "--keep", str(tmp_path)) as demo:
        async for event in events(demo):
            assert event["event"] != "trouble", event
            if event["event"] == "place":
                places[event["name"]] = event["url"]
                if event["name"] == "Gateway":  # the last one
                    for url in places.values():
                        assert (await http.get(url)).status_code == 200, url
                    await decline_then_pay(Browser(http), places["Payment page"])
            elif event["event"] == "hint":
                listed = await typed(event["text"].partition(": ")[2].splitlines()[0], tmp_path)
                assert "569.50" in listed
            elif places and event["event"] == "exchange":
                heard.append(f"{event['from']}: {event['said']}")
                if "CHARGE_SUCCESS" in event["said"]:
                    demo.send_signal(signal.SIGINT)
                    break
        _, complained = await until_its_end(demo)
    assert demo.returncode == 0
    assert complained == ""
    told_in_this_order = [
        "shopper: submits the payment page",
        "gateway: notifies, signed: purchase failure [4009], 569.50 UAH",
        "shopper: is back",
        "shopper: checks out (pay)",
        "gateway: notifies, signed: purchase success [1000], 569.50 UAH",
    ]
    assert [fromkey for fromkey in dict.fromkeys(heard) if fromkey in told_in_this_order] == told_in_this_order
    assert left_behind(tmp_path) == []


@pytest.mark.long
async def test_interrupted_in_the_middle_it_says_so_by_its_status(tmp_path: Path) -> None:
    async with started(*DEMO, "--json", "--keep", str(tmp_path)) as demo:
        async for event in events(demo):
            if event.get("step") == "install":
                demo.terminate()
                break
        _, complained = await until_its_end(demo)
    assert demo.returncode == 128 + signal.SIGTERM
    assert complained == ""
    assert left_behind(tmp_path) == []


def test_a_folder_with_something_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    result = CliRunner().invoke(cli, ["demo", "--keep", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not empty" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
