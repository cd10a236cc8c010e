"""Prints how many steps a payment takes through the code: ``python -m tests.trace``."""

import argparse
import asyncio
import json
import logging
from collections.abc import Sequence

import structlog

from tests.trace.played import Story, play

_COLUMNS = ("files", "functions", "changes", "crossings", "transactions", "statements", "(budget)", "loads")


def numbers(story: Story) -> dict[str, int]:
    """Return what was counted, by its name, and the budget of statements."""
    counts = story.counts
    return {
        "files": len(counts.files),
        "functions": counts.functions,
        "changes": counts.changes,
        "crossings": counts.crossings,
        "transactions": counts.transactions,
        "statements": counts.statements,
        "statement_budget": story.budget,
        "loads": counts.loads,
    }


def as_json(stories: Sequence[Story]) -> str:
    """Return the numbers, and the files that were entered, in order."""
    return json.dumps({story.name: numbers(story) | {"entered": story.counts.files} for story in stories}, indent=2)


def as_table(stories: Sequence[Story], *, files: bool) -> str:
    """Return the numbers for people; with ``files``, the files too."""
    lines = [f"{'':50}" + "".join(f"{name:>13}" for name in _COLUMNS)]
    for story in stories:
        lines.append(f"{story.name:50}" + "".join(f"{number:13}" for number in numbers(story).values()))
        lines += [f"    {file}" for file in story.counts.files if files]
    return "\n".join(lines)


def main() -> None:
    """Play, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.trace",
        description="Play a payment, and count its steps through the code. tests/trace/count.py says what is counted.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the files that were entered")
    parser.add_argument("--files", action="store_true", help="name the files, in the order in which they were entered")
    said = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    stories = asyncio.run(play())
    print(as_json(stories) if said.json else as_table(stories, files=said.files))


if __name__ == "__main__":
    main()
