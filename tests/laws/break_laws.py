"""``make laws``: breaks each law of money in a copy of the program, and shows which of its tests turn red.

The tests are those that bear the law's mark. The exit status is 1 if a break stays green, if what it changes is not
there any more, or if a test is red in the program as it is.

    python -m tests.laws.break_laws [NUMBER OF A LAW ...]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from integration_base_tests.places import REPOSITORY
from tests.laws.breaks import BREAKS, Break
from tests.marked.marks import MarkedTest, marked_with
from tests.marked.page import LAWS_OF_MONEY

_LEFT_AT_HOME = shutil.ignore_patterns(".git", ".venv", "data", "dist", "build", "*.sqlite*", "__pycache__", ".*_cache")
_RED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE)


def failed_tests(tests: Iterable[MarkedTest], root: Path) -> list[str]:
    """Run tests of the program at ``root``; return the names of those that fail, each once."""
    chosen = {str(test): test.name.rpartition("::")[2] for test in tests}
    quietly = ["-q", "-rfE", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *quietly, *chosen]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [root, *root.glob("packages/*")])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "300",
    }
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):  # nothing was tried: pytest itself stopped
        raise RuntimeError(f"pytest ended with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return sorted({chosen[test] for test in _RED.findall(ran.stdout) if test in chosen})


def tests_that_notice(law: Break) -> list[str]:
    """Break a law in a copy of the program; return the tests that turn red. Raises LookupError: it cannot be broken."""
    with tempfile.TemporaryDirectory(prefix="laws-") as folder:
        copy = Path(folder) / "program"
        shutil.copytree(REPOSITORY, copy, ignore=_LEFT_AT_HOME)
        law.make(copy)
        return failed_tests(marked_with(law.law, LAWS_OF_MONEY.mark.tests(copy)), copy)


def main(numbers: list[int]) -> int:
    """Break the laws with these numbers, or all; show what came of it and return the exit status."""
    console, wrong = Console(), 0
    table = Table("Law", "What was broken", Column("What turned red", overflow="fold"), "Seconds")
    chosen = [broken for broken in BREAKS if not numbers or broken.law in numbers]
    laws = {broken.law for broken in chosen}
    already = failed_tests((test for test in LAWS_OF_MONEY.mark.tests() if laws & test.claims), REPOSITORY)
    if already:
        console.print(f"[red]Red before anything is broken:[/] {', '.join(already)}")
        return 1
    for number, broken in enumerate(chosen, 1):
        console.print(f"{number} of {len(chosen)}: {broken.what}", style="dim")
        began = time.monotonic()
        try:
            red = tests_that_notice(broken)
        except (LookupError, RuntimeError) as error:
            red, words = [], str(error)
        else:
            words = "\n".join(red) or "nothing: this law could be broken without anybody noticing"
        wrong += not red
        style = None if red else "red"
        table.add_row(str(broken.law), broken.what, words, f"{time.monotonic() - began:.0f}", style=style)
    console.print(table)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]]))
