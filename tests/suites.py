"""Which tests belong to which suite: those of the tooling, and a sample of the long campaigns."""

from collections.abc import Collection, Mapping
from zlib import crc32

import pytest

TOOLING = (
    "tests/ci/",
    "tests/docs/test_gateway_client.py",
    "tests/docs/test_site.py",
    "tests/demo/",
    "tests/secrets/test_hunt.py",
    "packages/gateway-client/tests/gateway_client_tests/contract/test_docs.py",
    "packages/gateway-client/tests/gateway_client_tests/contract/test_recording.py",
    "packages/gateway-client/tests/gateway_client_tests/sandbox/",
    "packages/saleor-app-sdk/tests/saleor_app_sdk_tests/testing/",
)
"""Tests of what the product is tested and explained with: the sandbox, the played Saleor, CI, the guide's examples and
the documentation's site.

What they look at is listed in the Makefile (``TOOLING``); ``make test`` runs them when that has changed.
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
    "tests/demo/test_demo.py": 8,
    "tests/shopper/test_in_browser.py": 2,
    "tests/storefront_kit/": 2,
}
"""How much processor time a long test takes whose name begins like that, roughly; the longest beginning counts."""

CAMPAIGNS = ("tests/chaos/", "tests/model/")
"""Rooms in which each test tells another kind of story. Elsewhere the tests of a file tell one kind."""


def seconds_of(test: str) -> float:
    """Return how much processor time a long test takes, roughly."""
    return SECONDS[max((beginning for beginning in SECONDS if test.startswith(beginning)), key=len)]


def kind_of(test: str) -> str:
    """Return the kind of story that a long test tells."""
    return test.partition("[")[0] if test.startswith(CAMPAIGNS) else test.partition("::")[0]


def choose_sample(tests: Collection[str], seconds: float, seed: str) -> set[str]:
    """Return one test of each kind, and of the others as many as fit into so many seconds of processor time.

    Another seed makes another choice. What is added to the campaigns makes a sample a smaller share, not a longer run.
    """
    order = sorted(tests, key=lambda test: (crc32(f"{seed} {test}".encode()), test))
    one_of_each = {kind_of(test): test for test in reversed(order)}
    chosen = set(one_of_each.values())
    left = seconds - sum(map(seconds_of, chosen))
    for test in order:
        if test in chosen:
            continue
        left -= seconds_of(test)
        if left < 0:
            break
        chosen.add(test)
    return chosen
