"""Compares costs with millions of payments to those with a thousand: they should hardly be higher.

Two stores, each with a process of the app and a database of its own, are measured alternately, so that other load of
the machine affects both alike; a payment in one, then in the other. Milliseconds, the median of all times, and the
quotient. ``the worker's part``: claims of all kinds, the notification posted, its event reported, by an otherwise idle
worker. ``claims, nothing due``: a worker that looks for work and finds none. All other payments have ended: their
notifications are processed and their events delivered, and stay in the tables.

    python -m bench.growth [--rows 1000000] [--few 1000] [--times 60] [--sqlite] [--database URL] [--json]

The databases are made on the PostgreSQL server at ``--database`` and dropped again; for ``--sqlite`` they are copied to
files. A million payments are 4 GB.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from app.bootstrap import open_worker
from app.services import Services
from app.worker.loop import Worker
from bench.pages import pages
from bench.staff import Office, PageRequest, open_office
from bench.webhooks import POSTGRESQL, initializations, open_counterparts, paid_notifications

GOAL = 1.5
WARM_UP = 8
PAGES = (
    "list, newest page", "list, page in the middle", "search: order number", "search: nothing is found",
    "filter: failed", "a payment",
    "overview, today", "overview, 30 days",
)  # fmt: skip
BEGIN = "/api/webhooks/transaction-initialize-session"


@dataclass
class Compared:
    """Medians of one measurement, in milliseconds."""

    name: str
    few: float
    many: float

    @property
    def times(self) -> float:
        """The ratio of many to few."""
        return self.many / self.few


@dataclass
class Side:
    """One of the two stores, with a worker of its own in this process."""

    office: Office
    worker: Worker
    services: Services
    asked: Sequence[tuple[tuple[dict[str, str], bytes], tuple[dict[str, str], bytes]]]
    pages: Sequence[PageRequest]

    async def round(self, number: int) -> dict[str, float]:
        """Run one payment from begin to end, open the pages, and return the time of each, in milliseconds."""
        self.office.connection.close()  # anew in each round: the other side may take longer than it is kept open
        begin, notify = self.asked[number]
        taken = {"initialize": self._post(BEGIN, begin, b"checkoutUrl")}
        account = self.office.store.accounts[0]
        taken["notification"] = self._post(f"/api/webhooks/gateway/{account}", notify, b"")
        clock = time.perf_counter()
        while await self.worker.work_once(self.services):
            pass
        done = time.perf_counter()
        await self.worker.work_once(self.services)
        taken["the worker's part"] = (done - clock) * 1000
        taken["claims, nothing due"] = (time.perf_counter() - done) * 1000
        for page in self.pages:
            status, _, seconds = self.office.ask(page)
            if status != 200:
                raise RuntimeError(f"{page.name}: {status}")
            taken[page.name] = seconds * 1000
        return taken

    def _post(self, path: str, asked: tuple[dict[str, str], bytes], wanted: bytes) -> float:
        headers, body = asked
        clock = time.perf_counter()
        self.office.connection.request("POST", path, body, headers)
        answer = self.office.connection.getresponse()
        said = answer.read()
        took = (time.perf_counter() - clock) * 1000
        if answer.status != 200 or wanted not in said:
            raise RuntimeError(f"{path}: {answer.status} {said[:200]!r}")
        return took


async def measure(offices: Sequence[Office], rows: Sequence[int], times: int) -> list[Compared]:
    """Measure both alternately."""
    async with AsyncExitStack() as stack:
        sides = []
        for office, many in zip(offices, rows, strict=True):
            worker, services = await stack.enter_async_context(open_worker(office.settings))
            asked, orders = initializations(office.key, office.saleor, times + WARM_UP)
            wanted = [page for page in pages(many, office.store.accounts[2]) if page.name in PAGES]
            sides.append(
                Side(office, worker, services, list(zip(asked, paid_notifications(orders), strict=True)), wanted)
            )
        taken: list[defaultdict[str, list[float]]] = [defaultdict(list), defaultdict(list)]
        for number in range(times + WARM_UP):
            for place, side in zip(taken, sides, strict=True):
                for name, took in (await side.round(number)).items():
                    if number >= WARM_UP:
                        place[name].append(took)
            if number % 10 == 0:
                print(f"\r{number} of {times + WARM_UP}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    few, many_ = taken
    return [Compared(name, statistics.median(few[name]), statistics.median(many_[name])) for name in few]


def compare(server: str, kind: str, few: int, many: int, times: int) -> list[Compared]:
    """Create both stores and measure."""
    with ExitStack() as stack:
        saleor = stack.enter_context(open_counterparts(0))
        offices = []
        for rows in (few, many):
            print(f"{rows:,} payments are made", file=sys.stderr)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            offices.append(stack.enter_context(open_office(server, rows, folder, saleor, kind)))
        return asyncio.run(measure(offices, (few, many), times))


def as_table(results: Sequence[Compared], few: int, many: int) -> str:
    """Return the table."""
    lines = [f"{'':32}{few:>11,}{many:>11,}{'times':>8}"]
    for result in results:
        mark = "" if result.times <= GOAL else "  <-"
        lines.append(f"{result.name:32}{result.few:>11.1f}{result.many:>11.1f}{result.times:>8.2f}{mark}")
    return "\n".join(lines)


def main(asked: argparse.Namespace) -> None:
    """Measure and print."""
    kind = "sqlite" if asked.sqlite else ""
    results = compare(asked.database, kind, asked.few, asked.rows, asked.times)
    if asked.json:
        print(json.dumps([asdict(result) | {"times": result.times} for result in results], indent=2))
        return
    name = "SQLite" if kind else "PostgreSQL"
    print(f"{name}, {asked.times} times, milliseconds, Python {platform.python_version()}, {os.cpu_count()} processors")
    print(as_table(results, asked.few, asked.rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--database", default=POSTGRESQL, metavar="URL", help="where a PostgreSQL server is")
    parser.add_argument("--json", action="store_true")
    main(parser.parse_args())
