"""``python -m tests.mutations``: how many small changes of what moves money would no test notice?

First it is written down once which test calls which function (``--reach`` keeps that for another run); then each mutant
is tried against the quickest tests that call its function.
"""

import argparse
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from tests.mutations.mutants import Mutant, mutants_of
from tests.mutations.places import REPOSITORY, ROOMS, TESTS
from tests.mutations.trial import BROKEN, Outcome, run_tests

_MOST_TESTS = 80  # for one mutant, the quickest first
_PATIENCE = 240.0  # seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Try mutants and show which survived; the exit status is 0 unless nothing could be tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("only", nargs="*", help="paths that begin so, for example app/payments/core")
    parser.add_argument("--examples", type=int, default=100, help="how many mutants to try (0: all)")
    parser.add_argument("--seed", type=int, default=1, help="which ones are chosen")
    parser.add_argument("--reach", type=Path, help="a folder that keeps which tests call which functions")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="which tests are asked")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args(arguments)
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        reach = said.reach or Path(folder) / "reach"
        if not list(reach.glob("*.json")) if reach.exists() else True:
            console.print("Running all tests once, to see which of them call which functions...")
            _write_down(reach, said.tests)
        reached, seconds = _read(reach)
        chosen = _choose([each.rstrip("/") for each in said.only] or list(ROOMS), said.examples, said.seed)
        console.print(f"{len(chosen)} mutants (--seed {said.seed})")
        outcomes = _try_all(chosen, reached, seconds, Path(folder), processes=said.processes, console=console)
    counted = Counter(outcomes.values())
    survivors = [
        str(mutant) for mutant, outcome in outcomes.items() if outcome in {Outcome.SURVIVED, Outcome.UNREACHED}
    ]
    if said.json:
        print(json.dumps({"tried": len(outcomes), **counted, "survivors": survivors}, indent=1))
    else:
        for each, outcome in outcomes.items():
            if outcome in {Outcome.SURVIVED, Outcome.UNREACHED}:
                print(f"{outcome}: {each}")
        print(f"{len(outcomes)} tried: {', '.join(f'{number} {name}' for name, number in counted.most_common())}")
    return 0 if outcomes else 1


def _write_down(reach: Path, tests: Sequence[str]) -> None:
    reach.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "-p", "tests.mutations.reach"]
    environment = os.environ | {"MUTATION_REACH": str(reach), "PYTHONPATH": str(REPOSITORY)}
    subprocess.run(
        [*command, "-k", "not postgresql", *tests], cwd=REPOSITORY, env=environment, check=False, stdout=sys.stderr
    )


def _read(reach: Path) -> tuple[dict[str, set[str]], dict[str, float]]:
    reached: dict[str, set[str]] = {}
    seconds: dict[str, float] = {}
    for file in reach.glob("*.json"):
        written = json.loads(file.read_text())
        seconds |= written["seconds"]
        for place, tests in written["reached"].items():
            reached.setdefault(place, set()).update(tests)
    return reached, seconds


def _choose(only: Sequence[str], examples: int, seed: int) -> list[Mutant]:
    found = [
        mutant
        for room in ROOMS
        for path in sorted((REPOSITORY / room).rglob("*.py"))
        if "migrations" not in path.parts and str(path.relative_to(REPOSITORY)).startswith(tuple(only))
        for mutant in mutants_of(path.relative_to(REPOSITORY))
    ]
    if examples and len(found) > examples:
        found = random.Random(seed).sample(found, examples)  # noqa: S311 - no secret
    return sorted(found, key=lambda each: (each.path, each.number))


def _try_all(
    mutants: Sequence[Mutant],
    reached: dict[str, set[str]],
    seconds: dict[str, float],
    folder: Path,
    *,
    processes: int,
    console: Console,
) -> dict[Mutant, Outcome]:
    outcomes: dict[Mutant, Outcome] = {}
    running: dict[int, tuple[Mutant, float]] = {}
    todo = list(reversed(mutants))
    _import_libraries()
    with Progress(console=console) as progress:
        bar = progress.add_task("mutants", total=len(mutants))
        while todo or running:
            while todo and len(running) < processes:
                mutant = todo.pop()
                tests = sorted(reached.get(f"{mutant.path}:{mutant.defined_at}", ()), key=lambda each: seconds[each])
                if not tests:
                    outcomes[mutant] = Outcome.UNREACHED
                    progress.advance(bar)
                    continue
                child = os.fork()
                if not child:
                    run_tests(mutant, tests[:_MOST_TESTS], _log_of(mutant, folder))
                running[child] = (mutant, time.monotonic())
            time.sleep(0.1)
            for child, (mutant, began) in list(running.items()):
                ended, status = os.waitpid(child, os.WNOHANG)
                if not ended and time.monotonic() - began > _PATIENCE:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    outcomes[mutant] = Outcome.TIMED_OUT
                elif ended:
                    code = os.waitstatus_to_exitcode(status)
                    if code == BROKEN:
                        raise RuntimeError(f"{mutant} could not be tried: {_log_of(mutant, folder).read_text()}")
                    outcomes[mutant] = Outcome.KILLED if code else Outcome.SURVIVED
                else:
                    continue
                del running[child]
                progress.advance(bar)
                if outcomes[mutant] is Outcome.SURVIVED:
                    console.print(f"survived: {mutant}")
    return {each: outcomes[each] for each in mutants}


def _log_of(mutant: Mutant, folder: Path) -> Path:
    return folder / f"{'-'.join(mutant.path.parts)}-{mutant.number}.log"


def _import_libraries() -> None:
    """Import what takes long, once for all children: nothing of the app, and nothing that is a plugin of pytest."""
    for name in ("sqlalchemy.ext.asyncio", "sqlmodel", "pydantic", "graphql", "joserfc.jwk", "alembic.command"):
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
