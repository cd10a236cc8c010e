"""Breaks laws and puts old faults back in a copy of the program, and shows whether the model finds them.

    python -m tests.model.breaks [--states N] [PART OF WHAT IS BROKEN ...]

Breaks of what the model does not play (clients, queues, the database) are left out: they are not in ``app.rules``.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from integration_base_tests.places import REPOSITORY
from tests.laws.breaks import BREAKS, Break
from tests.model.faults import FAULTS

FOUND_IN: Mapping[str, str] = {
    "an intent that nobody has concluded is not looked up": "two refunds",
    "an outcome that is not known is a failure": "two refunds",
    "a page of which nobody has the link is not closed": "a page is paid",
    "a second operation does not wait for the first": "two refunds",
    "what staff asked before is asked again": "two refunds",
    "a late word of the gateway takes an operation back": "the bank takes its time",
    "each telling takes the reference that is known by then": "charged in part",
    "what the gateway shows is not bound to what we have in flight": "two refunds",
    "a page stays open beside another attempt that is paid": "two attempts compete",
    "whoever learns that an attempt has come further forgets the others": "two attempts compete",
    "a success after a failure is not booked": "two cards on one page",
    "the turn of a decided dispute is not told": "a dispute turns",
    "a success is answered while an earlier failure is untold": "two cards on one page",
    "a granted refund whose answer Saleor has not read is not requested again": "a granted refund",
    "a granted refund that is requested again is paid out again": "a granted refund",
    "what somebody else did is booked under an operation of ours that waits for its turn": (
        "refunds here and in the portal"
    ),
    "a refund by others is told before the charge that it gives back": "charged and refunded by others",
}
"""In which scenario the model finds what is broken."""

NOT_FOUND: Mapping[str, str] = {
    "a clock that is put ahead makes a long silence of a short one": "no clock of the model jumps",
    "a look-up that does not show the payment is believed": (
        "the gateway must lose an answer and then show nothing at the last look-up: two faults, twenty moves apart"
    ),
    "what the gateway says is not compared with what was asked": "the gateway of the model says what was asked",
    "what others did in silence is not looked for": "the night's comparison finds it as well, a day later",
    "a shopper pays the price before the gift card": "the model has one price and no gift cards",
    "what somebody has looked at is shown no more, though it is open": "nobody in the model looks at alerts",
    "a page that cannot be closed is no alert": "the gateway of the model refuses no closing for an hour",
    "a time that cannot be decides the day of the money": "the records of the model have no times",
    "every gateway is taken for the one that is publicly known": "the model has no client, so no dialects",
    "an operation that a record has named is undone by silence": "as with a look-up that does not show the payment",
    "Saleor's own reference of a request whose answer it has not read is not taken": (
        "only requests of the same moment can take each other's reference: staff of the model ask one after the other"
    ),
    "two attempts that begin at one moment do not see each other": "the review of the attempts finds them as well",
    "a page whose time to pay is over is not closed": "the gateway of the model closes it itself",
}
"""What the model does not find, and why: tests of another kind show it (``make laws``)."""

_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "*.sqlite*", "__pycache__", ".*_cache")
_BROKEN = re.compile(r"^(\d+: .*|a fair .*|books .*|Saleor .*)$", re.MULTILINE)


def played_breaks() -> Sequence[Break]:
    """Return the breaks of laws that lie in the rules, and the old faults."""
    in_rules = [law for law in BREAKS if all(place.startswith("app.rules") for place in law.changes)]
    return [*in_rules, *FAULTS]


def find_break(broken: Break, *, states: int, scenario: str | None = None) -> str | None:
    """Explore a copy of the program in which something is broken; return what is found of it, or None.

    Raises RuntimeError if the exploration itself ends with an error.
    """
    with tempfile.TemporaryDirectory(prefix="model-") as folder:
        copy = Path(folder) / "program"
        for house in ("app", "manifest", "packages", "tests"):
            shutil.copytree(REPOSITORY / house, copy / house, ignore=_LEFT_OUT)
        broken.make(copy)
        paths = [copy, *copy.glob("packages/*"), *copy.glob("packages/*/tests")]
        command = [sys.executable, "-m", "tests.model", "--until-found", "--states", str(states)]
        ran = subprocess.run(
            [*command, *([scenario] if scenario else [])],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
            capture_output=True,
            text=True,
            check=False,
        )
    if ran.returncode == 0:
        return None
    found = _BROKEN.search(ran.stdout)
    if found is None:
        raise RuntimeError(ran.stdout[-1000:] + ran.stderr[-2000:])
    return found[1]


def main(arguments: list[str]) -> int:
    """Show of each break what the model finds; return 1 if it does not find one that it should."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.breaks", description=__doc__)
    parser.add_argument("parts", nargs="*", help="parts of what is broken; without one, all")
    parser.add_argument("--states", type=int, default=2_000, help="the most states to explore of each scenario")
    chosen = parser.parse_args(arguments)
    missed = 0
    for broken in played_breaks():
        if chosen.parts and not any(part in broken.what for part in chosen.parts):
            continue
        if broken.what in NOT_FOUND:
            print(f"{broken.law:2}  {broken.what}: not found ({NOT_FOUND[broken.what]})", flush=True)
            continue
        found = find_break(broken, states=chosen.states, scenario=FOUND_IN.get(broken.what))
        missed += found is None
        print(f"{broken.law:2}  {broken.what}: {found or 'NOT FOUND'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
