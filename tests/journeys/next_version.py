"""The app as its next version could be: a column more, which it fills, and an index on that.

    python -m tests.journeys.next_version migrate|run|worker

Its migration removes nothing, so this version works with the migrated database (``app.store.migrate``).
"""

import shutil
import tempfile
from pathlib import Path

from sqlalchemy import Column, String, Table

from app import cli
from app.store import migrate
from app.store.tables import Payment

REVISION = "0999.0001"
BEGUN_BY = "begun_by"

_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{revision}", "{before}", None, None


def upgrade():
    op.add_column("payment", sa.Column("{column}", sa.String(20), nullable=True))
    op.create_index("ix_payment_{column}", "payment", ["{column}"])
"""


def next_migrations(folder: Path) -> Path:
    """Return a copy of the migrations with one more."""
    migrations = folder / "migrations"
    shutil.copytree(migrate._MIGRATIONS, migrations)
    text = _MIGRATION.format(revision=REVISION, before=migrate.newest_revision(), column=BEGUN_BY)
    (migrations / "versions" / "0999_next.py").write_text(text)
    return migrations


def main() -> None:
    """Run the requested command as the next version."""
    column = Column(BEGUN_BY, String(20), nullable=True, default="the next version")
    table: Table = Payment.__table__  # type: ignore[attr-defined] # a table's class has it
    table.append_column(column)
    Payment.__mapper__.add_property(BEGUN_BY, column)  # type: ignore[attr-defined] # as above
    with tempfile.TemporaryDirectory() as folder:
        migrate._MIGRATIONS = next_migrations(Path(folder))
        migrate.newest_revision.cache_clear()
        cli.main()


if __name__ == "__main__":
    main()
