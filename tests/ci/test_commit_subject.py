"""The hook for commits demands the subject "scope: verb object" in at most 72 characters."""

import subprocess
from pathlib import Path

import pytest
import yaml

from integration_base_tests.places import REPOSITORY

HOOKS = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
LONGEST = "sync: mend " + "x" * 61


@pytest.mark.parametrize(
    ("subject", "accepted"),
    [
        ("sync: mend the order of events", True),
        ("tests/ci, docs: name what is flaky", True),
        (LONGEST, True),
        (f"{LONGEST}x", False),
        ("Merge branch 'main'", True),
        ('Revert "sync: mend the order of events"', True),
        ("fixup! sync: mend the order of events", True),
        ("Mend the order of events", False),
        ("sync: mend", False),
        ("sync: mend the order of events.", False),
        ("Sync: mend the order of events", False),
        ("", False),
    ],
)
def test_a_subject_is_accepted_or_refused(tmp_path: Path, subject: str, accepted: bool) -> None:
    (message := tmp_path / "message").write_text(f"{subject}\n\nWhy.\n")
    [hook] = [hook for hook in HOOKS if hook["id"] == "commit-subject"]
    ran = subprocess.run([REPOSITORY / hook["entry"], message], capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) is accepted
    assert bool(ran.stderr) is not accepted


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_run_what_is_installed_here(hook: dict[str, str]) -> None:
    program = hook["entry"].split()[0]
    assert hook["language"] == "system"
    assert program.startswith((".venv/bin/", ".ci/"))
