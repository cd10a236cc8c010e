"""Who stories are told to: the cassette and a sandbox; or, with ``--record-mode=rewrite``, whoever is recorded.

``make record`` records from a sandbox. With ``GATEWAY_BASE_URL`` and the account's keys in the environment it records
from there (docs/gateway.md, "Record from an account"). A story that fails leaves its cassette as it was.
"""

import os
import shutil
import ssl
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest

from gateway_client.dialect import DialectName
from gateway_client_tests.contract.account import Account, dialect_of_environment, may_be_run
from gateway_client_tests.contract.harness import (
    SANDBOX,
    Harness,
    open_recorded,
    open_recorded_from_sandbox,
    open_replayed,
)
from gateway_client_tests.contract.tape import CASSETTES

_PASSED = pytest.StashKey[bool]()
_REWRITING = ("rewrite", "all")


def pytest_configure(config: pytest.Config) -> None:
    """The marks of stories."""
    config.addinivalue_line("markers", "reads_only: moves no money, so it is recorded from an account unasked")
    config.addinivalue_line("markers", "sandbox_only(why): cannot be recorded from a real account")
    config.addinivalue_line("markers", "splits: needs two sub-merchants")
    config.addinivalue_line("markers", "public_only(why): the interface does not have it")
    config.addinivalue_line("markers", "webhooks: needs an address at which the gateway reaches us")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each story is told in both dialects to the cassette and to a sandbox, or once while it is recorded.

    An account speaks one dialect.
    """
    if "harness" not in metafunc.fixturenames:
        return
    tellings = ["cassette", SANDBOX]
    presets = [preset for preset in DialectName if preset is DialectName.PUBLIC or _is_in_the_interface(metafunc)]
    if metafunc.config.getoption("--record-mode") in _REWRITING:
        tellings = ["recording"]
        if Account.of_environment(os.environ) is not None:
            presets = [preset for preset in presets if preset == dialect_of_environment(os.environ)]
    blocked = {"cassette": [pytest.mark.block_network]}
    metafunc.parametrize(
        "harness",
        [
            pytest.param((preset, telling), marks=blocked.get(telling, ()), id=f"{telling}-{preset}")
            for preset in presets
            for telling in tellings
        ],
        indirect=True,
    )


def _is_in_the_interface(metafunc: pytest.Metafunc) -> bool:
    return metafunc.definition.get_closest_marker("public_only") is None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """While stories are recorded, nothing but stories: what is said of cassettes is looked at afterwards."""
    if config.getoption("--record-mode") in _REWRITING:
        stories = [item for item in items if "harness" in getattr(item, "fixturenames", ())]
        items[:] = [item for item in stories if item.get_closest_marker("skip") is None]  # no way of telling is left


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember for the fixture whether the story came to its end."""
    report = yield
    if report.when == "call":
        item.stash[_PASSED] = report.passed
    return report


def cassette_of(node: pytest.Item, preset: DialectName) -> Path:
    """Where the story of a test lies: ``test_hosted.py::test_a_page`` is ``public/hosted/a_page.yaml``."""
    name = getattr(node, "originalname", node.name)
    return CASSETTES / preset / node.path.stem.removeprefix("test_") / f"{name.removeprefix('test_')}.yaml"


@pytest.fixture(scope="session")
def ssl_context() -> ssl.SSLContext:
    return ssl.create_default_context()


@pytest.fixture
async def harness(
    request: pytest.FixtureRequest, tmp_path: Path, ssl_context: ssl.SSLContext
) -> AsyncIterator[Harness]:
    node = request.node
    preset, telling = request.param
    kept, fresh = cassette_of(node, preset), tmp_path / "cassette.yaml"
    listen = node.get_closest_marker("webhooks") is not None
    seed = str(kept.relative_to(CASSETTES / preset))
    match telling:
        case "cassette":
            assert kept.is_file(), f"no cassette {kept}: record it with `make record`"
            async with open_replayed(kept, ssl_context, preset) as (harness, tape):
                yield harness
                if node.stash.get(_PASSED, False):
                    assert tape.all_played, "the story told less than its cassette: record it with `make record`"
        case "sandbox":
            async with open_recorded_from_sandbox(fresh, ssl_context, seed, preset=preset, listen=listen) as harness:
                yield harness
            # A cassette of a real account is not held to what a sandbox says.
            if node.stash.get(_PASSED, False) and kept.is_file() and f"source: {SANDBOX}\n" in kept.read_text():
                assert fresh.read_text() == kept.read_text(), "client or sandbox say something else: `make record`"
        case _:
            account = Account.of_environment(os.environ)
            if account is None:
                async with open_recorded_from_sandbox(
                    fresh, ssl_context, seed, preset=preset, listen=listen
                ) as harness:
                    yield harness
            else:
                _skip_unless_possible(node, account)
                async with open_recorded(fresh, ssl_context, account, preset=preset, listen=listen) as harness:
                    yield harness
            if node.stash.get(_PASSED, False):
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(fresh, kept)


def _skip_unless_possible(node: pytest.Item, account: Account) -> None:
    if (mark := node.get_closest_marker("sandbox_only")) and not account.on_this_machine:
        pytest.skip(f"not recorded from an account: {mark.args[0]}")
    if node.get_closest_marker("splits") and len(account.sub_merchants) < 2:
        pytest.skip("GATEWAY_SUB_MERCHANTS does not name two")
    if node.get_closest_marker("webhooks") and account.webhook_url is None and not account.on_this_machine:
        pytest.skip("GATEWAY_WEBHOOK_URL does not say where webhooks reach us")
    reads_only = node.get_closest_marker("reads_only") is not None
    if not may_be_run(account, node.name, reads_only=reads_only, ask=input):
        pytest.skip("nobody said yes")
