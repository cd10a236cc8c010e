"""A database that says of itself that it is at another version."""

from sqlalchemy import text

from app.store.database import create_engine


async def stand_at(database_url: str, revision: str) -> None:
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = :name"), {"name": revision})
    await engine.dispose()
