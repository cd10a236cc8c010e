"""The migrations make exactly the tables that the program uses, on both databases, once or twice."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, bindparam, text
from sqlmodel import SQLModel, select

from app.ledger import tables
from app.ledger.columns import Moment
from app.ledger.database import Database, create_engine
from app.ledger.migrate import Migrated, current_revision, migrate, newest_revision

OLD_ROWS = """
INSERT INTO installation (id, saleor_api_url, saleor_domain, created_at, updated_at)
VALUES (1, 'https://s.example/graphql/', 's.example', :now, :now);
INSERT INTO merchant_account (id, installation_id, name, pos_id, base_url, scheme_word, api_key_sealed,
api_secret_sealed, previous_api_secret_sealed, endpoints_key_sealed, currencies, storefront_origins, order_timeout,
order_3ds_bypass, names_required, enabled, created_at, updated_at)
VALUES ('acc', 1, 'Shop', 'pos', 'https://g.example', 'CPAY', 'x', 'x', 'old', 'x', '[]', '[]', 3600, 'supported', :no,
:no, :now, :now);
INSERT INTO payment (id, installation_id, account_id, transaction_id, order_id, flow, amount, currency, channel,
source_id, language, created_at, updated_at)
VALUES (1, 1, 'acc', 't', 'old1', 'CHARGE', 56950, 'UAH', 'ua', 's', 'uk', :now, :now);
"""


async def test_the_migrated_database_has_the_shape_of_the_tables(database: Database) -> None:
    assert tables.Payment.metadata is SQLModel.metadata

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        return list(compare_metadata(context, SQLModel.metadata))

    async with database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_twice_changes_nothing(database_url: str) -> None:
    assert await migrate(database_url) == Migrated(newest_revision(), newest_revision(), steps=0)
    assert await current_revision(database_url) == newest_revision() is not None


async def test_a_ledger_of_the_first_version_is_carried_over_with_its_payments(
    tmp_path: Path, new_postgresql: Callable[[], str]
) -> None:
    for url in (f"sqlite:///{tmp_path / 'old.sqlite'}", new_postgresql()):
        assert await migrate(url, to="0001") == Migrated(before=None, after="0001", steps=1)
        engine = create_engine(url)
        async with engine.begin() as connection:
            for statement in OLD_ROWS.strip().split(";\n"):
                query = text(statement.removesuffix(";")).bindparams(bindparam("now", type_=Moment))
                values = {"now": datetime(2026, 11, 1, tzinfo=UTC), "no": False}
                await connection.execute(query, {name: values[name] for name in query.compile().params})
        await engine.dispose()

        await migrate(url)

        database = Database(create_engine(url))
        async with database.transaction() as session:
            account = (await session.exec(select(tables.MerchantAccount))).one()
            payment = (await session.exec(select(tables.Payment))).one()
        await database.close()
        assert (account.sector, account.products, account.cancel_older) == ("general", tables.ProductsForm.NONE, True)
        assert account.pci_dss_confirmed_at is None
        assert account.split_rules is None
        assert account.previous_api_secret_until is not None
        assert account.previous_api_secret_until > datetime.now(UTC)
        assert account.test_project is False
        assert (payment.order_id, payment.amount, payment.mode) == ("old1", Decimal("569.50"), tables.Mode.HOSTED)
