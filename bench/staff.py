"""Staff of a store with payments by the million, at the pages of an app of their own."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from app.bootstrap import open_services
from app.demo.processes import free_port
from app.settings import Settings
from app.store.accounts import NewAccount
from app.store.migrate import migrate
from app.worker.sum_days import sum_days
from bench.asking import wait_until_listening
from bench.many_payments import Store, copy, create_payments
from bench.webhooks import KEYS, POS_ID, Subject, database, set_up_shop, start_process
from saleor_app_sdk.testing.signing import SigningKey

SALEOR = "http://127.0.0.1:9"
SHOPPER = "olena@example.com"


@dataclass(frozen=True)
class PageRequest:
    """A request for a page; with ``form``: a POST."""

    name: str
    path: str
    form: str | None = None


@dataclass
class File:
    """All payments as CSV."""

    seconds: float
    lines: int
    megabytes: float
    memory_before: float
    memory_peak: float


@dataclass
class Office:
    """Staff of the store, who use the app's pages."""

    subject: Subject
    key: SigningKey
    connection: HTTPConnection
    settings: Settings
    store: Store
    saleor: str = SALEOR

    def ask(self, asked: PageRequest) -> tuple[int, int, float]:
        """Return status, bytes and seconds of a response."""
        body = None if asked.form is None else asked.form.encode()
        headers = self._headers() | ({"Content-Type": "application/x-www-form-urlencoded"} if body else {})
        clock = time.perf_counter()
        self.connection.request("POST" if body else "GET", f"/parts{asked.path}", body, headers)
        answer = self.connection.getresponse()
        size = len(answer.read())
        return answer.status, size, time.perf_counter() - clock

    def file(self) -> File:
        """Export all payments as CSV."""
        before = self._memory("VmRSS")
        clock = time.perf_counter()
        headers = self._headers() | {"Content-Type": "application/x-www-form-urlencoded"}
        self.connection.request("POST", "/parts/payments.csv", b"search=", headers)
        answer = self.connection.getresponse()
        size = lines = 0
        while piece := answer.read(1 << 16):
            size, lines = size + len(piece), lines + piece.count(b"\n")
        took = time.perf_counter() - clock
        return File(took, lines - 1, size / 1e6, before, self._memory("VmHWM"))

    def _headers(self) -> dict[str, str]:
        now = int(time.time())
        said = {
            "iat": now, "exp": now + 300, "iss": f"{self.saleor}/graphql/", "type": "thirdparty", "token": "bench",
            "email": "", "user_id": "VXNlcjox", "is_staff": True, "app": "QXBwOjE=", "permissions": ["HANDLE_PAYMENTS"],
            "user_permissions": ["HANDLE_PAYMENTS", "MANAGE_APPS", "MANAGE_ORDERS"],
        }  # fmt: skip
        return {"Authorization": f"Bearer {self.key.token(said)}", "Saleor-Api-Url": f"{self.saleor}/graphql/"}

    def _memory(self, name: str) -> float:
        lines = Path(f"/proc/{self.subject.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


@contextmanager
def open_office(server: str, rows: int, folder: Path, saleor: str = SALEOR, kind: str = "") -> Iterator[Office]:
    """Yield the office of a store with that many payments. ``saleor``: where its Saleor and its gateway are.

    ``kind`` "sqlite": the payments are created on the server, and copied to a file.
    """
    key = SigningKey()
    with database(server, folder) as made, database(kind or server, folder) as another:
        url = another if kind else made
        port = free_port()
        settings = Settings(data_dir=folder, database_url=url, base_url=f"http://127.0.0.1:{port}")
        store = asyncio.run(set_up(settings.model_copy(update={"database_url": made}), key, saleor))
        if rows:
            create_payments(made, store, rows)
        asyncio.run(sum_past_days(settings.model_copy(update={"database_url": made}), store))
        if kind:
            asyncio.run(migrate(url))
            copy(made, url)
        environment = {
            "APP_DATA_DIR": str(folder), "APP_DATABASE_URL": url, "APP_BASE_URL": settings.base_url,
            "APP_PORT": str(port), "APP_LOG_LEVEL": "error", "APP_WORKER": "false",
        }  # fmt: skip
        with start_process([sys.executable, "-m", "app.cli", "run"], port, environment) as subject:
            asyncio.run(wait_until_listening(port))
            connection = HTTPConnection("127.0.0.1", port, timeout=600)
            yield Office(subject, key, connection, settings, store, saleor)
            connection.close()


async def sum_past_days(settings: Settings, store: Store) -> None:
    """Sum all past days, as the worker does every night."""
    async with open_services(settings) as services:
        await sum_days(services, store.installation_id)


async def set_up(settings: Settings, key: SigningKey, saleor: str) -> Store:
    """Return a store with three accounts in a new database."""
    accounts = [await set_up_shop(settings, saleor, key)]
    async with open_services(settings) as services:
        (installation,) = await services.installations.all()
        for name in ("Second", "Third"):
            another = NewAccount(
                installation_id=installation.id, name=name, pos_id=POS_ID, base_url=saleor, scheme_word="CPAY",
                keys=KEYS, currencies=["UAH"], storefront_origins=[],
            )  # fmt: skip
            accounts.append((await services.accounts.add(another)).id)
        digest = services.emails.digest_to_store(installation.id, SHOPPER)
    first, second, third = accounts
    return Store(installation.id, (first, second, third), digest)
