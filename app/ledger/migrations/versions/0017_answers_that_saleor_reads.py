"""An operation knows by which webhooks Saleor asked for it, and whether Saleor has read the answer."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("operation", sa.Column("saleor_requests", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("operation", sa.Column("granted_refund_id", sa.String(length=100), nullable=True))
    op.add_column("operation", sa.Column("answer_awaited_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("operation", sa.Column("asked_anew", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("saleor_event", sa.Column("operation_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("saleor_event", "operation_id")
    op.drop_column("operation", "asked_anew")
    op.drop_column("operation", "answer_awaited_until")
    op.drop_column("operation", "granted_refund_id")
    op.drop_column("operation", "saleor_requests")
