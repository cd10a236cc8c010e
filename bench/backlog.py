"""A Saleor that was away for a day is back: how its backlog drains, and how long somebody new waits meanwhile.

A worker in this process, a played Saleor that answers at once, and a database with ``--few`` events that wait, then
with ``--many``; all have been tried and pause, as after a day. ``a second``: events delivered. ``processor``: this
process's milliseconds for each, which depend less on other load of the machine; the quotient is of those.
``statements`` and ``transactions``: for each event. ``overtaken``: how many older events the slowest of four new ones
has waited for, and ``told`` how many milliseconds that took. ``memory``: the peak of this process so far, in MB. An
event that is delivered twice, or not at all, ends it.

    python -m bench.backlog [--few 2000] [--many 20000] [--kind sqlite|postgresql]

PostgreSQL's databases are made on the server that the tests use, and dropped again.
"""

import argparse
import asyncio
import logging
import resource
import tempfile
from pathlib import Path

import structlog

from app.store.database import Database, create_engine
from app.store.migrate import migrate
from app.store.vault import KEY_BYTES, Vault
from bench.webhooks import POSTGRESQL, database
from integration_base_tests.clock import Clock
from tests.payments.fake_gateway import FakeGateway, open_fake_gateway
from tests.payments.shop import open_shop
from tests.worker.backlog import Drain, drain_backlog

GOAL = 1.5
_SERVERS = {"sqlite": "sqlite", "postgresql": POSTGRESQL}


async def drain(url: str, backlog: int) -> Drain:
    """Drain a backlog in an empty database. Raises AssertionError if the two sets of records differ in the end."""
    await migrate(url)
    opened, clock = Database(create_engine(url)), Clock()
    try:
        async with (
            open_fake_gateway(FakeGateway()) as gateway,
            open_shop(opened, Vault([b"\x07" * KEY_BYTES]), clock, gateway) as shop,
        ):
            drained = await drain_backlog(shop, backlog)
    finally:
        await opened.close()
    if drained.left or set(drained.heard.values()) != {1}:
        raise AssertionError(f"{drained.left} events are left; {drained.heard.most_common(1)} is the one heard most")
    return drained


def measure(kind: str, backlog: int) -> Drain:
    """Drain a backlog on one kind of database, and print a line of what it took."""
    with tempfile.TemporaryDirectory() as folder, database(_SERVERS[kind], Path(folder)) as url:
        drained = asyncio.run(drain(url, backlog))
    events = len(drained.heard)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{kind:<10} {backlog:>7} waiting: {events / drained.seconds:6.0f} a second, "
        f"processor {drained.processor_seconds / events * 1000:.1f} ms, "
        f"{drained.statements / events:.2f} statements, {drained.transactions / events:.2f} transactions, "
        f"overtaken {max(drained.overtaken)}, told {max(drained.seconds_until_told) * 1000:.0f} ms, memory {memory} MB"
    )
    return drained


def main(kinds: list[str], few: int, many: int) -> None:
    """Compare a long backlog with a short one, on each kind of database."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    for kind in kinds:
        short, long = measure(kind, few), measure(kind, many)
        ratio = (long.processor_seconds / len(long.heard)) / (short.processor_seconds / len(short.heard))
        print(f"{kind:<10} an event of many takes {ratio:.2f} times that of few; the goal is {GOAL}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", type=int, default=2000)
    parser.add_argument("--many", type=int, default=20_000)
    parser.add_argument("--kind", choices=_SERVERS, action="append")
    asked = parser.parse_args()
    main(asked.kind or list(_SERVERS), asked.few, asked.many)
