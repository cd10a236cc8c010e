"""A storm: shoppers pay while processes are killed, lines are cut, a disk is full and everybody answers badly.

Real processes: the app (one on SQLite; a web process and a worker on PostgreSQL), a played Saleor and the sandbox of
the gateway. Shoppers arrive at ``--rate`` for ``--seconds``; one payment in five is half refunded. Meanwhile faults
happen at random moments, several at once, each for up to some seconds: a process of the app is killed (SIGKILL), the
lines to the app, to the gateway and to PostgreSQL are cut, closed or held (``bench.cut_lines``), Saleor answers with
errors and in odd shapes, the gateway breaks off, answers with garbage and loses notifications, the disk of SQLite is
full. ``--seed`` repeats the same faults in the same order; when they meet which request is chance.

Then the storm is over, and nobody does anything: the books of the gateway, the app and Saleor must agree on each
payment, nothing may be pending, nothing untold, the night's comparison must find nothing, and the log must have stayed
within a bound. Otherwise the exit status is 1. ``bench.soak`` is the hour with one fault a minute, and measures.

    python -m bench.storm [--seconds 120] [--rate 4] [--seed 1] [--database postgresql://...] [--json]

Without ``--database`` it is SQLite, and its disk is a small one in memory, which only root can make: otherwise no disk
is full. Needs Linux.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlalchemy import and_, make_url
from sqlmodel import col, select

from app.bootstrap import open_services
from app.core.vocabulary import Kind, State
from app.demo.processes import (
    NotStartedError,
    ServerProcess,
    app_process,
    free_port,
    gateway_process,
    saleor_process,
)
from app.settings import Settings
from app.store.migrate import migrate
from app.store.tables import Operation
from bench.cut_lines import Line, open_line
from bench.load import Books, Load, Phase, connect_account, percentile_ms, worker_process
from bench.storm_faults import Happens, faults_of
from bench.webhooks import database
from gateway_client.sandbox.control.client import SandboxControl
from saleor_app_sdk.testing.client import FakeSaleor
from tests.journeys.stack import PATIENCE

_ONE_REFUND_IN = 5
_SETTLES_WITHIN = 300.0  # seconds after the storm
_DISK_MEGABYTES = 256
_LOG_BYTES_PER_SHOPPER, _LOG_BYTES_PER_SECOND = 4_000, 2_000


@dataclass
class Storm:
    """Everything that is running, and what can happen to it. ``disk``: the folder of the small disk, or None."""

    load: Load
    lines: dict[str, Line]
    disk: Path | None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    happened: Counter[str] = field(default_factory=Counter)
    phase: Phase = field(default_factory=lambda: Phase(0, 0))
    shoppers: int = 0
    paid: int = 0
    refunds: int = 0
    seconds: float = 0

    async def run(self, seconds: float, rate: float, seed: int, least_paid: int) -> None:
        """Let shoppers arrive through the storm; when it returns, all faults are over and all processes run.

        It lasts ``seconds``, and longer until ``least_paid`` have paid: a storm in which nobody pays shows nothing.
        """
        begun, shoppers = time.monotonic(), set[asyncio.Task[None]]()
        async with asyncio.TaskGroup() as together:
            together.create_task(self._rage(f"{seed} faults", faults_of(self.load, self.lines, self.disk), calm=6))
            together.create_task(self._rage(f"{seed} deaths", {"a process is killed": self._kill}, calm=30))
            while (late := time.monotonic() - begun) < seconds or self.paid < least_paid:
                for number in range(len(shoppers), int(late * rate) + 1):
                    shoppers.add(together.create_task(self._shopper(number)))
                _show(
                    f"{late:4.0f} s: {len(shoppers)} shoppers, {self.phase.errors} turned away, "
                    f"{sum(self.happened.values())} faults"
                )
                await asyncio.sleep(0.1)
            self.over.set()
        self.shoppers, self.seconds = len(shoppers), late
        await self.load.gateway.clear_rules()

    async def _shopper(self, number: int) -> None:
        """Pay, and perhaps ask for half of it back, as staff do."""
        transaction = await self.load.shopper(number, self.phase)
        self.paid += transaction is not None
        if transaction is None or number % _ONE_REFUND_IN:
            return
        saleor = self.load.saleors[0]
        with suppress(Exception):  # whoever is refused or cut off tries no more: the books are compared all the same
            for _ in range(20):
                await asyncio.sleep(1)
                if charged := (await saleor.transaction(transaction)).amounts.charged:
                    self.refunds += 1
                    await saleor.refund(transaction, charged / 2)
                    return

    async def _rage(self, seed: str, faults: dict[str, Happens], calm: float) -> None:
        """Let one fault after the other happen, with at most ``calm`` seconds between them, until the storm is over."""
        chance = random.Random(seed)  # noqa: S311 - no secret
        while not self.over.is_set():
            name = chance.choice(sorted(faults))
            self.happened[name] += 1
            await faults[name](chance)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), chance.uniform(0.2, calm))

    async def _kill(self, chance: random.Random) -> None:
        """Kill a process of the app, and start it again as whoever watches over it does: until it stays."""
        process = self.load.app[chance.choice(sorted(self.load.app))]
        await asyncio.sleep(chance.uniform(0, 4))
        process.kill()
        await asyncio.sleep(chance.uniform(0, 2))
        while True:
            try:
                await process.start()
            except NotStartedError:  # the database is away, or its disk is full
                self.happened["not started at once"] += 1
                process.kill()
                await asyncio.sleep(0.5)
            else:
                return


@dataclass
class Outcome:
    """How it ended. ``pending``: operations without an outcome. ``night``: the comparison's output, if it disagrees."""

    shoppers: int
    turned_away: int
    begun_p99: float
    refunds: int
    happened: dict[str, int]
    settled_after: float | None
    books: Books
    pending: int
    pending_in_saleor: int
    jobs: int
    night: str
    log_bytes: int
    log_bound: int
    tracebacks: list[str]

    @property
    def wrong(self) -> list[str]:
        """Return what must not be, in words."""
        found = {
            f"{len(self.books.differ)} payments differ between the books": self.books.differ,
            f"{self.books.open} events are not told": self.books.open,
            f"{self.pending} operations are pending": self.pending,
            f"{self.pending_in_saleor} transactions are pending in Saleor": self.pending_in_saleor,
            f"{self.jobs} jobs are due": self.jobs,
            f"the night's comparison disagrees: {self.night}": self.night,
            f"the log is larger than {self.log_bound} bytes": self.log_bytes > self.log_bound,
            "\n".join([f"{len(self.tracebacks)} tracebacks are in the log:", *self.tracebacks[:3]]): self.tracebacks,
        }
        return [words for words, is_so in found.items() if is_so]


async def pending_operations(load: Load) -> int:
    """Return the number of operations without an outcome; a page that nobody has paid yet is none."""
    open_states = [state for state in State if not state.final]
    is_open_page = and_(col(Operation.kind) == Kind.CREATE, col(Operation.state) == State.INIT)
    query = select(Operation.id).where(col(Operation.state).in_(open_states), ~is_open_page)
    async with load.services.database.transaction() as session:
        return len((await session.exec(query)).all())


async def pending_transactions(load: Load) -> int:
    """Return the number of transactions of which Saleor waits for an outcome that is not only a shopper's turn."""
    amounts = [transaction.amounts for transaction in await load.saleors[0].transactions()]
    return sum(bool(sums.charge_pending or sums.refund_pending or sums.cancel_pending) for sums in amounts)


@dataclass
class Settled:
    """What is left to do ``seconds`` after the storm; None: it has not come to an end in time."""

    seconds: float | None
    books: Books
    pending: int
    jobs: int


async def wait_until_settled(load: Load) -> Settled:
    """Wait until nothing is left to do and the books agree, or for ``_SETTLES_WITHIN``."""
    begun = time.monotonic()
    while True:
        books, pending, jobs = await load.books(), await pending_operations(load), await load.backlog()
        seconds = time.monotonic() - begun
        if not (books.differ or books.open or pending or jobs):
            return Settled(seconds, books, pending, jobs)
        if seconds > _SETTLES_WITHIN:
            return Settled(None, books, pending, jobs)
        _show(
            f"{seconds:4.0f} s after it: {len(books.differ)} differ, {books.open} untold, {pending} pending, {jobs} due"
        )
        await asyncio.sleep(1)


def tracebacks_in(log: Sequence[str]) -> Iterator[str]:
    """Yield each traceback in the lines of a log, with the line above it, which says what was logged."""
    for number, line in enumerate(log):
        if "Traceback" in line:
            last = next((end for end in range(number + 1, len(log)) if not log[end].startswith(" ")), len(log) - 1)
            yield "".join(log[max(number - 1, 0) : last + 1])


def compare_as_at_night(environment: dict[str, str]) -> str:
    """Compare the records with the gateway's, as the worker does at night; return what was said if they disagree."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    command = [sys.executable, "-m", "app.cli", "reconcile", "run", "--from", day, "--to", day]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode else ""


@contextmanager
def small_disk(place: Path) -> Iterator[bool]:
    """Mount a small disk in memory at ``place``; yield whether that was allowed."""
    place.mkdir()
    size = f"size={_DISK_MEGABYTES}m"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)],  # noqa: S607 - the system's own
        capture_output=True,
        check=False,
    )
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", str(place)], check=False)  # noqa: S607 - as above


@asynccontextmanager
async def open_storm(server: str | None, folder: Path) -> AsyncIterator[tuple[Storm, dict[str, str]]]:
    """Start everything, with a line before each part that can be cut; yield it and the app's environment."""
    async with AsyncExitStack() as stack:
        data = folder / "data"
        has_disk = stack.enter_context(small_disk(data)) and server is None
        url = f"sqlite:///{data / 'app.sqlite'}" if server is None else stack.enter_context(database(server, folder))
        await migrate(url)
        settings = Settings(data_dir=data, database_url=url)
        settings.open_vault()
        lines, seen = {}, url
        if server is not None:
            address = make_url(url)
            lines["the database"] = await stack.enter_async_context(
                open_line(address.host or "127.0.0.1", address.port or 5432)
            )
            seen = address.set(host="127.0.0.1", port=lines["the database"].port).render_as_string(hide_password=False)
        environment = {**os.environ, **PATIENCE, "APP_DATA_DIR": str(data), "APP_DATABASE_URL": seen}

        async def serving(process: ServerProcess) -> ServerProcess:
            stack.push_async_callback(process.stop)
            await process.start()
            return process

        sandbox = await serving(gateway_process(free_port(), folder, os.environ))
        played = await serving(saleor_process(free_port(), folder, os.environ, "--delay-factor", "0.01"))
        lines["the gateway"] = await stack.enter_async_context(open_line("127.0.0.1", _port_of(sandbox.url)))
        port = free_port()
        lines["the app"] = await stack.enter_async_context(open_line("127.0.0.1", port))
        web = app_process(port, folder, environment)
        # Saleor and the gateway call the app through its line.
        web.environment = {
            **web.environment,
            "APP_BASE_URL": lines["the app"].url,
            "APP_WORKER": "true" if server is None else "false",
        }
        app = {"web": await serving(web)}
        if server is not None:
            worker = worker_process(free_port(), folder, web.environment)
            app["worker"] = await serving(worker)
        gateway = await stack.enter_async_context(SandboxControl(sandbox.url))
        saleor = await stack.enter_async_context(FakeSaleor(played.url))
        services = await stack.enter_async_context(open_services(settings))
        installed = await saleor.install(f"{lines['the app'].url}/api/manifest")
        assert installed.status == "INSTALLED", installed.message
        await connect_account(services, saleor.api_url, lines["the gateway"].url)
        load = Load([saleor], gateway, services, app, {"gateway": sandbox, "Saleor": played})
        yield Storm(load, lines, data if has_disk else None), {**environment, "APP_DATABASE_URL": url}


def _port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


async def run_storm(server: str | None, seconds: float, rate: float, seed: int, least_paid: int = 0) -> Outcome:
    """Start everything, let the storm rage for so long (``Storm.run``), and see how it ended."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        async with open_storm(server, folder) as (storm, environment):
            await storm.run(seconds, rate, seed, least_paid)
            settled = await wait_until_settled(storm.load)
            load, phase = storm.load, storm.phase
            logs = [process.log for process in load.app.values()]
            written = [line for log in set(logs) for line in log.read_text(errors="replace").splitlines(keepends=True)]
            return Outcome(
                shoppers=storm.shoppers,
                turned_away=phase.errors,
                begun_p99=percentile_ms(phase.took, 0.99),
                refunds=storm.refunds,
                happened=dict(sorted(storm.happened.items())),
                settled_after=settled.seconds,
                books=settled.books,
                pending=settled.pending,
                pending_in_saleor=await pending_transactions(load),
                jobs=settled.jobs,
                night=await asyncio.to_thread(compare_as_at_night, environment),
                log_bytes=sum(map(len, written)),
                log_bound=int(storm.shoppers * _LOG_BYTES_PER_SHOPPER + storm.seconds * _LOG_BYTES_PER_SECOND),
                tracebacks=list(tracebacks_in(written)),
            )


def _show(words: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{words}   ", end="", file=sys.stderr, flush=True)


def render(outcome: Outcome) -> str:
    """Return how it ended."""
    settled = "never" if outcome.settled_after is None else f"{outcome.settled_after:.0f} s after it"
    books = outcome.books
    lines = []
    lines.append(
        f"{outcome.shoppers} shoppers, {outcome.turned_away} turned away, 99 of 100 began to pay within "
        f"{outcome.begun_p99 / 1000:.1f} s, {outcome.refunds} refunds requested"
    )
    lines.append("faults: " + ", ".join(f"{name} ({times})" for name, times in outcome.happened.items()))
    lines.append(
        f"settled: {settled}; {books.payments} payments, {books.paid} paid, {books.refunded} refunded, "
        f"{len(books.differ)} differ, {books.open} events untold, {outcome.pending} pending"
    )
    lines.append(f"log: {outcome.log_bytes / 1024:.0f} KB of at most {outcome.log_bound / 1024:.0f}")
    return "\n".join([*lines, *(f"WRONG: {words}" for words in outcome.wrong)])


def main(arguments: list[str] | None = None) -> int:
    """Let it rage and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.storm", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rate", type=float, default=4, help="shoppers in a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", metavar="URL", help="where a PostgreSQL server is (default: SQLite)")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    outcome = asyncio.run(run_storm(asked.database, asked.seconds, asked.rate, asked.seed))
    print(file=sys.stderr)
    print(json.dumps(asdict(outcome) | {"wrong": outcome.wrong}, indent=2) if asked.json else render(outcome))
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
