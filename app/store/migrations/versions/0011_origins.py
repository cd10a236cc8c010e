"""An operation says who wanted it, and a cancellation why, in columns of their own instead of in keys and sentences."""

import sqlalchemy as sa
from alembic import op

revision = "0011.0001"
down_revision = "0010.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Empty in rows of the version before, which still runs while this one is rolled out: they are read by their keys.
    # So no table of millions is written anew, and nobody waits for it.
    op.add_column("operation", sa.Column("origin", sa.String(32), nullable=True))
    op.add_column("operation", sa.Column("close_reason", sa.String(32), nullable=True))
