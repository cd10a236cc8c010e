"""Explores each scenario and prints what was explored: ``make model`` (ARGS="--states 20000 --faults 2 refunds")."""

import argparse
import sys
from time import monotonic

from tests.model.explore import explore
from tests.model.scenarios import SCENARIOS


def main(arguments: list[str]) -> int:
    """Explore; return 1 if something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="parts of their names; without one, all")
    parser.add_argument("--states", type=int, default=20_000, help="the most states to explore of each")
    parser.add_argument("--faults", type=int, help="how much may go wrong on one way")
    parser.add_argument("--until-found", action="store_true", help="end with the first scenario that finds something")
    parser.add_argument("--found", type=int, default=1, help="the most counter-examples of each")
    chosen = parser.parse_args(arguments)
    found = 0
    print(f"{'scenario':34}{'states':>9}{'transitions':>13}{'depth':>7}{'seconds':>9}")
    for scenario in SCENARIOS:
        if chosen.scenarios and not any(part in scenario.name for part in chosen.scenarios):
            continue
        began = monotonic()
        explored = explore(scenario.begin(chosen.faults), most_states=chosen.states, most_found=chosen.found)
        row = f"{scenario.name:34}{explored.states:9,}{explored.transitions:13,}{explored.depth:7}"
        print(f"{row}{monotonic() - began:9.1f}{'  all of them' if explored.complete else ''}", flush=True)
        for example in explored.found:
            print(example)
        found += len(explored.found)
        if found and chosen.until_found:
            break
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
