"""``make fuzz``: looks for inputs that break a parser, guided by the lines that they reach; other ones each time.

An input that breaks something is kept in the corpus, where each run of the tests tries it, and so is one that takes
longer than 20 seconds, which ends the program. ``--keep`` also keeps those that reach lines which nothing else reaches.
"""

import argparse
import faulthandler
import hashlib
import sys
import time
from dataclasses import replace
from random import randrange

from tests.fuzz.engine import Fuzzer
from tests.fuzz.targets import CORPUS, TARGETS, Target


def with_time_limit(target: Target) -> Target:
    """Return the same parser, which leaves an input that it never comes to an end with in the corpus."""
    kept = CORPUS / target.name / "broke-by-taking-too-long"

    def take(text: bytes) -> None:
        kept.write_bytes(text)
        faulthandler.dump_traceback_later(20, exit=True)
        try:
            target.take(text)
        finally:
            faulthandler.cancel_dump_traceback_later()
            kept.unlink()

    return replace(target, take=take)


def main(arguments: list[str]) -> int:
    """Fuzz the named targets, or all, for some time each; return 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="which parsers; none: all")
    parser.add_argument("--seconds", type=float, default=60, help="how long, for each")
    parser.add_argument("--seed", type=int, default=randrange(10**6), help="the same story again")  # noqa: S311
    parser.add_argument("--keep", action="store_true", help="keep what reaches new lines in the corpus")
    asked = parser.parse_args(arguments)
    wrong = 0
    for name in asked.targets or TARGETS:
        fuzzer = Fuzzer(with_time_limit(TARGETS[name]), asked.seed, guided=True)
        end, tried = time.monotonic() + asked.seconds, 0

        def over(end: float = end) -> bool:
            nonlocal tried
            tried += 1
            return time.monotonic() >= end

        found = fuzzer.run(sys.maxsize, over)
        print(
            f"{name}: seed {asked.seed}, {tried} inputs, {len(fuzzer.reached)} lines, {len(fuzzer.new)} reach new ones"
        )
        kept = [("reaches", text) for text in fuzzer.new] if asked.keep else []
        if found is not None:
            wrong += 1
            print(found)
            kept.append(("broke", found.text))
        for what, text in kept:
            (CORPUS / name / f"{what}-{hashlib.sha256(text).hexdigest()[:12]}").write_bytes(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
