"""``python -m tests.mutations``: how many small changes of what moves money would no test notice?

First it is written down once which test runs which line (``--reach`` keeps that for another run); then each mutant is
tried against the tests that run its line: at first those that have noticed a change of the same function before, and
the quickest; if it survives these, all the others.
"""

import argparse
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
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from tests.mutations.mutants import Mutant, mutants_of
from tests.mutations.places import LEFT_OUT, REPOSITORY, ROOMS, TESTS, modules_of
from tests.mutations.reach import Reach
from tests.mutations.trial import Outcome, failed_tests, import_all, import_and_run_tests, outcome_of, run_tests

_AT_FIRST, _MOST_TESTS = 40, 2000  # tests for one mutant
_PATIENCE = 1800.0  # seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Try mutants and show which survived; the exit status is 0 unless nothing could be tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument(
        "only", nargs="*", help="places that begin so, for example app/store or app/store/moves.py:move"
    )
    parser.add_argument("--examples", type=int, default=100, help="how many mutants to try (0: all)")
    parser.add_argument("--seed", type=int, default=1, help="which ones are chosen")
    parser.add_argument("--reach", type=Path, help="a folder that keeps which tests run which lines")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="which tests are asked")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args(arguments)
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        reach = said.reach or Path(folder) / "reach"
        if not list(reach.glob("*.json")) if reach.exists() else True:
            console.print("Running all tests once, to see which of them run which lines...")
            _record_reach(reach, said.tests)
        chosen = _choose([place.rstrip("/") for place in said.only] or list(ROOMS), said.examples, said.seed)
        console.print(f"{len(chosen)} mutants (--seed {said.seed})")
        outcomes = _try_all(chosen, Reach.read(reach), Path(folder), processes=said.processes, console=console)
    counted = Counter(outcomes.values())
    survivors = [str(mutant) for mutant, outcome in outcomes.items() if outcome is not Outcome.KILLED]
    if said.json:
        print(json.dumps({"tried": len(outcomes), **counted, "survivors": survivors}, indent=1))
    else:
        for mutant, outcome in outcomes.items():
            if outcome is not Outcome.KILLED:
                print(f"{outcome}: {mutant}")
        print(f"{len(outcomes)} tried: {', '.join(f'{number} {name}' for name, number in counted.most_common())}")
    return 0 if outcomes else 1


def _record_reach(reach: Path, tests: Sequence[str]) -> None:
    reach.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "-p", "tests.mutations.reach"]
    path = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"MUTATION_REACH": str(reach), "PYTHONPATH": path}
    subprocess.run(
        [*command, "-k", "not postgresql", "-m", LEFT_OUT, *tests],
        cwd=REPOSITORY,
        env=environment,
        check=False,
        stdout=sys.stderr,
    )


def _choose(only: Sequence[str], examples: int, seed: int) -> list[Mutant]:
    found = [
        mutant
        for room in ROOMS
        for path in modules_of(room)
        for mutant in mutants_of(path)
        if mutant.place.startswith(tuple(only))
    ]
    if examples and len(found) > examples:
        found = random.Random(seed).sample(found, examples)  # noqa: S311 - no secret
    return sorted(found, key=lambda mutant: (mutant.path, mutant.number))


@dataclass(slots=True)
class _Trial:
    """A mutant whose tests are running; ``more`` are all that are asked if it survives these."""

    mutant: Mutant
    more: Sequence[str]
    began: float = field(default_factory=time.monotonic)


def _try_all(
    mutants: Sequence[Mutant], reach: Reach, folder: Path, *, processes: int, console: Console
) -> dict[Mutant, Outcome]:
    outcomes: dict[Mutant, Outcome] = {}
    killers: dict[str, list[str]] = {}  # of each function, the latest first
    running: dict[int, _Trial] = {}
    there = import_all(TESTS)
    todo: list[tuple[Mutant, Sequence[str], int]] = [
        (mutant, [test for test in reach.tests_of(mutant) if test in there], _AT_FIRST) for mutant in reversed(mutants)
    ]
    with Progress(console=console) as progress:
        bar = progress.add_task("mutants", total=len(mutants))

        def came_out(mutant: Mutant, outcome: Outcome) -> None:
            outcomes[mutant] = outcome
            progress.advance(bar)
            if outcome is not Outcome.KILLED:
                console.print(f"{outcome}: {mutant}", soft_wrap=True, markup=False, highlight=False)

        while todo or running:
            while todo and len(running) < processes:
                mutant, tests, many = todo.pop()
                if not tests:
                    came_out(mutant, Outcome.UNREACHED)
                    continue
                known = [test for test in killers.get(mutant.place, ()) if test in tests]
                tests = [*known, *(test for test in tests if test not in known)][:_MOST_TESTS]
                child = os.fork()
                if not child:
                    run = run_tests if many == _AT_FIRST else import_and_run_tests
                    run(mutant, tests[:many], _log_of(mutant, folder))
                running[child] = _Trial(mutant, tests if many == _AT_FIRST else ())
            time.sleep(0.1)
            for child, trial in list(running.items()):
                ended, status = os.waitpid(child, os.WNOHANG)
                if not ended and time.monotonic() - trial.began <= _PATIENCE:
                    continue
                del running[child]
                if not ended:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    came_out(trial.mutant, Outcome.TIMED_OUT)
                    continue
                outcome, log = outcome_of(os.waitstatus_to_exitcode(status)), _log_of(trial.mutant, folder)
                if outcome is Outcome.SURVIVED and trial.more:
                    todo.append((trial.mutant, trial.more, _MOST_TESTS))
                    continue
                came_out(trial.mutant, outcome)
                if outcome is Outcome.KILLED:
                    of_place = killers.setdefault(trial.mutant.place, [])
                    of_place[:0] = [failed_test for failed_test in failed_tests(log) if failed_test not in of_place]
                if outcome is Outcome.BROKEN:
                    console.print(log.read_text()[-2000:], markup=False, highlight=False)
    return {mutant: outcomes[mutant] for mutant in mutants}


def _log_of(mutant: Mutant, folder: Path) -> Path:
    return folder / f"{'-'.join(mutant.path.parts)}-{mutant.number}.log"


if __name__ == "__main__":
    sys.exit(main())
