"""The timeline for a person: colours and a spinner at a terminal, plain lines anywhere else."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from app.sandbox.demo.telling import Exchange, Party, Place, Trouble

_COLOURS = {
    Party.SHOPPER: "yellow",
    Party.SHOP: "yellow",
    Party.STAFF: "blue",
    Party.OPERATOR: "blue",
    Party.SALEOR: "magenta",
    Party.APP: "green",
    Party.GATEWAY: "cyan",
}
_WIDTH_WITHOUT_TERMINAL = 120
_WHEN = 8
_WHO = 18
_TOOK = 6


def standard_console() -> Console:
    """Return the console of this process: as wide as the terminal is, and wide enough where there is none."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, emoji=False, width=_WIDTH_WITHOUT_TERMINAL)
    return console


class TerminalTeller:
    """Writes to a console. Times are seconds since the beginning; from when the person plays, those of the clock."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = datetime.now(UTC)
        self._live = False

    def begin(self) -> None:
        """Say what this is."""
        self._began = datetime.now(UTC)
        self._console.print()
        self._console.print(Text("Saleor Gateway: the demo", "bold"))
        self._console.print(
            Text("A Saleor, the app and a gateway, three processes on this machine. No account, no money.", "dim")
        )

    def step(self, number: int, name: str, title: str) -> None:  # noqa: ARG002 - the name is for programs
        """Begin a chapter."""
        self._console.print()
        self._console.print(Text.assemble((f" {number} ", "bold reverse"), "  ", (title, "bold")))

    def exchange(self, exchange: Exchange) -> None:
        """One line, or more where it is long: when, who to whom, what, how long."""
        words = Text(exchange.said)
        if exchange.answer:
            words.append(" ← ", "dim")
            words.append(exchange.answer, "red" if exchange.failed else "dim")
        self._row(self._when(exchange.at), _direction(exchange), words, Text(_took(exchange.seconds), "dim"))

    def check(self, what: str) -> None:
        """A mark and what is true."""
        self._row(Text(""), Text("✓", "bold green", justify="right"), Text(what, "green"), Text(""))

    def waiting(self, what: str) -> AbstractContextManager[object]:
        """A spinner; nothing where nobody could see it turn."""
        if not self._console.is_terminal:
            return nullcontext()
        return self._console.status(Text(what, "dim"), spinner="dots")

    def trouble(self, trouble: Trouble) -> None:
        """What should have been true, what is, and the last words of whoever may know why."""
        self._row(Text(""), Text("✗", "bold red", justify="right"), Text(trouble.expected, "bold red"), Text(""))
        self._row(Text(""), Text("instead:", "red", justify="right"), Text(trouble.found), Text(""))
        self._console.print()
        self._console.print(Text(f"This step went wrong: {trouble.title}", "bold red"))
        if trouble.log:
            self._console.print(Text(f"The last lines of {trouble.log_name}:", "dim"))
            self._console.print(Panel(Text("\n".join(trouble.log)), box=box.SIMPLE, padding=(0, 1)))

    def end(self, checks: int, seconds: float) -> None:
        """How much was right, and in what time."""
        self._console.print()
        self._console.print(
            Text.assemble(("✓ ", "bold green"), (f"All {checks} checks are right", "bold"), f", after {seconds:.1f} s.")
        )

    def places(self, places: Sequence[Place], hints: Sequence[str]) -> None:
        """A table of addresses, and what else can be done."""
        self._live = True
        self._console.print()
        self._console.print(Text("Now it is your turn. These pages are open:", "bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for place in places:
            address = Text(place.url, f"cyan link {place.url}")
            table.add_row(f"  {place.name}", Text.assemble((place.what_for, "dim"), "\n", address))
        self._console.print(table)
        self._console.print()
        for hint in hints:
            self._console.print(Text(hint, "dim"), soft_wrap=True)
        self._console.print(Text("What you do there is told below. Ctrl-C ends everything.", "bold"))
        self._console.print()

    def farewell(self) -> None:
        """The shell's ``^C`` stands on a line of its own before it."""
        self._console.print()
        self._console.print(Text("The demo has ended; nothing of it runs any more.", "dim"))

    def _row(self, *cells: Text) -> None:
        grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
        grid.add_column(width=_WHEN, no_wrap=True, justify="right")
        grid.add_column(width=_WHO, no_wrap=True)
        grid.add_column(ratio=1, overflow="fold")
        grid.add_column(width=_TOOK, no_wrap=True, justify="right")
        grid.add_row(*cells)
        for line in self._lines(grid):
            self._console.print(line, soft_wrap=True)

    def _lines(self, grid: Table) -> Iterable[Text]:
        """The grid line by line, without the blanks that fill it up: nicer to copy, and in files."""
        for segments in self._console.render_lines(grid, pad=False):
            line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
            line.rstrip()
            yield line

    def _when(self, at: datetime) -> Text:
        if self._live:
            return Text(f"{at.astimezone():%H:%M:%S}", "dim")
        return Text(f"{max(0.0, (at - self._began).total_seconds()):.2f} s", "dim")


def _direction(exchange: Exchange) -> Text:
    speaker, hearer = exchange.speaker, exchange.hearer
    return Text.assemble((f"{speaker.value:>8}", _COLOURS[speaker]), (" → ", "dim"), (hearer.value, _COLOURS[hearer]))


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
