"""The database's disk is full: nothing is asked that cannot be written down, nothing is claimed, and it ends by itself.

SQLite is given no page more than it has, and needs one for each row. PostgreSQL raises what it raises when a file
cannot grow (53100); when it is its log that cannot grow, it stops, as in ``tests/journeys/test_postgresql_restarts``.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel

from app.core.vocabulary import Kind, State
from app.flows.notifications import Receipt
from app.store.database import Database
from app.store.errors import DatabaseUnavailableError
from integration_base_tests.loopback import json_reply
from saleor_app_sdk.errors import StillUnderwayError
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

pytestmark = [pytest.mark.law(1, 2, 5, 6)]

_MOST_PAGES = 2**30
_NO_ROOM = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE disk_full USING MESSAGE = 'could not extend file "base/16384/16397": No space left on device';
END $$
"""


@dataclass
class Disk:
    """Where the database is. Whatever is written takes room that is not there."""

    database: Database

    async def fill(self) -> None:
        """Leave no room for anything."""
        if self._is_sqlite:
            await self._say(
                "CREATE TABLE ballast (weight BLOB)",
                *self._on_each_write("BEGIN INSERT INTO ballast VALUES (zeroblob(100000)); END"),
            )
            ((pages,),) = await self._say("PRAGMA page_count")
            await self._say(f"PRAGMA max_page_count = {pages}")
        else:
            await self._say(_NO_ROOM, *self._on_each_write("FOR EACH ROW EXECUTE FUNCTION no_room()"))

    async def make_room(self) -> None:
        """Somebody has deleted old log files."""
        if self._is_sqlite:
            await self._say(f"PRAGMA max_page_count = {_MOST_PAGES}")
            await self._say(*(f"DROP TRIGGER IF EXISTS {name}" for name in self._triggers))
            await self._say("DROP TABLE IF EXISTS ballast")
        else:
            await self._say("DROP FUNCTION IF EXISTS no_room CASCADE")

    @property
    def _is_sqlite(self) -> bool:
        return self.database.engine.dialect.name == "sqlite"

    @property
    def _triggers(self) -> dict[str, tuple[str, str]]:
        tables = [table.name for table in SQLModel.metadata.sorted_tables]
        return {f"full_{table}_{word}": (table, word) for table in tables for word in ("INSERT", "UPDATE")}

    def _on_each_write(self, does: str) -> list[str]:
        return [f"CREATE TRIGGER {name} BEFORE {on} ON {table} {does}" for name, (table, on) in self._triggers.items()]

    async def _say(self, *statements: str) -> Any:
        async with self.database.transaction() as session:
            connection = await session.connection()
            for statement in statements:
                answer = await connection.execute(text(statement))
            return answer.all() if answer.returns_rows else None


@pytest.fixture
async def disk(database: Database) -> AsyncIterator[Disk]:
    disk = Disk(database)
    yield disk
    await disk.make_room()


def fills(disk: Disk) -> Callable[[Any], Awaitable[None]]:
    """Return what fills the disk in the moment in which a request arrives at the gateway."""

    async def fill(_heard: Any) -> None:
        await disk.fill()

    return fill


@pytest.mark.fault("disk-full")
async def test_a_payment_that_cannot_be_written_down_is_not_begun(shop: Shop, disk: Disk) -> None:
    """The gateway is not asked, and the shopper hears what to do; once there is room, the same attempt works."""
    await disk.fill()
    with pytest.raises(DatabaseUnavailableError):
        await shop.begin()
    assert shop.gateway.requests == []
    await disk.make_room()
    shop.gateway.will_answer(shop.gateway.page())
    assert "checkoutUrl" in (await shop.begin()).data


@pytest.mark.fault("disk-full")
async def test_a_refund_that_cannot_be_written_down_is_not_asked_for(paid_shop: Shop, disk: Disk) -> None:
    await disk.fill()
    with pytest.raises(DatabaseUnavailableError):
        await paid_shop.request_action("REFUND", "100.00")
    assert paid_shop.gateway.requests == []
    await disk.make_room()
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
    )
    answer = await paid_shop.request_action("REFUND", "100.00")
    assert (answer.result, paid_shop.gateway.calls) == ("REFUND_SUCCESS", ["refund"])


@pytest.mark.fault("disk-full")
async def test_a_refund_whose_outcome_cannot_be_written_down_is_found_and_told_once(
    paid_shop: Shop, disk: Disk
) -> None:
    """The gateway has done it, and nobody could say so: Saleor hears neither success nor failure until it is known."""
    record = operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1")
    paid_shop.gateway.will_answer(json_reply(record))
    paid_shop.gateway.on_request = fills(disk)
    with pytest.raises(StillUnderwayError):  # answered as pending
        await paid_shop.request_action("REFUND", "100.00")
    paid_shop.gateway.on_request = None
    assert paid_shop.gateway.calls == ["refund"]
    paid_shop.gateway.book[paid_shop.order_id].append(record)
    await disk.make_room()
    assert (await paid_shop.operation(Kind.REFUND)).state is not State.FAILURE
    await paid_shop.pass_time(minutes=30)
    assert paid_shop.gateway.calls == ["refund"]
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.fault("disk-full")
async def test_a_page_whose_address_cannot_be_written_down_is_paid_by_nobody(shop: Shop, disk: Disk) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    shop.gateway.on_request = fills(disk)
    with pytest.raises(DatabaseUnavailableError):  # answered as a failure: nobody has the page
        await shop.begin()
    shop.gateway.on_request = None
    await disk.make_room()
    shop.gateway.will_answer(*[json_reply({"message": "no"}, 400)] * 9)
    await shop.pass_time(minutes=30)
    assert shop.gateway.calls.count("payment") == 1
    assert shop.amounts == amounts()


@pytest.mark.fault("disk-full")
async def test_a_notification_that_cannot_be_kept_is_not_acknowledged_and_what_it_told_is_found(
    shop: Shop, disk: Disk
) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await disk.fill()
    with pytest.raises(DatabaseUnavailableError):  # answered 503
        await shop.notify(payment(shop.order_id))
    await disk.make_room()
    await shop.pass_time(minutes=5)
    assert shop.amounts == amounts(charged=TOTAL)
    assert await shop.notify(payment(shop.order_id)) is Receipt.KEPT
    await shop.pass_time(minutes=5)
    assert shop.amounts == amounts(charged=TOTAL)
