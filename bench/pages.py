"""Compares the cost of the Dashboard's pages with a million payments to an empty store and one with a single page.

Each store has a process of the app and a PostgreSQL database of its own. They are requested one part after the other,
alternately, as a member of staff would. Milliseconds are from the request to the last byte of its answer, the median of
all requests; kB are those of the part. Each page should have less than 100 kB, take less than 50 ms, and at most twice
as long as in the empty store, where it has nothing to show.

    python -m bench.pages [--rows 1000000] [--times 30] [--path /payments ...] [--database URL] [--json]

The databases are made on the server at ``--database`` and dropped again. ``--path`` measures these alone.
Needs Linux: memory is read from /proc.
"""

import argparse
import hashlib
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID

from bench.staff import SHOPPER, File, Office, PageRequest, open_office
from bench.webhooks import POSTGRESQL

WARM_UP = 5
A_SINGLE_PAGE = 26
MOST_KB, MOST_MS, MOST_TIMES = 100, 50, 2
OTHERS = ("/attention", "/set-up")
"""Pages of other rooms that need no Saleor, measured as they are."""


@dataclass
class Page:
    """The times of a page in each store; None where there is no such page."""

    name: str
    empty: float | None
    single: float | None
    many: float
    kilobytes: float

    @property
    def times(self) -> float | None:
        """The ratio to an empty store, or to the smallest that has such a page."""
        least = self.empty or self.single
        return self.many / least if least else None

    @property
    def good(self) -> bool:
        """True when it meets the goals."""
        return self.kilobytes < MOST_KB and self.many < MOST_MS and (self.times or 1) <= MOST_TIMES


def pages(rows: int, rare_account: str) -> list[PageRequest]:
    """Return the pages to request in a store of that many payments."""
    number = max(5, rows // 2 // 100 * 100 + 5)  # has an order, a refund and a problem
    order = hashlib.md5(f"order{number}".encode(), usedforsecurity=False).hexdigest()
    created, refunded = (
        str(UUID(hashlib.md5(f"{what}{number}".encode(), usedforsecurity=False).hexdigest()))
        for what in ("payment", "refund")
    )
    begun = datetime.now(UTC) - timedelta(minutes=rows - number)
    days = {"from": f"{begun:%Y-%m-%d}+02:00", "to": f"{begun:%Y-%m-%d}+03:00"}

    def listed(name: str, **said: str) -> PageRequest:
        return PageRequest(name, f"/payments?{urlencode(said)}" if said else "/payments")

    return [
        listed("list, newest page"),
        listed("list, page in the middle", after=order),
        listed("search: order number", search=str(100000 + number)),
        listed("search: gateway order", search=order),
        listed("search: its beginning", search=order[:8]),
        listed("search: id of the payment", search=created),
        listed("search: id of a refund", search=refunded),
        PageRequest("search: e-mail address", "/payments", urlencode({"search": SHOPPER})),
        listed("search: amount that many paid", search="100.00"),
        listed("search: amount that few paid", search="1234.57"),
        listed("search: nothing is found", search="no such payment"),
        listed("filter: only with a problem", problems="1"),
        listed("filter: paid", status="paid"),
        listed("filter: failed", status="failed"),
        listed("filter: pending", status="pending"),
        listed("filter: refunded", status="refunded"),
        listed("filter: channel", channel="uah"),
        listed("filter: rare channel", channel="pop-up"),
        listed("filter: rare account", account=rare_account),
        listed("filter: a day", **days),
        listed("filter: channel, a day", channel="uah", **days),
        PageRequest("a payment", f"/payments/{order}"),
        PageRequest("overview, today", "/?days=1"),
        PageRequest("overview, 30 days", "/?days=30"),
        *(PageRequest(path, path) for path in OTHERS),
    ]


def measure_page(staff: Sequence[Office], asked: Sequence[PageRequest], times: int) -> Page | None:
    """Request a page of each store alternately, so that other load of the machine affects all alike."""
    taken: list[list[float]] = [[] for _ in staff]
    size = 0
    for round_ in range(times + WARM_UP):
        for number, (client, page) in enumerate(zip(staff, asked, strict=True)):
            status, size, seconds = client.ask(page)
            if status == 200 and round_ >= WARM_UP:
                taken[number].append(seconds * 1000)
    empty, single, many = (statistics.median(times) if times else None for times in taken)
    if many is None:
        print(f"{asked[-1].name} is not measured: there is no such page", file=sys.stderr)
        return None
    return Page(asked[-1].name, empty, single, many, size / 1000)


def compare(server: str, rows: int, times: int, paths: Sequence[str]) -> tuple[list[Page], File]:
    """Measure all pages in an empty store, in one with a single page of payments, and in one with many."""
    with ExitStack() as stack:
        staff: list[Office] = []
        asked: list[Sequence[PageRequest]] = []
        for many in (rows, A_SINGLE_PAGE, 0):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            office = stack.enter_context(open_office(server, many, folder))
            staff.insert(0, office)
            rare = office.store.accounts[2]
            asked.insert(0, [PageRequest(path, path) for path in paths] or pages(many, rare))
        found = [measure_page(staff, pages, times) for pages in zip(*asked, strict=True)]
        return [page for page in found if page is not None], staff[-1].file()


def as_table(results: Sequence[Page], rows: int) -> str:
    """Return the table."""
    lines = [f"{'':32}{'empty':>9}{'1 page':>9}{rows:>11,}{'times':>8}{'kB':>8}"]
    for result in results:
        empty, single, many, times = (
            "-" if number is None else f"{number:.1f}"
            for number in (result.empty, result.single, result.many, result.times)
        )
        mark = "" if result.good else "  <-"
        lines.append(f"{result.name:32}{empty:>9}{single:>9}{many:>11}{times:>8}{result.kilobytes:8.1f}{mark}")
    return "\n".join(lines)


def main(asked: argparse.Namespace) -> None:
    """Measure and print."""
    results, file = compare(asked.database, asked.rows, asked.times, asked.path or ())
    if asked.json:
        document = {"pages": [asdict(result) | {"times": result.times} for result in results], "file": asdict(file)}
        print(json.dumps(document, indent=2))
        return
    print(
        f"{asked.rows} payments, each page {asked.times} times, milliseconds, Python {platform.python_version()}, ",
        end="",
    )
    print(f"{os.cpu_count()} processors")
    print(as_table(results, asked.rows))
    print(
        f"all as CSV: {file.lines} lines, {file.megabytes:.0f} MB in {file.seconds:.0f} s; "
        f"memory before {file.memory_before:.0f} MiB, at most {file.memory_peak:.0f} MiB"
    )
    bad = [result.name for result in results if not result.good]
    print(f"beyond {MOST_KB} kB, {MOST_MS} ms or {MOST_TIMES} times: {', '.join(bad) or 'none'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--path", action="append", metavar="PATH", help="measure this page alone, below the app's path")
    parser.add_argument("--database", default=POSTGRESQL, metavar="URL", help="where a PostgreSQL server is")
    parser.add_argument("--json", action="store_true")
    main(parser.parse_args())
