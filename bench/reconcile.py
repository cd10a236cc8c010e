"""Measures the time and memory of reconciling an account with the gateway's register, by number of orders.

python -m bench.reconcile [--orders 10000 100000] [--database-url postgresql://...]

Each size is compared by a process of its own, over books that a neighbour serves as a register; ten refunds in them are
unknown to us, and are looked up and posted. Then the same is compared once more. What is told are ratios of one run.
"""

import argparse
import asyncio
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.bootstrap import open_services
from app.core.vocabulary import EventState, Flow, Kind, PaymentStatus, State
from app.flows.reconciliation.run import begin_run, complete_run
from app.services import Services
from app.settings import Settings
from app.store.accounts import AccountKeys, NewAccount
from app.store.columns import table_of
from app.store.migrate import migrate
from app.store.tables import Operation, Payment, SaleorEvent
from bench.loopback import POS_ID
from integration_base import exact_json

UNKNOWN_REFUNDS = 10
_AT_ONCE = 2000
_LARGEST_RATIO = 1.2
_FILLED = (table_of(Payment), table_of(Operation), table_of(SaleorEvent))


@dataclass(frozen=True)
class Measured:
    """One reconciliation: its seconds of wall clock and processor time, its peak memory (MiB), the database's size
    afterwards (MiB), its findings.
    """

    orders: int
    seconds: float
    processor: float
    peak: float
    database: float
    repaired: int
    again: float


def order(number: int) -> str:
    """Return the order id of a payment, spread as real ones are."""
    return f"{UUID(int=(number * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128).hex}"


def payment_id(number: int) -> str:
    """Return the gateway's id of a payment."""
    return str(UUID(int=number + 1))


async def fill(services: Services, account_id: str, installation_id: int, orders: int, begun: datetime) -> None:
    """Create paid payments that were reported to Saleor, a second apart."""
    for first in range(0, orders, _AT_ONCE):
        rows: tuple[list[dict[str, Any]], ...] = ([], [], [])
        for number in range(first, min(first + _AT_ONCE, orders)):
            at = begun + timedelta(seconds=number)
            same: dict[str, Any] = {"created_at": at, "updated_at": at}
            payment = Payment(
                id=number + 1, installation_id=installation_id, account_id=account_id, transaction_id=f"t{number}",
                order_id=order(number), flow=Flow.CHARGE,
                status=PaymentStatus.PAID, amount=Decimal("100.00"), currency="UAH", channel="uah",
                source_id=f"c{number}", **same,
            )  # fmt: skip
            create = Operation(
                id=number + 1, payment_id=number + 1, kind=Kind.CREATE, idempotency_key="create", state=State.SUCCESS,
                amount=Decimal("100.00"), currency="UAH", psp_reference=order(number), status_code="1000",
                operation_id=payment_id(number), message="Successful [1000]", **same,
            )  # fmt: skip
            told = SaleorEvent(
                id=number + 1, payment_id=number + 1, installation_id=installation_id, type="CHARGE_SUCCESS",
                psp_reference=order(number), amount=Decimal("100.00"), state=EventState.DELIVERED, created_at=at,
            )  # fmt: skip
            for table_rows, row in zip(rows, (payment, create, told), strict=True):
                table_rows.append(row.model_dump(exclude={"account", "problems"}))
        async with services.database.transaction() as session:
            connection = await session.connection()
            for table, new in zip(_FILLED, rows, strict=True):
                await connection.execute(table.insert(), new)
    async with services.database.transaction() as session:
        connection = await session.connection()
        if connection.dialect.name == "postgresql":  # whose numbers go on from what it has given out itself
            for table in _FILLED:
                counted = f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {orders})"
                await connection.execute(text(counted))


def write_books(file: Path, orders: int, begun: datetime) -> int:
    """Write the gateway's register of the same payments, with refunds that were not notified; return its lines."""
    with file.open("w") as books:
        for number in range(orders):
            books.write(_line(number, "purchase", begun + timedelta(seconds=number), "100.00"))
        for number in range(UNKNOWN_REFUNDS):
            at = begun + timedelta(seconds=number + 60)
            books.write(_line(number * (orders // UNKNOWN_REFUNDS), "refund", at, "10.00"))
    return orders + UNKNOWN_REFUNDS


def _line(number: int, method: str, at: datetime, amount: str) -> str:
    said = {
        "orderId": order(number),
        "paymentId": payment_id(number),
        "method": method,
        "status": "success",
        "dateTime": int(at.timestamp() * 1000),
        "amount": amount,
        "originalAmount": amount,
        "customerFee": "0.00",
        "currency": "UAH",
        "receiverName": "",
        "receiverAmount": "",
    }
    return exact_json.dumps(said) + "\n"


def _records(order_id: str, orders: int) -> bytes:
    """Return the records of a look-up for an order with an unknown refund."""
    step = orders // UNKNOWN_REFUNDS
    number = next(number for number in range(0, orders, step) if order(number) == order_id)
    common: dict[str, Any] = {
        "payment_id": payment_id(number), "order_id": order_id, "pos_id": POS_ID, "currency": "UAH",
        "status": "success", "mode": "hosted", "created_at": "2026-11-21T12:00:00.000",
    }  # fmt: skip
    paid = common | {"method": "purchase", "amount": Decimal("100.00"), "status_code": "1000"}
    refund = {"operation_id": str(UUID(int=2**100 + number)), "method": "refund", "amount": Decimal("10.00")}
    return exact_json.dumps([paid, common | refund | {"status_code": "1004"}]).encode()


async def _serve(books: Path, lines: int, orders: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                named = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
                await reader.readexactly(int(named[0][15:]) if named else 0)
                if "/fetch/" in path:
                    await _stream(writer, books)
                    continue
                body = (
                    json.dumps({"report_id": "books", "count": lines}).encode()
                    if path.endswith("/start")
                    else _records(path.rpartition("/")[2], orders)
                )
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                             % (len(body), body))  # fmt: skip
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def _stream(writer: asyncio.StreamWriter, books: Path) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
    with books.open("rb") as file:
        while block := file.read(64 * 1024):
            writer.write(b"%x\r\n%b\r\n" % (len(block), block))
            await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


@contextmanager
def neighbour(books: Path, lines: int, orders: int) -> Iterator[str]:
    """Serve books from a process of its own; yield its address."""
    words = [sys.executable, "-m", "bench.reconcile", "--serve", str(books), str(lines), str(orders)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        yield process.stdout.readline().strip()
        process.stdin.close()


def peak() -> float:
    """Return the peak memory of this process, in MiB (from Linux's /proc)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


async def prepare(settings: Settings, url: str, orders: int, begun: datetime) -> str:
    """Create a store with an account at that gateway, and its payments; return the account's id."""
    await migrate(settings.database)
    settings.open_vault()
    async with open_services(settings) as services:
        api = "https://shop.example.com/graphql/"
        made_up: dict[str, Any] = {"saleor_domain": "shop", "schema_version": "3.23", "app_id": "a", "token": "t"}
        await services.installations.save(saleor_api_url=api, **made_up, jwks=None)
        installation = await services.installations.find(api)
        assert installation is not None
        keys = AccountKeys(**dict.fromkeys(("api_key", "api_secret", "endpoints_key"), "made-up"))
        new = NewAccount(installation.id, "Main", POS_ID, url, "CPAY", keys, ["UAH"], [])
        account = await services.accounts.add(new)
        await services.accounts.change(account.id, created_at=begun - timedelta(days=1))
        await fill(services, account.id, installation.id, orders, begun)
    return account.id


async def compare(settings: Settings, account_id: str) -> dict[str, Any]:
    """Reconcile twice; return the results."""
    async with open_services(settings) as patient:
        services = replace(patient, schedule=replace(patient.schedule, between_look_ups=timedelta(0)))
        account = await services.accounts.find(account_id)
        assert account is not None
        took, processor, repaired = [], [], 0
        for _ in range(2):
            began, used = time.perf_counter(), time.process_time()
            run = await complete_run(services, await begin_run(services, account, account.created_at, services.now()))
            took.append(time.perf_counter() - began)
            processor.append(time.process_time() - used)
            assert run.finished_at is not None, run.failure
            assert run.to_people == 0, run
            repaired += run.repaired  # all of them by the first
        async with services.database.transaction() as session:
            sqlite = services.database.engine.dialect.name == "sqlite"
            pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            asked = text(pages if sqlite else "SELECT pg_database_size(current_database())")
            size = (await (await session.connection()).execute(asked)).scalar_one()
    said = {"seconds": took[0], "processor": processor[0], "again": took[1], "peak": peak()}
    return said | {"database": size / 1024**2, "repaired": repaired, "lines": run.lines}


def measure(orders: int, database_url: str | None) -> Measured:
    """Measure one size."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=orders + 3600)
        settings = Settings(
            data_dir=folder,
            database_url=database_url or f"sqlite:///{folder}/books.sqlite",
            base_url="https://a.example",
        )
        lines = write_books(folder / "books", orders, begun)
        with neighbour(folder / "books", lines, orders) as url:
            account_id = asyncio.run(prepare(settings, url, orders, begun))
            words = [sys.executable, "-m", "bench.reconcile", "--compare", str(folder), settings.database, account_id]
            said = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert (said.pop("lines"), said["repaired"]) == (lines, UNKNOWN_REFUNDS), said
    return Measured(orders=orders, **said)


def main(sizes: list[int], database_url: str | None) -> None:
    """Measure all sizes and print their ratios to the first."""
    print(f"Python {platform.python_version()}, {'PostgreSQL' if database_url else 'SQLite'}")
    titles = ("orders", "seconds", "orders/s", "CPU ms/order", "times", "again, s", "peak MiB", "times", "database MiB")
    print("  ".join(f"{title:>12}" for title in titles))
    first: Measured | None = None
    for size in sizes:
        found = measure(size, database_url)
        first = first or found
        each_order = found.processor * 1000 / found.orders
        slower, ratio = each_order * first.orders / (first.processor * 1000), found.peak / first.peak
        columns = (
            f"{size}", f"{found.seconds:.1f}", f"{found.orders / found.seconds:.0f}", f"{each_order:.3f}",
            f"{slower:.2f}", f"{found.again:.1f}", f"{found.peak:.1f}", f"{ratio:.2f}", f"{found.database:.1f}",
        )  # fmt: skip
        print("  ".join(f"{column:>12}" for column in columns), flush=True)
        assert ratio <= _LARGEST_RATIO, "memory grows with the number of orders"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--orders", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--database-url", help="of an empty PostgreSQL database, for one size; SQLite unless given")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--compare", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(_serve(Path(given.serve[0]), int(given.serve[1]), int(given.serve[2])))
    elif given.compare:
        folder, database, account_id = given.compare
        used = Settings(data_dir=Path(folder), database_url=database, base_url="https://a.example")
        print(json.dumps(asyncio.run(compare(used, account_id))))
    else:
        main(given.orders, given.database_url)
