"""Asks whether the database accepts changes, without making one.

After a failover a process may be connected to a server that only reads. Every query succeeds there, and nothing that
somebody asks of the app does.
"""

from sqlalchemy import text
from sqlmodel.ext.asyncio.session import AsyncSession

# A server that only reads refuses it by its kind, so that the app connects anew; any other has no row to write.
_CHANGES_NOTHING = text("UPDATE alembic_version SET version_num = version_num WHERE 1 = 0")


async def probe_write(session: AsyncSession) -> None:
    """Raise the database's error if it accepts no changes (``app.store.errors.is_read_only``)."""
    await (await session.connection()).execute(_CHANGES_NOTHING)
