"""What the app costs for each payment begun and each notification received, against a bare relay.

One process of the app (worker inside) and one of ``bench.relay`` take the same recorded request of Saleor, signed anew,
each on a fresh database of the same kind; the gateway and Saleor are ``bench.counterparts``. Clients ask side by side
and wait for each answer. Latencies are in milliseconds. Processor time is that of the one process, in
milliseconds for one request: until the last answer, and until everything is told to Saleor as well. That a page is open
is told after ``answer_window``, or not at all if it is paid by then, as it is here; so it is in neither.

    python -m bench.webhooks [--requests 1500] [--shoppers 64] [--gateway-ms 50] [--database URL ...] [--json]

PostgreSQL is measured where a server answers at ``--database`` (a database is made there and dropped again).
Needs Linux: processor time is read from /proc.
"""

import argparse
import asyncio
import base64
import json
import os
import platform
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from app.db.accounts import AccountKeys, NewAccount
from app.db.migrate import migrate
from app.gateway.signature import sign
from app.main import open_services
from app.saleor.testing.signing import SigningKey
from app.sandbox.processes import free_port
from app.settings import Settings
from bench.asking import Answered, ask_side_by_side, wait_until_it_answers

POS_ID = "5a9db0c5-0000-4000-8000-000000000001"
KEYS = AccountKeys("bench-key", "bench-secret", "bench-endpoints-key")
RECORDED = Path(__file__).parent.parent / "cassettes" / "saleor" / "transaction_initialize_session_CHARGE.json"
POSTGRESQL = os.environ.get("TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
TICKS = os.sysconf("SC_CLK_TCK")
WARM_UP = 100


@dataclass
class Measured:
    """One thing done many times by one process."""

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


@dataclass
class Subject:
    """A process under measurement."""

    process: subprocess.Popen[bytes]
    url: str

    def processor(self) -> float:
        """Seconds of processor time used so far, by the program and by the system for it."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    async def quiet(self) -> float:
        """Return its processor time once it has nothing to do any more."""
        used = self.processor()
        while True:
            await asyncio.sleep(1.5)  # two ticks of the worker
            now = self.processor()
            if now - used < 0.05:
                return now
            used = now


@contextmanager
def counterparts(gateway_ms: int) -> Iterator[str]:
    """Start the gateway and Saleor; gives their address."""
    command = [sys.executable, "-m", "bench.counterparts", str(gateway_ms / 1000)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """Give the address of an empty database."""
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
def started(command: list[str], port: int, environment: dict[str, str] | None = None) -> Iterator[Subject]:
    """Start a process; it is ended afterwards."""
    process = subprocess.Popen(command, env=os.environ | (environment or {}))
    try:
        yield Subject(process, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(20)


async def prepared(settings: Settings, neighbours: str, key: SigningKey) -> str:
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


def initializations(key: SigningKey, saleor: str, many: int) -> tuple[list[tuple[dict[str, str], bytes]], list[str]]:
    """Return that many signed webhooks, each of a transaction of its own, and their gateway order ids."""
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
        orders.append(token.hex)
    return asked, orders


def notifications(orders: list[str]) -> list[tuple[dict[str, str], bytes]]:
    """Return the gateway's word, for each order, that it is paid."""
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


async def measured(what: str, kind: str, subject: Subject, ask: Callable[[], Awaitable[list[Answered]]]) -> Measured:
    """Let everybody ask, and count."""
    before = await subject.quiet()
    clock = time.perf_counter()
    answers = await ask()
    took = time.perf_counter() - clock
    answering = subject.processor() - before
    in_all = await subject.quiet() - before
    waits = statistics.quantiles((each.seconds * 1000 for each in answers), n=100)
    many = len(answers)
    return Measured(
        what=what,
        database=kind,
        requests=many,
        errors=sum(not each.right for each in answers),
        per_second=many / took,
        p50=waits[49],
        p95=waits[94],
        p99=waits[98],
        processor_answering=answering / many * 1000,
        processor_in_all=in_all / many * 1000,
    )


async def compare(kind: str, folder: Path, requests: int, shoppers: int, gateway_ms: int) -> list[Measured]:
    """Measure the relay and the app on one kind of database."""
    name = "PostgreSQL" if kind.startswith("postgresql") else "SQLite"
    key = SigningKey()
    jwks = folder / "jwks.json"
    jwks.write_text(json.dumps(key.jwks()))
    results = []
    with counterparts(gateway_ms) as neighbours:
        asked, orders = initializations(key, neighbours, requests + WARM_UP)
        port = free_port()
        with (
            database(kind, folder) as url,
            started([sys.executable, "-m", "bench.relay", url, neighbours, str(jwks), str(port)], port) as relay,
        ):
            await wait_until_it_answers(port)

            def relaid(part: slice) -> Awaitable[list[Answered]]:
                return ask_side_by_side(port, "/relay", asked[part], shoppers, lambda body: b"/form" in body)

            await relaid(slice(WARM_UP))
            results.append(await measured("bare relay", name, relay, lambda: relaid(slice(WARM_UP, None))))
        port = free_port()
        with database(kind, folder) as url:
            settings = Settings(data_dir=folder, database_url=url, base_url=f"http://127.0.0.1:{port}")
            account = await prepared(settings, neighbours, key)
            environment = {
                "APP_DATA_DIR": str(folder),
                "APP_DATABASE_URL": url,
                "APP_BASE_URL": settings.base_url,
                "APP_PORT": str(port),
                "APP_LOG_LEVEL": "warning",
            }
            with started([sys.executable, "-m", "app.cli", "run"], port, environment) as app:
                await wait_until_it_answers(port)

                def begun(part: slice) -> Awaitable[list[Answered]]:
                    path = "/api/webhooks/transaction-initialize-session"
                    return ask_side_by_side(port, path, asked[part], shoppers, lambda body: b"checkoutUrl" in body)

                def notified(part: slice) -> Awaitable[list[Answered]]:
                    path = f"/api/webhooks/gateway/{account}"
                    return ask_side_by_side(port, path, notifications(orders[part]), shoppers)

                await begun(slice(WARM_UP))
                await notified(slice(WARM_UP))
                rest = slice(WARM_UP, None)
                results.append(await measured("initialize", name, app, lambda: begun(rest)))
                results.append(await measured("notification", name, app, lambda: notified(rest)))
    return results


def shown(results: list[Measured]) -> str:
    """Return the table."""
    head = (
        f"{'':26}{'errors':>8}{'a second':>10}{'p50':>8}{'p95':>8}{'p99':>8}"
        f"{'processor':>11}{'ratio':>7}{'in all':>9}{'ratio':>7}"
    )
    lines = [head]
    relay = results[0]
    for each in results:
        if each.what == relay.what:
            relay = each
        answering, in_all = each.processor_answering, each.processor_in_all
        lines.append(
            f"{each.database + ', ' + each.what:26}{each.errors:8}{each.per_second:10.0f}"
            f"{each.p50:8.1f}{each.p95:8.1f}{each.p99:8.1f}"
            f"{answering:11.2f}{answering / relay.processor_answering:7.2f}"
            f"{in_all:9.2f}{in_all / relay.processor_in_all:7.2f}"
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
        document: list[dict[str, Any]] = [asdict(each) for each in results]
        print(json.dumps(document, indent=2))
        return
    print(
        f"{asked.requests} requests, {asked.shoppers} at once, a gateway of {asked.gateway_ms} ms, "
        f"Python {platform.python_version()}, {os.cpu_count()} processors"
    )
    print(shown(results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--shoppers", type=int, default=64)
    parser.add_argument("--gateway-ms", type=int, default=50)
    parser.add_argument("--database", action="append", metavar="URL", help="sqlite, or where a PostgreSQL server is")
    parser.add_argument("--json", action="store_true")
    asyncio.run(main(parser.parse_args()))
