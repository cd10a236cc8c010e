"""An hour of payments with faults: their effect on the books, on memory and on the tables.

The shop is that of ``bench.load``: two stores, two web processes, one worker, the gateway and two Saleors, all
processes of their own, on a PostgreSQL server of its own. Shoppers arrive at ``--rate``; one payment in ten is refunded
by staff a minute later. Every minute another fault is injected, in turn (``Soak._faults``): a process of the app is
killed, PostgreSQL is restarted, the gateway or a Saleor hangs, refuses, loses its answers or its notifications.

Shoppers who arrive while their store cannot take money are *turned away*: they see a failure and have paid nothing. In
the end all faults are over, and the books of the gateway, the app and Saleor are compared until they agree, or
``_PATIENCE`` is over. Each line is one part of the time, in milliseconds unless stated otherwise. ``begun``: what a
shopper waits for. ``told``: from the gateway's notification to Saleor's answer that it is booked. ``KB each``: all
tables with their indexes, for one payment. ``backlog``: what is due at that moment. Then the memory of each process.

    python -m bench.soak [--rate 6] [--minutes 60] [--parts 6] [--json]

Needs Linux and the programs of PostgreSQL.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import text
from sqlmodel import func, select

from app.bootstrap import utc_now
from app.demo.processes import ServerProcess
from app.store.errors import DatabaseUnavailableError
from app.store.tables import Payment
from bench.load import Books, Load, Phase, open_load, percentile_ms, pid_of, slow_gateway_down
from gateway_client.sandbox.scripting import FaultRule, WebhookRule
from saleor_app_sdk.testing.client import FakeSaleor
from tests.postgresql import Program, open_postgresql_server

Answer = TypeVar("Answer")
Rule = TypeVar("Rule")

_EVERY = 60.0  # seconds between the beginnings of two troubles
_LASTS = 20.0
_DEAD = 5.0
_REFUNDED_AFTER = 60.0
_ONE_IN = 10
_PATIENCE = 1800.0
_TABLES = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables"


@dataclass
class Part:
    """The measurements at the end of a part of the time."""

    minutes: float
    come: int
    turned_away: int
    begun_p99: float
    told_p50: float
    told_p99: float
    memory: dict[str, float]
    payments: int
    kilobytes: float
    backlog: int


@dataclass
class Soak:
    """The shop, its database server, and the observations."""

    load: Load
    server: Program
    over: asyncio.Event = field(default_factory=asyncio.Event)
    to_refund: deque[tuple[float, FakeSaleor, str]] = field(default_factory=deque)
    troubles: Counter[str] = field(default_factory=Counter)
    come: int = 0

    async def run(self, minutes: float, rate: float, parts: int) -> list[Part]:
        """Run for so long; return the measurements of each part."""
        begun = time.monotonic()
        async with asyncio.TaskGroup() as together:
            together.create_task(self._inject_faults())
            together.create_task(self._refund())
            seen = [await self._part(rate, begun, minutes * part / parts) for part in range(1, parts + 1)]
            self.over.set()
        return seen

    async def _part(self, rate: float, begun: float, until: float) -> Part:
        phase, since, shoppers = Phase(rate, 0), utc_now(), set[asyncio.Task[None]]()
        while (minutes := (time.monotonic() - begun) / 60) < until:
            for _ in range(self.come, int(minutes * 60 * rate) + 1):
                shoppers.add(asyncio.create_task(self._shopper(self.come, phase)))
                self.come += 1
            await asyncio.sleep(0.02)
            _log(f"{minutes:5.1f} minutes: {self.come} have come, {phase.errors} turned away in this part")
        await asyncio.gather(*shoppers)
        return await _query_with_retry(partial(self._summarize, phase, len(shoppers), since, until))

    async def _summarize(self, phase: Phase, come: int, since: datetime, minutes: float) -> Part:
        told = await self.load.told(since)
        async with self.load.services.database.transaction() as session:
            payments = (await session.exec(select(func.count()).select_from(Payment))).one()
            size = (await session.exec(text(_TABLES))).one()[0]  # type: ignore[call-overload]
        return Part(
            minutes=minutes, come=come, turned_away=phase.errors,
            begun_p99=percentile_ms(phase.took, 0.99),
            told_p50=percentile_ms(told, 0.5),
            told_p99=percentile_ms(told, 0.99),
            memory=self.load.megabytes("VmRSS"), payments=payments, kilobytes=float(size) / 1024 / max(1, payments),
            backlog=await self.load.backlog(),
        )  # fmt: skip

    async def _shopper(self, number: int, phase: Phase) -> None:
        transaction = await self.load.shopper(number, phase)
        if transaction is not None and number % _ONE_IN == 0:
            saleor = self.load.saleors[number % len(self.load.saleors)]
            self.to_refund.append((time.monotonic() + _REFUNDED_AFTER, saleor, transaction))

    async def _refund(self) -> None:
        """Request the due refunds as staff; retry those that cannot be done now."""
        while self.to_refund or not self.over.is_set():
            await asyncio.sleep(0.1)
            if not self.to_refund or self.to_refund[0][0] > time.monotonic():
                continue
            _, saleor, transaction = self.to_refund.popleft()
            try:
                charged = (await saleor.transaction(transaction)).amounts.charged
                if charged:
                    await saleor.refund(transaction, charged / 2)
                    continue
            except Exception as error:  # noqa: BLE001 - any error is logged and retried
                _log(f"{type(error).__name__}: {error}"[:200] + "\n")
            self.to_refund.append((time.monotonic() + _REFUNDED_AFTER, saleor, transaction))

    async def _inject_faults(self) -> None:
        """Inject one fault after the other until the time is over; then end all faults."""
        troubles = self._faults()
        while not self.over.is_set():
            for name, happens in troubles.items():
                begun = time.monotonic()
                _log(f"\n{name}\n")
                await happens()
                self.troubles[name] += 1
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.over.wait(), max(0, _EVERY - (time.monotonic() - begun)))
                if self.over.is_set():
                    return

    def _faults(self) -> dict[str, Callable[[], Awaitable[None]]]:
        app, others = self.load.app, self.load.others
        gateway, stores = self.load.gateway, self.load.saleors
        refuses = FaultRule(effect="status", status=503, path="/api/*", times=10**9)
        loses = FaultRule(effect="drop", moment="after", path="/api/*", times=10**9)
        return {
            "the worker is killed": partial(_kill_process, app["worker"]),
            "a web process is killed": partial(_kill_process, app["web 1"]),
            "PostgreSQL is restarted": self._restart_database,
            "the gateway hangs": partial(_hang_process, others["gateway"]),
            "a Saleor hangs": partial(_hang_process, others["Saleor of web 1"]),
            "the gateway refuses": partial(_apply_for_a_while, gateway.fault, refuses, self._reset_gateway),
            "a Saleor refuses": partial(_saleor_faults, stores[1], graphql_status=503),
            "the gateway's answers are lost": partial(_apply_for_a_while, gateway.fault, loses, self._reset_gateway),
            "Saleor's answers are lost": partial(_saleor_faults, stores[0], graphql_answer_lost=True),
            "the app's answers are lost": partial(_saleor_faults, stores[1], webhook_answer_lost="bad_gateway"),
            "notifications are lost": partial(
                _apply_for_a_while, gateway.webhook_rule, WebhookRule(effect="drop"), self._reset_gateway
            ),
            "the other web process is killed": partial(_kill_process, app["web 2"]),
        }

    async def _restart_database(self) -> None:
        await asyncio.to_thread(self.server.die)
        await asyncio.sleep(_DEAD)
        await asyncio.to_thread(self.server.start)

    async def _reset_gateway(self) -> None:
        await self.load.gateway.clear_rules()
        await slow_gateway_down(self.load.gateway)

    async def wait_until_books_agree(self) -> tuple[float, Books]:
        """Wait until the three books agree; return after how many minutes, and the books."""
        begun = time.monotonic()
        while True:
            books, waits = await _query_with_retry(self._books)
            minutes = (time.monotonic() - begun) / 60
            if not (books.differ or books.open or waits) or minutes * 60 > _PATIENCE:
                return minutes, books
            _log(f"{minutes:.1f} minutes after it: {len(books.differ)} differ, {books.open} events not told")
            await asyncio.sleep(5)

    async def _books(self) -> tuple[Books, int]:
        return await self.load.books(), await self.load.backlog()


async def _query_with_retry(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Query the database; retry if a connection from before its restart was used."""
    while True:
        try:
            return await ask()
        except DatabaseUnavailableError:
            await asyncio.sleep(1)


async def _kill_process(process: ServerProcess) -> None:
    process.kill()
    await asyncio.sleep(_DEAD)
    await process.start()


async def _hang_process(process: ServerProcess) -> None:
    os.kill(pid_of(process), signal.SIGSTOP)
    try:
        await asyncio.sleep(_LASTS)
    finally:
        os.kill(pid_of(process), signal.SIGCONT)


async def _apply_for_a_while(
    begin: Callable[[Rule], Awaitable[Rule]], rule: Rule, end: Callable[[], Awaitable[None]]
) -> None:
    await begin(rule)
    await asyncio.sleep(_LASTS)
    await end()


async def _saleor_faults(saleor: FakeSaleor, **faults: Any) -> None:
    await saleor.set_faults(**faults)
    await asyncio.sleep(_LASTS)
    await saleor.clear_faults()


def _log(words: str) -> None:
    print(f"\r{words}   ", end="", file=sys.stderr, flush=True)


def render_results(parts: Sequence[Part], troubles: Counter[str], minutes: float, books: Books) -> str:
    """Return what was seen."""
    heads = ("minutes", "come", "turned away", "begun p99", "told", "told p99", "payments", "KB each", "backlog")
    lines = ["".join(f"{head:>12}" for head in (*heads, *parts[0].memory))]
    for part in parts:
        numbers = (
            part.minutes, part.come, part.turned_away, part.begun_p99, part.told_p50, part.told_p99, part.payments,
        )  # fmt: skip
        memory = "".join(f"{megabytes:>9.0f} MB" for megabytes in part.memory.values())
        whole = "".join(f"{number:>12.0f}" for number in numbers)
        lines.append(f"{whole}{part.kilobytes:>12.1f}{part.backlog:>12}{memory}")
    lines.append("troubles: " + ", ".join(f"{name} ({times})" for name, times in troubles.items()))
    lines.append(
        f"books, {minutes:.1f} minutes after the last: {books.payments} payments, {books.paid} paid, "
        f"{books.refunded} refunded, {len(books.differ)} differ, {books.open} events not told"
    )
    return "\n".join(lines)


async def run_soak(minutes: float, rate: float, parts: int) -> tuple[list[Part], Counter[str], float, Books]:
    """Start everything, run for so long, and compare the books."""
    with tempfile.TemporaryDirectory() as place, open_postgresql_server() as server:
        async with open_load(server.url, Path(place)) as load:
            soak = Soak(load, server)
            seen = await soak.run(minutes, rate, parts)
            return seen, soak.troubles, *await soak.wait_until_books_agree()


def main(asked: argparse.Namespace) -> None:
    """Soak and print."""
    parts, troubles, minutes, books = asyncio.run(run_soak(asked.minutes, asked.rate, asked.parts))
    print(file=sys.stderr)
    if asked.json:
        told = {"troubles": troubles, "settled_after": minutes, "books": asdict(books)}
        print(json.dumps({"parts": [asdict(part) for part in parts], **told}, indent=2))
    else:
        print(render_results(parts, troubles, minutes, books))
    if books.differ or books.open:
        sys.exit("something is lost, or not told")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rate", type=float, default=6, help="shoppers in a second")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--parts", type=int, default=6, help="how many lines are printed")
    parser.add_argument("--json", action="store_true")
    main(parser.parse_args())
