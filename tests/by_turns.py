"""Which of the tests' cases are told on one kind of database in every run, and on the other in the long campaigns."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest

DATABASES = ("sqlite", "postgresql")


def take_turns(items: Iterable[pytest.Item], *, journeys: str = "tests/journeys/") -> None:
    """Leave half of what is told on both databases to the long campaigns, and let the databases take turns.

    That is half of a test's cases, if it has several; and of the journeys, which need many processes, every second.
    Each database has cases of each test, and each case is told on both by whoever runs everything.
    """
    journey = 0
    for cases in _cases_of_each_test(items):
        if cases[0][0].nodeid.startswith(journeys):
            turn, journey = journey, journey + len(cases)
        elif len(cases) > 1:
            turn = 0
        else:
            continue
        for number, case in enumerate(cases, turn):
            case[number % len(DATABASES)].add_marker("long")


def _cases_of_each_test(items: Iterable[pytest.Item]) -> Iterable[Sequence[Sequence[pytest.Item]]]:
    """Return each test as its cases, and each case as its items, one for each database; no others."""
    tests: defaultdict[str, defaultdict[str, dict[str, pytest.Item]]] = defaultdict(lambda: defaultdict(dict))
    for item in items:
        test, _, named = item.nodeid.partition("[")
        names = named.removesuffix("]").split("-")
        for database in DATABASES:
            if database in names:
                case = "-".join(name for name in names if name != database)
                tests[test][case][database] = item
    for cases in tests.values():
        both = [[case[database] for database in DATABASES] for case in cases.values() if len(case) == len(DATABASES)]
        if both:
            yield both
