"""Which tests belong to which suite: those of the tooling, and a sample of the long campaigns. Which are run first."""

import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")

TOOLING = (
    "tests/ci/",
    "tests/docs/test_gateway_client.py",
    "tests/docs/test_site.py",
    "tests/demo/",
    "tests/secrets/test_hunt.py",
)
"""Tests of what the product is tested and explained with: CI, the demo, the guide's examples and the documentation's
site.

What they look at is listed in the Makefile (``TOOLING_LOOKS_AT``); ``make test`` runs them when that has changed.
"""


def mark_tooling(items: Collection[pytest.Item]) -> None:
    """Mark the tests of the tooling as such."""
    for item in items:
        if item.nodeid.startswith(TOOLING):
            item.add_marker("tooling")


SECONDS: Mapping[str, float] = {
    "packages/": 0.15,
    "packages/gateway-client/tests/gateway_client_tests/sandbox/test_pages_in_browser.py": 2,
    "tests/": 0.15,
    "tests/chaos/": 0.6,
    "tests/chaos/test_split_stories.py::test_everybody_has": 10,
    "tests/chaos/test_stories.py::test_each_granted_refund": 5,
    "tests/chaos/test_stories.py::test_three_ledgers_tell_one_story": 4,
    "tests/chaos/test_stories.py::test_three_ledgers_tell_one_story_on_postgresql": 10,
    "tests/dashboard/": 0.5,
    "tests/journeys/": 3,
    "tests/journeys/test_rolling_restart.py": 40,
    "tests/model/": 14,
    "tests/packaging/": 4,
    "tests/pages/": 5,
    "tests/payments/test_mapping.py": 5,
    "tests/demo/test_demo.py": 8,
    "tests/shopper/test_in_browser.py": 2,
    "tests/storefront_kit/": 2,
    "tests/storefront_kit/test_frameworks.py": 10,
}
"""How much processor time a long test takes whose name begins like that, roughly; the longest beginning counts."""

CAMPAIGNS = ("tests/chaos/", "tests/model/")
"""Rooms in which each test tells another kind of story. Elsewhere the tests of a file tell one kind."""

MAPPING = "tests/payments/test_mapping.py::"
"""Each of its tests plays another part of docs/mapping.md, of which no part may be untrue."""


def seconds_of(test: str) -> float:
    """Return how much processor time a long test takes, roughly."""
    return SECONDS[max((beginning for beginning in SECONDS if test.startswith(beginning)), key=len)]


def kind_of(test: str) -> str:
    """Return the kind of story that a long test tells."""
    if test.startswith(MAPPING):
        return test
    return test.partition("[")[0] if test.startswith(CAMPAIGNS) else test.partition("::")[0]


def choose_sample(tests: Collection[str], seconds: float, seed: str) -> set[str]:
    """Return one test of each kind, and of the others as many as fit into so many seconds of processor time.

    Another seed makes another choice. What is added to the campaigns makes a sample a smaller share, not a longer run.
    """
    order = sorted(tests, key=lambda test: (crc32(f"{seed} {test}".encode()), test))
    one_of_each = {kind_of(test): test for test in reversed(order)}
    # Not a set: each process would add its seconds in an order of its own, and their last bit decides about a test.
    chosen = dict.fromkeys(one_of_each.values())
    left = seconds - sum(map(seconds_of, chosen))
    for test in order:
        if test in chosen:
            continue
        left -= seconds_of(test)
        if left < 0:
            break
        chosen[test] = None
    return set(chosen)


BASE = "integration-base"


def house_of(path: str) -> str | None:
    """Return the house to which a file belongs: a package's name, or ``app``; None for what belongs to no house."""
    first, _, rest = path.partition("/")
    if first == "packages":
        return rest.partition("/")[0]
    return "app" if first in {"app", "manifest", "tests", "saleor_gateway.py"} else None


def changed_houses(repository: Path, since: str) -> set[str]:
    """Return the houses with files that differ from those of the commit ``since``; none where git cannot say.

    All stand on integration-base: when it has changed, so has every house, and none is put first.
    """
    command = ["git", "diff", "--name-only", "--no-renames", since]
    try:
        told = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return set()
    houses = {house for path in told.splitlines() if (house := house_of(path))}
    return set() if BASE in houses else houses


def put_first(tests: Sequence[T], is_first: Callable[[T], bool], workers: int) -> list[T]:
    """Return the tests in the order in which each of several processes runs some of the first ones first.

    With ``--dist worksteal`` each process begins with one of as many even pieces.
    """
    first = _pieces([test for test in tests if is_first(test)], workers)
    others = iter([test for test in tests if not is_first(test)])
    ordered = []
    for piece, beginning in zip(_pieces(tests, workers), first, strict=True):
        ordered += [*beginning, *(next(others) for _ in range(len(piece) - len(beginning)))]
    return ordered


def _pieces(tests: Sequence[T], number: int) -> Iterator[Sequence[T]]:
    """Cut as pytest-xdist does: into pieces of the same size, the last ones with one more."""
    done = 0
    for left in range(number, 0, -1):
        size = (len(tests) - done) // left
        yield tests[done : done + size]
        done += size
