"""``make chaos``: plays generated stories, different ones in each run, until one breaks a law.

python -m tests.chaos --examples 20000
python -m tests.chaos --split              of a marketplace that divides by percentages
python -m tests.chaos --lines              of a marketplace that divides by what is in the basket
python -m tests.chaos --grants             of orders that are paid, and of refunds that staff grant
python -m tests.chaos --seed 4711          the stories of an earlier run again
python -m tests.chaos --database postgresql://...   an empty database, instead of SQLite
"""

import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

import typer
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tests.chaos.chance import granted_refund_stories, stories
from tests.chaos.environment import Environment, open_environment
from tests.chaos.shares import BY_LINES, MARKET
from tests.chaos.story import Story

_AT_ONCE = 200  # stories per seed
console = Console(highlight=False, soft_wrap=True)


def main(
    examples: Annotated[int, typer.Option(min=1, help="How many stories.")] = 10_000,
    longest: Annotated[int, typer.Option(min=1, help="At most so many steps after the beginning.")] = 12,
    first: Annotated[int | None, typer.Option("--seed", help="Where chance begins.")] = None,
    database: Annotated[str | None, typer.Option(help="An empty PostgreSQL database.")] = None,
    *,
    split: Annotated[bool, typer.Option("--split", help="Of a marketplace: everybody has a percentage.")] = False,
    lines: Annotated[bool, typer.Option("--lines", help="Of a marketplace: each line is somebody's.")] = False,
    grants: Annotated[bool, typer.Option("--grants", help="Of orders that are paid, and of granted refunds.")] = False,
) -> None:
    """Make up stories and tell them. The first that breaks a law is made as short as it gets, and told in full."""
    start = secrets.randbelow(1_000_000) if first is None else first
    strategy = granted_refund_stories(longest) if grants else stories(longest)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        open_environment(database, BY_LINES if lines else MARKET if split else None) as environment,
        Progress(*columns, TimeRemainingColumn(), console=console) as progress,
    ):
        bar = progress.add_task("stories", total=examples)
        for number in range(-(-examples // _AT_ONCE)):
            progress.update(bar, description=f"seed {start + number}")
            most = min(_AT_ONCE, examples - number * _AT_ONCE)
            broken = _play_stories(environment, start + number, most, strategy, lambda: progress.advance(bar))
            if broken is not None:
                progress.stop()
                _show(environment, start + number, *broken)
                raise typer.Exit(1)
    console.print(f"{examples} stories, and the laws hold.")


def _play_stories(
    environment: Environment, first: int, examples: int, strategy: SearchStrategy[Story], tick: Callable[[], None]
) -> tuple[Story, Exception] | None:
    """Play stories; return the shortest that breaks a law, and its error."""
    broken: tuple[Story, Exception] | None = None

    @seed(first)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategy)
    def the_laws_hold(story: Story) -> None:
        nonlocal broken
        try:
            environment.play(story)
        except Exception as error:
            broken = (story, error)
            raise
        if broken is None:
            tick()

    try:
        the_laws_hold()
    except Exception:  # noqa: BLE001 - shown by ``_show``
        assert broken is not None
        return broken
    return None


def _show(environment: Environment, number: int, story: Story, error: Exception) -> None:
    console.print(f"\n[bold red]A law is broken:[/] {error}\n", markup=True)
    with suppress(Exception):  # it fails again, and has logged by then what happened
        environment.play(story)
    console.print("What happened:\n")
    for line in environment.log:
        console.print(f"  {line}", markup=False)
    console.print(f"\nThe story, for ALWAYS in tests/chaos/always.py (seed {number}):\n")
    console.print(str(story), markup=False)


if __name__ == "__main__":
    typer.run(main)
