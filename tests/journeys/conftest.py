"""A stack with a shop that is ready to sell."""

import json
import os
from collections.abc import AsyncIterator, Generator, Iterator
from functools import partial
from pathlib import Path
from zlib import crc32

import pytest

from gateway_client.dialect import DialectName
from tests.fork_server import ForkServer
from tests.journeys.crashing_process import CrashingProcess
from tests.journeys.stack import Stack, open_neighbours, open_stack
from tests.journeys.terminal import Terminal

BEYOND_THE_INTERFACE = {
    "test_a_backup_is_put_back.py",  # a capture of a part that releases the rest
    "test_subscriptions.py",
    "test_wallets_in_browser.py",
    "test_wallets_in_the_storefront.py",
}
"""Stories of what the gateway's interface does not have."""


_LAST_LINES = 60


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the app of a failed story has logged: it is a process of its own, and its folder goes."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder is not None and (log := folder / "app.log").exists():
        lines = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        report.sections.append((f"The app's log ({report.when})", "\n".join(lines)))
    return report


@pytest.fixture(scope="session")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A Saleor and a gateway for all stories of this test process; each story finds them empty."""
    with open_neighbours(tmp_path_factory.mktemp("neighbours")) as neighbours:
        yield neighbours


@pytest.fixture
def dialect(request: pytest.FixtureRequest) -> DialectName:
    """Return what the gateway of this story speaks: its interface and nothing else, or all that is publicly known.

    The stories take turns, and one that is told on both kinds of database is told in both dialects too.
    JOURNEY_DIALECT decides for all.
    """
    if request.node.path.name in BEYOND_THE_INTERFACE:
        return DialectName.PUBLIC
    if told := os.environ.get("JOURNEY_DIALECT"):
        return DialectName(told)
    turn = crc32(f"{request.node.path.name}::{request.node.originalname}".encode())
    return (DialectName.INTERFACE, DialectName.PUBLIC)[(turn + ("postgresql" in request.node.name)) % 2]


@pytest.fixture
async def stack(
    request: pytest.FixtureRequest,
    *,
    database_url: str,
    tmp_path: Path,
    neighbours: tuple[str, str],
    dialect: DialectName,
    fork_server: ForkServer,
) -> AsyncIterator[Stack]:
    """The three processes; nothing is installed yet."""
    process = partial(CrashingProcess, fork_server=fork_server)
    async with open_stack(database_url, tmp_path, neighbours, dialect=dialect, process=process) as stack:
        yield stack
        if seen := os.environ.get("JOURNEY_CALLS"):
            await _note_calls(stack, Path(seen), request.node)


async def _note_calls(stack: Stack, seen: Path, story: pytest.Item) -> None:
    """Write down which members a story's calls had: docs/gateway-statements.md is made of it."""
    calls = [
        call.model_dump(include={"http_method", "path", "fields", "answered"}) for call in await stack.gateway.calls()
    ]
    name = f"{story.path.name}::{story.name.partition('[')[0]}"
    with seen.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"story": name, "calls": calls}) + "\n")


@pytest.fixture
async def shop(stack: Stack) -> Stack:
    """Yield the stack after the store owner has installed the app and connected a merchant account."""
    installed = await stack.saleor.install(f"{stack.app.url}/api/manifest")
    assert installed.status == "INSTALLED", installed.message
    await stack.open_account()
    return stack


@pytest.fixture
def terminal(shop: Stack, fork_server: ForkServer) -> Terminal:
    """An operator's terminal."""
    return Terminal(shop, fork_server)
