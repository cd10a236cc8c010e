"""Saleor's rules for the problems of an app: added up, cut, pushed out, dismissed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from saleor_app_sdk.testing.rules.problems import (
    MAX_PROBLEMS,
    Problem,
    ProblemRefusedError,
    add_problem,
    dismiss_problems,
)

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def add(problems: list[Problem], key: str = "keys:1", *, minutes: float = 0, **more: Any) -> Problem:
    said = {"message": "No keys", "threshold": None, "aggregation_minutes": 60, **more}
    return add_problem(
        problems, new_id=f"{len(problems)}-{minutes}", key=key, now=NOON + timedelta(minutes=minutes), **said
    )


def test_what_comes_again_within_the_period_is_counted() -> None:
    problems: list[Problem] = []
    add(problems)
    again = add(problems, minutes=60, message="Still no keys", threshold=2)
    assert problems == [again]
    assert (again.count, again.message, again.critical) == (2, "Still no keys", True)
    assert again.created_at == NOON
    assert not add(problems, minutes=61, threshold=9).critical  # a higher threshold makes less of it


def test_after_the_period_or_without_one_it_is_another_problem() -> None:
    problems: list[Problem] = []
    add(problems)
    add(problems, minutes=61)
    add(problems, minutes=61, aggregation_minutes=0)
    assert [problem.count for problem in problems] == [1, 1, 1]


def test_what_was_dismissed_is_another_problem_when_it_comes_back() -> None:
    problems: list[Problem] = []
    add(problems)
    dismiss_problems(problems, ids=None, keys=["keys:1", "no such"])
    add(problems, minutes=1)
    assert [problem.dismissed for problem in problems] == [True, False]
    dismiss_problems(problems, ids=[problems[1].id], keys=None)
    assert all(problem.dismissed for problem in problems)


def test_a_hundred_and_first_pushes_the_oldest_out() -> None:
    problems: list[Problem] = []
    for number in range(MAX_PROBLEMS + 1):
        add(problems, f"key-{number}", minutes=number)
    assert [problems[0].key, problems[-1].key, len(problems)] == ["key-1", "key-100", MAX_PROBLEMS]


def test_a_long_message_is_cut() -> None:
    assert add([], message="a" * 3000).message == "a" * 2045 + "..."


@pytest.mark.parametrize("wrong", [{"key": "ab"}, {"key": "k" * 129}, {"message": " a "}])
def test_what_saleor_refuses(wrong: dict[str, Any]) -> None:
    with pytest.raises(ProblemRefusedError) as refused:
        add([], **wrong)
    assert (refused.value.field, refused.value.code) == (next(iter(wrong)), "INVALID")


@pytest.mark.parametrize(
    ("which", "code"),
    [
        ({"ids": None, "keys": None}, "REQUIRED"),
        ({"ids": ["1"], "keys": ["a"]}, "INVALID"),
        ({"ids": None, "keys": ["a"] * 101}, "INVALID"),
    ],
)
def test_dismissals_that_saleor_refuses(which: dict[str, Any], code: str) -> None:
    with pytest.raises(ProblemRefusedError) as refused:
        dismiss_problems([], **which)
    assert refused.value.code == code
