"""Compares the app's cost per payment begun and per notification received with a bare relay.

One process of the app (worker inside) and one of ``bench.relay`` take the same recorded request of Saleor, signed anew,
each on a fresh database of the same kind; the gateway and Saleor are ``bench.counterparts``. Clients send requests
concurrently and wait for each answer. Latencies are in milliseconds. Processor time is that of the one process, in
milliseconds for one request: until the last answer, and until everything is reported to Saleor as well. An open page is
reported after ``answer_window``, or not at all if it is paid by then, as it is here; so it is in neither.

``whole life``: each client begins a payment, and the gateway notifies the app at once that it is paid; it ends when all
are booked in Saleor. Compared with two requests to the relay. ``one by one``: a single client at a time, a moment
apart, so that no commit or request is shared. Beside it are the database's statements and transactions, the requests to
Saleor, and the reports in these, for one payment.

    python -m bench.webhooks [--requests 1500] [--shoppers 64] [--gateway-ms 50] [--database URL ...] [--json]

PostgreSQL is measured where a server answers at ``--database`` (a database is created there and dropped again).
Needs Linux: processor time is read from /proc.
"""

import argparse
import asyncio
import base64
import json
import os
import platform
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from psycopg import sql
from sqlalchemy import make_url

from app.bootstrap import open_services
from app.core.ids import OrderId
from app.demo.processes import free_port
from app.rules.references import order_id_of
from app.settings import Settings
from app.store.accounts import AccountKeys, NewAccount
from app.store.migrate import migrate
from bench.asking import Response, post_concurrently, post_stories, wait_until_listening
from gateway_client.signature import sign
from saleor_app_sdk.testing.signing import SigningKey

POS_ID = "5a9db0c5-0000-4000-8000-000000000001"
KEYS = AccountKeys("bench-key", "bench-secret", "bench-endpoints-key")
RECORDED = Path(__file__).parent.parent / "cassettes" / "saleor" / "transaction_initialize_session_CHARGE.json"
POSTGRESQL = os.environ.get("TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
TICKS = os.sysconf("SC_CLK_TCK")
WARM_UP = 100


@dataclass
class Measured:
    """One kind of request, done many times by one process."""

    what: str
    database: str
    requests: int
    errors: int
    per_second: float
    p50: float
    p95: float
    p99: float
    processor_answering: float
    processor_in_all: float
    relays: int = 1
    statements: float | None = None
    transactions: float | None = None
    requests_to_saleor: float | None = None
    reports: float | None = None


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass
class Subject:
    """A process under measurement. ``counted``: the file into which it writes its query counts."""

    process: subprocess.Popen[bytes]
    url: str
    counted: Path | None = None

    async def counts(self, neighbours: str) -> dict[str, int]:
        """Return its counts of database queries and, from the neighbours' own counts, of requests to Saleor so far."""
        assert self.counted is not None
        self.counted.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        while not self.counted.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.05)
        async with httpx2.AsyncClient(trust_env=False) as http:
            others = (await http.post(f"{neighbours}/counted")).json()
        counts: dict[str, int] = json.loads(self.counted.read_text()) | others
        return counts

    def processor(self) -> float:
        """Seconds of processor time used so far, user and system."""
        return processor_seconds(self.process.pid)

    async def wait_until_idle(self) -> float:
        """Wait until it is idle; return its processor time."""
        used = self.processor()
        while True:
            await asyncio.sleep(1.5)  # two ticks of the worker
            now = self.processor()
            if now - used < 0.05:
                return now
            used = now


@contextmanager
def open_counterparts(gateway_ms: int) -> Iterator[str]:
    """Start the gateway and Saleor; yields their address."""
    command = [sys.executable, "-m", "bench.counterparts", str(gateway_ms / 1000)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """Yield the address of an empty database."""
    if not kind.startswith("postgresql"):
        yield f"sqlite:///{folder / secrets.token_hex(4)}.sqlite"
        return
    name = f"saleor_gateway_bench_{secrets.token_hex(4)}"
    with psycopg.connect(kind, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield make_url(kind).set(database=name).render_as_string(hide_password=False)
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def start_process(
    command: list[str], port: int, environment: dict[str, str] | None = None, counted: Path | None = None
) -> Iterator[Subject]:
    """Start a process, and end it afterwards."""
    process = subprocess.Popen(command, env=os.environ | (environment or {}))
    try:
        yield Subject(process, f"http://127.0.0.1:{port}", counted)
    finally:
        process.terminate()
        process.wait(20)


async def set_up_shop(settings: Settings, neighbours: str, key: SigningKey) -> str:
    """Set a shop up in the app's database: a Saleor, an account, a channel. Return the account's id."""
    await migrate(settings.database)
    async with open_services(settings) as services:
        await services.installations.save(
            saleor_api_url=f"{neighbours}/graphql/",
            saleor_domain="127.0.0.1",
            schema_version="3.23",
            app_id="QXBwOjE=",
            token=secrets.token_hex(15),
            jwks=key.jwks(),
        )
        found = await services.installations.find(f"{neighbours}/graphql/")
        assert found is not None
        account = await services.accounts.add(
            NewAccount(
                installation_id=found.id,
                name="Bench",
                pos_id=POS_ID,
                base_url=neighbours,
                scheme_word="CPAY",
                keys=KEYS,
                currencies=["UAH"],
                storefront_origins=[],
                names_required=False,
            )
        )
        await services.accounts.map_channel("uah", account.id)
    return account.id


def initializations(
    key: SigningKey, saleor: str, many: int
) -> tuple[list[tuple[dict[str, str], bytes]], list[OrderId]]:
    """Return that many signed webhooks, each for a transaction of its own, and their gateway order ids."""
    recorded = json.loads(RECORDED.read_text())["request"][0]["body_raw"]
    body = json.loads(recorded)
    asked, orders = [], []
    for _ in range(many):
        token = uuid.uuid4()
        body["issuedAt"] = datetime.now(UTC).isoformat()
        body["recipient"] |= {"id": "QXBwOjE=", "identifier": "gateway.payments.app"}
        body["transaction"]["id"] = base64.b64encode(f"TransactionItem:{token}".encode()).decode()
        checkout = base64.b64encode(f"Checkout:{uuid.uuid4()}".encode()).decode()
        body["sourceObject"]["id"] = checkout
        body["data"] = {"language": "uk"}
        raw = json.dumps(body).encode()
        headers = {
            "Content-Type": "application/json",
            "Saleor-Event": "transaction_initialize_session",
            "Saleor-Api-Url": f"{saleor}/graphql/",
            "Saleor-Signature": key.sign(raw),
        }
        asked.append((headers, raw))
        orders.append(order_id_of(body["transaction"]["id"], f"{saleor}/graphql/"))
    return asked, orders


def paid_notifications(orders: Sequence[str]) -> list[tuple[dict[str, str], bytes]]:
    """Return the gateway's notification for each order that it is paid."""
    asked = []
    for order_id in orders:
        record = {
            "payment_id": str(uuid.uuid4()),
            "order_id": order_id,
            "pos_id": POS_ID,
            "mode": "hosted",
            "method": "purchase",
            "amount": 569.5,
            "currency": "UAH",
            "status": "success",
            "status_code": "1000",
            "created_at": "2026-11-21T12:00:00.000",
            "cc_mask": "424242******4242",
        }
        data = base64.urlsafe_b64encode(json.dumps(record).encode()).decode()
        form = f"data={data.replace('=', '%3D')}&signature={sign(data, KEYS.api_secret).replace('=', '%3D')}".encode()
        asked.append(({"Content-Type": "application/x-www-form-urlencoded"}, form))
    return asked


async def measure(what: str, kind: str, subject: Subject, ask: Callable[[], Awaitable[list[Response]]]) -> Measured:
    """Send all requests, and measure."""
    before = await subject.wait_until_idle()
    clock = time.perf_counter()
    answers = await ask()
    took = time.perf_counter() - clock
    answering = subject.processor() - before
    in_all = await subject.wait_until_idle() - before
    waits = statistics.quantiles((answer.seconds * 1000 for answer in answers), n=100)
    many = len(answers)
    return Measured(
        what=what,
        database=kind,
        requests=many,
        errors=sum(not answer.is_correct for answer in answers),
        per_second=many / took,
        p50=waits[49],
        p95=waits[94],
        p99=waits[98],
        processor_answering=answering / many * 1000,
        processor_in_all=in_all / many * 1000,
    )


async def measure_whole_life(
    what: str, kind: str, app: Subject, neighbours: str, ask: Callable[[], Awaitable[list[Response]]]
) -> Measured:
    """Begin and notify payments, wait until all are reported, and measure time, queries and requests."""
    before = await app.counts(neighbours)
    result = await measure(what, kind, app, ask)
    counted = {name: (number - before[name]) for name, number in (await app.counts(neighbours)).items()}
    many = result.requests = result.requests // 2  # of two requests each
    result.processor_answering *= 2
    result.processor_in_all *= 2
    result.per_second /= 2
    result.relays = 2
    result.statements, result.transactions = counted["statements"] / many, counted["transactions"] / many
    result.requests_to_saleor, result.reports = counted["saleor"] / many, counted["reports"] / many
    result.errors += max(0, many - counted["reports"])  # each has to be booked
    return result


async def compare(kind: str, folder: Path, requests: int, shoppers: int, gateway_ms: int) -> list[Measured]:
    """Measure the relay and the app on one kind of database."""
    name = "PostgreSQL" if kind.startswith("postgresql") else "SQLite"
    key = SigningKey()
    jwks = folder / "jwks.json"
    jwks.write_text(json.dumps(key.jwks()))
    results = []
    with open_counterparts(gateway_ms) as neighbours:
        one_by_one = max(20, requests // 20)
        asked, orders = initializations(key, neighbours, 2 * requests + WARM_UP + one_by_one)
        port = free_port()
        with (
            database(kind, folder) as url,
            start_process([sys.executable, "-m", "bench.relay", url, neighbours, str(jwks), str(port)], port) as relay,
        ):
            await wait_until_listening(port)

            def relaid(part: slice) -> Awaitable[list[Response]]:
                return post_concurrently(port, "/relay", asked[part], shoppers, lambda body: b"/form" in body)

            await relaid(slice(WARM_UP))
            results.append(await measure("bare relay", name, relay, lambda: relaid(slice(WARM_UP, WARM_UP + requests))))
        port = free_port()
        with database(kind, folder) as url:
            settings = Settings(data_dir=folder, database_url=url, base_url=f"http://127.0.0.1:{port}")
            account = await set_up_shop(settings, neighbours, key)
            environment = {
                "APP_DATA_DIR": str(folder),
                "APP_DATABASE_URL": url,
                "APP_BASE_URL": settings.base_url,
                "APP_PORT": str(port),
                "APP_LOG_LEVEL": "warning",
            }
            counted = folder / f"{secrets.token_hex(4)}.json"
            command = [sys.executable, "-m", "bench.counted", str(counted)]
            with start_process(command, port, environment, counted) as app:
                await wait_until_listening(port)
                begin, notify = "/api/webhooks/transaction-initialize-session", f"/api/webhooks/gateway/{account}"

                def begun(part: slice) -> Awaitable[list[Response]]:
                    return post_concurrently(port, begin, asked[part], shoppers, lambda body: b"checkoutUrl" in body)

                def notified(part: slice) -> Awaitable[list[Response]]:
                    return post_concurrently(port, notify, paid_notifications(orders[part]), shoppers)

                async def whole(part: slice, side_by_side: int, pause: float = 0) -> list[Response]:
                    return await post_stories(
                        port,
                        [
                            ((begin, *one), (notify, *other))
                            for one, other in zip(asked[part], paid_notifications(orders[part]), strict=True)
                        ],
                        side_by_side,
                        pause,
                    )

                await begun(slice(WARM_UP))
                await notified(slice(WARM_UP))
                first, then = slice(WARM_UP, WARM_UP + requests), slice(WARM_UP + requests, WARM_UP + 2 * requests)
                rest = slice(WARM_UP + 2 * requests, None)
                results.append(await measure("initialize", name, app, lambda: begun(first)))
                results.append(await measure("notification", name, app, lambda: notified(first)))
                results.append(
                    await measure_whole_life("whole life", name, app, neighbours, lambda: whole(then, shoppers))
                )
                results.append(
                    await measure_whole_life("... one by one", name, app, neighbours, lambda: whole(rest, 1, 0.1))
                )
    return results


def as_table(results: list[Measured]) -> str:
    """Return the table."""
    head = (
        f"{'':28}{'errors':>8}{'a second':>10}{'p50':>8}{'p95':>8}{'p99':>8}"
        f"{'processor':>11}{'ratio':>7}{'in all':>9}{'ratio':>7}"
        f"{'statements':>12}{'transactions':>14}{'to Saleor':>11}{'reports':>9}"
    )
    lines = [head]
    relay = results[0]
    for result in results:
        if result.what == relay.what:
            relay = result
        answering, in_all = result.processor_answering, result.processor_in_all
        counted = (result.statements, result.transactions, result.requests_to_saleor, result.reports)
        lines.append(
            f"{result.database + ', ' + result.what:28}{result.errors:8}{result.per_second:10.0f}"
            f"{result.p50:8.1f}{result.p95:8.1f}{result.p99:8.1f}"
            f"{answering:11.2f}{answering / (result.relays * relay.processor_answering):7.2f}"
            f"{in_all:9.2f}{in_all / (result.relays * relay.processor_in_all):7.2f}"
            + "".join(f"{number:{width}.2f}" for number, width in zip(counted, (12, 14, 11, 9), strict=True) if number)
        )
    return "\n".join(lines)


async def main(asked: argparse.Namespace) -> None:
    """Measure and print."""
    results: list[Measured] = []
    for kind in asked.database or ["sqlite", POSTGRESQL]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results += await compare(kind, Path(folder), asked.requests, asked.shoppers, asked.gateway_ms)
            except psycopg.OperationalError as exc:
                print(f"{kind} is not measured: {type(exc).__name__}", file=sys.stderr)
    if asked.json:
        document: list[dict[str, Any]] = [asdict(result) for result in results]
        print(json.dumps(document, indent=2))
        return
    print(
        f"{asked.requests} requests, {asked.shoppers} at once, a gateway of {asked.gateway_ms} ms, "
        f"Python {platform.python_version()}, {os.cpu_count()} processors"
    )
    print(as_table(results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--shoppers", type=int, default=64)
    parser.add_argument("--gateway-ms", type=int, default=50)
    parser.add_argument("--database", action="append", metavar="URL", help="sqlite, or where a PostgreSQL server is")
    parser.add_argument("--json", action="store_true")
    asyncio.run(main(parser.parse_args()))
