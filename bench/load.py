"""Shoppers who arrive at a given rate: whole payments, two web processes and a worker, and reconciliation at the end.

Two stores, each with a played Saleor and a web process of the app; one worker, one PostgreSQL, one sandbox of the
gateway that takes 50 ms to open a page. A shopper fills a basket, begins to pay and pays at once; the gateway notifies,
the app books and reports to Saleor. They arrive at ``--rate`` for ``--seconds``, then at twice that for ``--twice``,
however slow the answers are. In the end the first store has ``--flood`` notifications waiting, while shoppers arrive at
the second at the rate. Then each payment is compared at the gateway, in the app and in Saleor. All of it, including the
shoppers, runs on this machine: the limits of its processors show in every number.

``begun``: what a shopper waits for, the played Saleor's own work included. ``answered``: of that the app's answer, as
Saleor waits for it. ``told``: from the gateway's notification to Saleor's answer that it is booked. In milliseconds,
the median and the 99th of a hundred. ``backlog``: how many notifications and events are due when the last shopper has
arrived. ``memory``: the peak of each process. ``processor``: the processor time of each process, divided by the
shoppers of both stores; it does not depend on other load of this machine.

    python -m bench.load [--rate 5] [--seconds 30] [--twice 15] [--flood 2000] [--database URL] [--json]

The database is made on the PostgreSQL server at ``--database`` and dropped again. Needs Linux: memory is read from
/proc.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from subprocess import Popen

from sqlmodel import col, func, select

from app.bootstrap import open_services, utc_now
from app.core.vocabulary import EventState, Kind, State
from app.demo.processes import ServerProcess, app_process, free_port, gateway_process, saleor_process
from app.services import Services
from app.settings import Settings
from app.store.accounts import AccountKeys, NewAccount
from app.store.migrate import migrate
from app.store.tables import Notification, Operation, Payment, SaleorEvent
from bench.webhooks import POSTGRESQL, database, processor_seconds
from gateway_client.notification import digest, encode
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.settings import PointOfSale
from saleor_app_sdk.testing.client import FakeSaleor

GATEWAY_SECONDS = 0.05
NOTHING = Decimal(0)
_PATIENCE = 180  # seconds that a backlog is waited for
_PAID = "create success"  # what came of the notification that a payment is paid
_BACK = {"returnUrl": "https://shop.test/back"}


@dataclass
class Phase:
    """Shoppers at one rate, in seconds. ``flood``: the backlog of the first store, while they arrive at the second."""

    rate: float
    seconds: float
    flood: int = 0
    begun: int = 0
    errors: int = 0
    took: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    unanswered: int = 0
    told: list[float] = field(default_factory=list)
    processor: dict[str, float] = field(default_factory=dict)
    backlog: int = 0
    gone_after: float | None = None


def percentile_ms(seconds: Sequence[float], part: float) -> float:
    """Return the percentile of the durations, in milliseconds."""
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * part))] * 1000 if seconds else 0


class Book(dict[str, tuple[Decimal, Decimal]]):
    """The paid and refunded amounts by transaction."""

    def __missing__(self, _of: str) -> tuple[Decimal, Decimal]:
        return NOTHING, NOTHING

    def add(self, of: str, paid: Decimal, refunded: Decimal) -> None:
        """Add to the transaction's amounts."""
        self[of] = self[of][0] + paid, self[of][1] + refunded


@dataclass
class Books:
    """The totals of the three systems; ``differ``: transactions on which they disagree."""

    payments: int
    paid: int
    refunded: int
    differ: list[str]
    open: int


@dataclass
class Load:
    """Everything that is running, and the actions of shoppers."""

    saleors: Sequence[FakeSaleor]
    gateway: SandboxControl
    services: Services
    app: dict[str, ServerProcess]
    others: dict[str, ServerProcess]  # the gateway and the played Saleors

    async def shopper(self, number: int, phase: Phase) -> str | None:
        """Begin and pay; return the paid transaction, or count the error."""
        saleor = self.saleors[1 if phase.flood else number % len(self.saleors)]
        try:
            checkout = await saleor.create_checkout()
            clock = time.perf_counter()
            session = await saleor.initialize(checkout.id, data=_BACK)
            phase.took.append(time.perf_counter() - clock)
            phase.begun += 1
            if not (isinstance(session.data, dict) and "checkoutUrl" in session.data):
                phase.errors += 1
                return None
            order_id = session.required_transaction.psp_reference
            assert order_id is not None
            await self.gateway.pay(order_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            phase.errors += 1
            print(f"\n{type(error).__name__}: {error}"[:300], file=sys.stderr)
            return None
        return session.required_transaction.id

    async def backlog(self) -> int:
        """Return the number of due notifications and events."""
        now = utc_now()
        async with self.services.database.transaction() as session:
            notifications = select(func.count()).where(col(Notification.next_attempt_at).is_not(None))
            events = select(func.count()).where(col(SaleorEvent.next_attempt_at) <= now)
            return (await session.exec(notifications)).one() + (await session.exec(events)).one()

    def megabytes(self, what: str) -> dict[str, float]:
        """Return the memory of each process of the app: VmRSS, or VmHWM for its peak."""
        found = {}
        for name, process in self.app.items():
            if not process.has_ended:
                lines = Path(f"/proc/{pid_of(process)}/status").read_text().splitlines()
                found[name] = next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))
        return found

    def processor(self) -> dict[str, float]:
        """Return the seconds of processor time used by each process of the app."""
        return {name: processor_seconds(pid_of(process)) for name, process in self.app.items()}

    async def come(self, phase: Phase) -> None:
        """Let shoppers arrive at the phase's rate, and wait until the backlog is gone."""
        if phase.flood:
            await self._flood(phase.flood)
        for saleor in self.saleors:
            await saleor.clear_traffic()
        processor = self.processor()
        since, begun, shoppers = utc_now(), time.perf_counter(), set[asyncio.Task[str | None]]()
        while (late := time.perf_counter() - begun) < phase.seconds:
            due = int(late * phase.rate) + 1
            shoppers |= {asyncio.create_task(self.shopper(n, phase)) for n in range(len(shoppers), due)}
            await asyncio.sleep(0.02)
            if int(late) != int(late + 0.02):
                await self._say(phase, late)
        phase.backlog = await self.backlog()
        await asyncio.gather(*shoppers)
        end = time.perf_counter()
        while time.perf_counter() - end < _PATIENCE:
            if await self.backlog() == 0:
                phase.gone_after = time.perf_counter() - begun - phase.seconds
                break
            await self._say(phase, time.perf_counter() - begun)
            await asyncio.sleep(0.5)
        print(file=sys.stderr)
        phase.told = await self.told(since)
        asked = [
            delivery
            for saleor in self.saleors
            for delivery in await saleor.deliveries("transaction_initialize_session")
        ]
        phase.answered = [delivery.seconds for delivery in asked if delivery.status == HTTPStatus.OK]
        phase.unanswered = len(asked) - len(phase.answered)
        used = {name: seconds - processor[name] for name, seconds in self.processor().items()}
        phase.processor = {name: seconds * 1000 / max(1, phase.begun) for name, seconds in used.items()}

    async def _flood(self, many: int) -> None:
        """Queue notifications for the first store that repeat the outcomes of its payments in a different wording."""
        async with self.services.database.transaction() as session:
            rows = (await session.exec(select(Payment))).all()
        first = min(row.installation_id for row in rows)
        accounts = {row.order_id: row.account_id for row in rows if row.installation_id == first}
        paid = [payment for payment in await self.gateway.payments() if payment.order_id in accounts]
        now, keeping = utc_now(), []
        for number in range(many):
            each = paid[number % len(paid)]
            names = {"payment_id", "order_id", "pos_id", "mode", "method", "currency", "status", "status_code"}
            record = each.model_dump(mode="json", include=names)
            record |= {"amount": each.amount, "created_at": "2026-11-21T12:00:00.000", "comment": str(number)}
            data = encode(record)
            kept = self.services.inbox.store(
                account_id=accounts[each.order_id], digest=digest(data), data=data, order_id=each.order_id, now=now
            )
            keeping.append(kept)
        await asyncio.gather(*keeping)

    async def told(self, since: datetime) -> list[float]:
        """Return the seconds from each notification to the delivery of its event."""
        times = (
            select(Notification.received_at, SaleorEvent.delivered_at)
            .join(Payment, col(Payment.order_id) == col(Notification.order_id))
            .join(SaleorEvent, col(SaleorEvent.payment_id) == col(Payment.id))
            .where(Payment.created_at >= since, SaleorEvent.type == "CHARGE_SUCCESS", Notification.outcome == _PAID)
        )
        async with self.services.database.transaction() as session:
            found = (await session.exec(times)).all()
        return [(told - received).total_seconds() for received, told in found if told is not None]

    async def _say(self, phase: Phase, seconds: float) -> None:
        memory = max(self.megabytes("VmRSS").values())
        print(
            f"\r{phase.rate:g} a second, {seconds:4.0f} s: {phase.begun} begun, {phase.errors} errors, "
            f"backlog {await self.backlog()}, p99 {percentile_ms(phase.took, 0.99):.0f} ms, memory {memory:.0f} MB   ",
            end="", file=sys.stderr, flush=True,
        )  # fmt: skip

    async def books(self) -> Books:
        """Compare the paid and refunded amounts at the gateway, in the app and in Saleor."""
        theirs, ours, saleors = Book(), Book(), Book()
        async with self.services.database.transaction() as session:
            rows = {row.order_id: row for row in (await session.exec(select(Payment))).all()}
            done = (await session.exec(select(Operation).where(Operation.state == State.SUCCESS))).all()
            waiting = select(func.count()).where(col(SaleorEvent.state) == EventState.WAITING)
            waits = (await session.exec(waiting)).one()
        paid = [payment for payment in await self.gateway.payments() if payment.status == "success"]
        for payment in paid:
            of = rows[payment.order_id].transaction_id if payment.order_id in rows else payment.order_id
            refunds = (one.amount for one in payment.operations if one.method == "refund" and one.status == "success")
            theirs.add(of, payment.amount, sum(refunds, NOTHING))
        transactions = {row.id: row.transaction_id for row in rows.values()}
        for operation in done:
            if operation.kind is Kind.CREATE:
                ours.add(transactions[operation.payment_id], operation.amount, NOTHING)
            elif operation.kind is Kind.REFUND:
                ours.add(transactions[operation.payment_id], NOTHING, operation.amount)
        for saleor in self.saleors:
            for told in await saleor.transactions():
                amounts = told.amounts
                saleors.add(told.id, amounts.charged + amounts.refunded, amounts.refunded)
        every = theirs.keys() | ours.keys() | saleors.keys()
        differ = [of for of in every if not theirs[of] == ours[of] == saleors[of]]
        return Books(len(rows), len(paid), sum(refund > 0 for _, refund in theirs.values()), differ, waits)


def pid_of(process: ServerProcess) -> int:
    """Return the pid of a process that was started as a program."""
    assert isinstance(process.process, Popen)
    return process.process.pid


@asynccontextmanager
async def open_load(url: str, folder: Path) -> AsyncIterator[Load]:
    """Start everything and connect two stores."""
    await migrate(url)
    async with AsyncExitStack() as stack:

        async def serving(process: ServerProcess) -> ServerProcess:
            stack.push_async_callback(process.stop)
            await process.start()
            return process

        environment = {
            **os.environ, "APP_DATA_DIR": str(folder / "data"), "APP_DATABASE_URL": url, "APP_LOG_LEVEL": "warning",
        }  # fmt: skip
        settings = Settings(data_dir=folder / "data", database_url=url)
        settings.open_vault()
        worker = await serving(worker_process(free_port(), folder, environment))
        sandbox = await serving(gateway_process(free_port(), folder, os.environ))
        gateway = await stack.enter_async_context(SandboxControl(sandbox.url))
        await gateway.options(hosted_answer="redirect")
        await slow_gateway_down(gateway)
        saleors, app, others = [], {"worker": worker}, {"gateway": sandbox}
        services = await stack.enter_async_context(open_services(settings))
        for name in ("web 1", "web 2"):
            place = folder / name
            place.mkdir()
            app[name] = await serving(app_process(free_port(), place, environment | {"APP_WORKER": "false"}))
            played = await serving(saleor_process(free_port(), place, os.environ, "--delay-factor", "0.01"))
            others[f"Saleor of {name}"] = played
            saleors.append(await stack.enter_async_context(FakeSaleor(played.url)))
            installed = await saleors[-1].install(f"{app[name].url}/api/manifest")
            assert installed.status == "INSTALLED", installed.message
            await connect_account(services, saleors[-1].api_url, sandbox.url)
        yield Load(saleors, gateway, services, app, others)


def worker_process(port: int, logs: Path, environment: Mapping[str, str]) -> ServerProcess:
    """Return a worker of the app, which reports its health on that port."""
    told = {**environment, "APP_METRICS_PORT": str(port)}
    return ServerProcess(
        "worker", ["app.cli", "worker"], f"http://127.0.0.1:{port}", "/readyz", logs / "worker.log", told
    )


async def slow_gateway_down(gateway: SandboxControl) -> None:
    """Make the gateway take as long as a real one to open a page."""
    slow = {"effect": "latency", "seconds": GATEWAY_SECONDS, "times": 10**9}
    await gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", **slow))


async def connect_account(services: Services, saleor: str, gateway: str) -> None:
    """Add the account of the sandbox at ``gateway`` to the store with that address, and map its channel."""
    point = PointOfSale()
    installation = await services.installations.find(saleor)
    assert installation is not None
    keys = AccountKeys(point.api_key, point.api_secret.get_secret_value(), point.endpoints_key.get_secret_value())
    account = await services.accounts.add(
        NewAccount(
            installation_id=installation.id, name=point.name, pos_id=str(point.pos_id), base_url=gateway,
            scheme_word="CPAY", keys=keys, currencies=["UAH"], storefront_origins=["https://shop.test"],
        )
    )  # fmt: skip
    await services.accounts.map_channel("uah", account.id)


async def run_phases(server: str, phases: Sequence[Phase]) -> tuple[dict[str, float], Books]:
    """Run all phases; return the peak memory of each process, and the books."""
    with tempfile.TemporaryDirectory() as place, database(server, Path(place)) as url:
        async with open_load(url, Path(place)) as load:
            for phase in phases:
                await load.come(phase)
            return load.megabytes("VmHWM"), await load.books()


def render_results(phases: Sequence[Phase], memory: dict[str, float], books: Books) -> str:
    """Return the results, and those that miss the goals."""
    heads = (
        "a second", "seconds", "waiting", "come", "errors",
        "begun", "p99", "answered", "p99", "told", "p99", "backlog", "gone after",
    )  # fmt: skip
    lines = ["".join(f"{head:>11}" for head in heads)]
    for phase in phases:
        gone = "not" if phase.gone_after is None else f"{phase.gone_after:.1f} s"
        milliseconds = [
            percentile_ms(taken, part) for taken in (phase.took, phase.answered, phase.told) for part in (0.5, 0.99)
        ]
        numbers = (phase.rate, phase.seconds, phase.flood, phase.begun, phase.errors, *milliseconds, phase.backlog)
        lines.append("".join(f"{number:>11.0f}" for number in numbers) + f"{gone:>11}")
    if unanswered := sum(phase.unanswered for phase in phases):
        lines.append(f"requests of Saleor that the app did not answer in time: {unanswered}")
    for phase in phases:
        used = ", ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in phase.processor.items())
        lines.append(f"processor for each who came, at {phase.rate:g} a second: {used}")
    lines.append("memory: " + ", ".join(f"{name} {megabytes:.0f} MB" for name, megabytes in memory.items()))
    lines.append(
        f"books: {books.payments} payments, {books.paid} paid at the gateway, {books.refunded} refunded, "
        f"{len(books.differ)} differ, {books.open} events not told"
    )
    return "\n".join(lines)


def main(asked: argparse.Namespace) -> None:
    """Measure and print."""
    phases = [Phase(asked.rate, asked.seconds), Phase(2 * asked.rate, asked.twice)]
    if asked.flood:
        phases.append(Phase(asked.rate, asked.seconds, asked.flood))
    memory, books = asyncio.run(run_phases(asked.database, phases))
    if asked.json:
        print(
            json.dumps(
                {"phases": [asdict(phase) for phase in phases], "memory": memory, "books": asdict(books)}, indent=2
            )
        )
        return
    load = ", ".join(f"{load_average:.1f}" for load_average in os.getloadavg())
    print(f"PostgreSQL, Python {platform.python_version()}, {os.cpu_count()} processors, load of the machine {load}")
    print(render_results(phases, memory, books))
    if books.differ or books.open or any(phase.errors for phase in phases):
        sys.exit("something is wrong, lost or not told")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rate", type=float, default=5, help="shoppers in a second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--twice", type=float, default=15, help="seconds at twice the rate")
    parser.add_argument("--flood", type=int, default=2000, help="notifications that wait for one store in the end")
    parser.add_argument("--database", default=POSTGRESQL, metavar="URL", help="where a PostgreSQL server is")
    parser.add_argument("--json", action="store_true")
    main(parser.parse_args())
