"""Which of the tests' cases are told on one kind of database in every run, and on the other in the long campaigns."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from zlib import crc32

import pytest

DATABASES = ("sqlite", "postgresql")


def alternate_databases(items: Iterable[pytest.Item], *, on_both: str = "tests/db/") -> None:
    """Leave half of what is told on both databases to the long campaigns: each case is told on one of the two now.

    The cases of a test take turns, and which database has the first one depends on the test's name alone, so that it is
    the same whatever else is run. In the room of the database itself a test with one case is told on both.
    """
    for test, cases in _cases_of_each_test(items):
        if len(cases) == 1 and test.startswith(on_both):
            continue
        for turn, case in enumerate(cases, crc32(test.encode())):
            case[turn % len(DATABASES)].add_marker("long")


def _cases_of_each_test(items: Iterable[pytest.Item]) -> Iterable[tuple[str, Sequence[Sequence[pytest.Item]]]]:
    """Return each test's name and cases, and each case as its items, one for each database; no others."""
    tests: defaultdict[str, defaultdict[str, dict[str, pytest.Item]]] = defaultdict(lambda: defaultdict(dict))
    for item in items:
        test, _, named = item.nodeid.partition("[")
        names = named.removesuffix("]").split("-")
        for database in DATABASES:
            if database in names:
                case = "-".join(name for name in names if name != database)
                tests[test][case][database] = item
    for test, cases in tests.items():
        both = [[case[database] for database in DATABASES] for case in cases.values() if len(case) == len(DATABASES)]
        if both:
            yield test, both
