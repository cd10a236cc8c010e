"""The store of other tests: its rows are those that the repositories write, however it was opened."""

from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from app.store.database import Database
from app.store.vault import Vault
from integration_base_tests.clock import Clock
from tests.payments.fake_gateway import FakeGateway
from tests.payments.shop import SALEOR, open_shop, set_up_store

URL = "http://127.0.0.1:9"


async def rows(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of all tables."""
    async with database.transaction() as session:
        connection = await session.connection()
        found = {table.name: await connection.execute(sa.select(table)) for table in SQLModel.metadata.sorted_tables}
    return {name: [dict(row) for row in table.mappings()] for name, table in found.items()}


async def empty(database: Database) -> None:
    async with database.transaction() as session:
        for table in reversed(SQLModel.metadata.sorted_tables):
            await session.exec(sa.delete(table))


def comparable(written: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Leave out what is random in each store: the account's id, and how secrets are sealed; and what has a number."""
    return {
        name: [
            {
                column: value
                for column, value in row.items()
                if not column.endswith("_sealed") and column not in {"id", "account_id", "installation_id"}
            }
            for row in table
        ]
        for name, table in written.items()
    }


async def test_a_store_that_is_opened_is_one_that_was_set_up(database: Database, vault: Vault, clock: Clock) -> None:
    await set_up_store(database, vault, clock, URL)
    as_set_up = await rows(database)
    opened = []
    for _ in range(2):  # the first one of this process may be the one that is set up
        await empty(database)
        async with open_shop(database, vault, clock, FakeGateway(url=URL)) as shop:
            opened.append(await rows(database))
            assert shop.account.installation_id == shop.installation.id
            assert shop.services.accounts.keys(shop.account).api_key == "the-api-key"
            assert (await shop.services.installations.find(SALEOR)) == shop.installation
            assert shop.installation.token == "the-app-token"
            assert await shop.services.accounts.for_channel(shop.installation.id, "uah") is not None
    assert [name for name, table in as_set_up.items() if table] == ["installation", "merchant_account", "channel_route"]
    assert [comparable(shop_opened) for shop_opened in opened] == [comparable(as_set_up)] * 2
