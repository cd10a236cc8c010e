"""A server that is missing takes one line at the end of a run, however many tests need it; in CI it fails them."""

import os
import subprocess
import sys

from integration_base_tests.places import REPOSITORY

NOBODY_LISTENS = {"TEST_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/postgres"}


def test_each_reason_is_one_line() -> None:
    ran = run_without_postgresql()
    skipped = [line for line in ran.stdout.splitlines() if "SKIPPED" in line]
    assert ran.returncode == 0, ran.stdout
    assert len(skipped) == 1, skipped
    number, _, reason = skipped[0].removeprefix("SKIPPED ").partition(" tests: ")
    assert int(number) == 2
    assert reason.startswith("a PostgreSQL server at TEST_DATABASE_URL (127.0.0.1:1: ")


def test_nothing_may_be_skipped_in_ci() -> None:
    ran = run_without_postgresql(CI="true")
    assert ran.returncode == 1
    assert "nothing may be skipped here" in ran.stdout
    assert "SKIPPED" not in ran.stdout


def run_without_postgresql(**environment: str) -> subprocess.CompletedProcess[str]:
    usual = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/db/test_columns.py"]
    return subprocess.run(
        command, cwd=REPOSITORY, env=usual | NOBODY_LISTENS | environment, capture_output=True, text=True, check=False
    )
