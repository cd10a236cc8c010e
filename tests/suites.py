"""Which tests belong to which suite: those of the tooling, and a sample of the long campaigns."""

from collections.abc import Collection
from zlib import crc32

import pytest

TOOLING = (
    "tests/ci/",
    "tests/docs/test_gateway_client.py",
    "tests/docs/test_site.py",
    "tests/gateway_contract/test_docs.py",
    "tests/gateway_contract/test_recording.py",
    "tests/saleor_testing/",
    "tests/sandbox/",
    "tests/secrets/test_hunt.py",
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


def is_in_sample(test: str, percent: int, seed: str) -> bool:
    """Whether a test belongs to that share of all tests. Another seed makes another choice."""
    return crc32(f"{seed} {test}".encode()) % 100 < percent
