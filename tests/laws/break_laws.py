"""``make laws``: breaks each law of money in a copy of the program, and shows which of its tests turn red.

The tests are those that docs/laws-of-money.md names for the law. The exit status is 1 if a break stays green, if the
text that it changes is not there any more, or if a test is red in the program as it is.

    python -m tests.laws.break_laws [NUMBER OF A LAW ...]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from tests.conftest import REPOSITORY
from tests.laws.breaks import BREAKS, Break

_LEFT_AT_HOME = shutil.ignore_patterns(".git", ".venv", "data", "dist", "build", "*.sqlite*", "__pycache__", ".*_cache")
_RED = re.compile(r"^(?:FAILED|ERROR) \S+::(\S+)", re.MULTILINE)


def proofs_of(law: int) -> set[tuple[str, str]]:
    """Return the tests that the page names for a law: file and name of each."""
    page = (REPOSITORY / "docs" / "laws-of-money.md").read_text()
    chapter = re.split(r"^## ", page, flags=re.MULTILINE)[law]
    return set(re.findall(r"`(tests/[a-z_/]+\.py)::(\w+)`", chapter))


def turned_red(proofs: set[tuple[str, str]], root: Path) -> list[str]:
    """Run tests of the program at ``root``; return the names of those that fail, each once."""
    files, names = (sorted(set(part)) for part in zip(*proofs, strict=True))
    quietly = ["-q", "-rfE", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *quietly, *files, "-k", " or ".join(names)]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    red = {name.partition("[")[0] for name in _RED.findall(ran.stdout)}
    if ran.returncode not in (0, 1):  # nothing was tried: pytest itself stopped
        raise RuntimeError(f"pytest ended with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return sorted(red & set(names))


def broken(law: Break) -> list[str]:
    """Break a law in a copy of the program; return the tests that turn red. Raises LookupError: nothing to change."""
    with tempfile.TemporaryDirectory(prefix="laws-") as folder:
        copy = Path(folder) / "program"
        shutil.copytree(REPOSITORY, copy, ignore=_LEFT_AT_HOME)
        if not law.make(copy):
            raise LookupError(f"{law.old.strip()!r} is not in app/{law.where} any more: say anew how to break it")
        return turned_red(proofs_of(law.law), copy)


def main(numbers: list[int]) -> int:
    """Break the laws with these numbers, or all; show what came of it and return the exit status."""
    console, wrong = Console(), 0
    table = Table("Law", "What was broken", Column("What turned red", overflow="fold"), "Seconds")
    chosen = [each for each in BREAKS if not numbers or each.law in numbers]
    already = turned_red({proof for each in chosen for proof in proofs_of(each.law)}, REPOSITORY)
    if already:
        console.print(f"[red]Red before anything is broken:[/] {', '.join(already)}")
        return 1
    for number, each in enumerate(chosen, 1):
        console.print(f"{number} of {len(chosen)}: {each.what}", style="dim")
        began = time.monotonic()
        try:
            red = broken(each)
        except (LookupError, RuntimeError) as error:
            red, words = [], str(error)
        else:
            words = "\n".join(red) or "nothing: this law could be broken without anybody noticing"
        wrong += not red
        style = None if red else "red"
        table.add_row(str(each.law), each.what, words, f"{time.monotonic() - began:.0f}", style=style)
    console.print(table)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]]))
