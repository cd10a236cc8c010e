"""Attempts to pay the same know of each other, and of what there is to pay."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_INDEX = "ix_payment_attempts_due_at"
_DUE = sa.text("attempts_due_at IS NOT NULL")


def upgrade() -> None:
    op.add_column("payment", sa.Column("to_pay", sa.BigInteger(), nullable=True))
    op.add_column("payment", sa.Column("has_rivals", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("payment", sa.Column("attempts_due_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(_INDEX, "payment", ["attempts_due_at"], sqlite_where=_DUE, postgresql_where=_DUE)


def downgrade() -> None:
    op.drop_index(_INDEX, table_name="payment")
    op.drop_column("payment", "attempts_due_at")
    op.drop_column("payment", "has_rivals")
    op.drop_column("payment", "to_pay")
