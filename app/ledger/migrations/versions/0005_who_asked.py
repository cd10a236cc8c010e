"""Who asked: staff can ask at our own door, and the ledger says who it was."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("operation", sa.Column("asked_by", sa.String(length=200), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("operation") as batch:
        batch.drop_column("asked_by")
