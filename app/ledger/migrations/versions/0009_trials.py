"""Trials: payments that staff make to see that an account works, and that Saleor knows nothing of."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("payment", sa.Column("trial", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table("payment") as batch:
        batch.drop_column("trial")
