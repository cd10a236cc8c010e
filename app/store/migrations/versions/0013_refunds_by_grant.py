"""A refund is found by the granted refund that it was requested for, whichever payment it is of."""

import sqlalchemy as sa
from alembic import op

revision = "0013.0001"
down_revision = "0012.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    named = sa.text("granted_refund_id IS NOT NULL")
    op.create_index(
        "ix_operation_granted_refund",
        "operation",
        ["granted_refund_id"],
        sqlite_where=named,
        postgresql_where=named,
    )
