"""Asks whether a server keeps what it has confirmed when its machine loses power."""

from app.store.database import create_engine


async def waits_for_the_disk(database_url: str) -> bool:
    """Return False for a PostgreSQL server with ``fsync = off``, which only its administrator can set."""
    engine = create_engine(database_url)
    try:
        async with engine.connect() as connection:
            if connection.dialect.name != "postgresql":
                return True
            return bool((await connection.exec_driver_sql("SHOW fsync")).scalar_one() == "on")
    finally:
        await engine.dispose()
