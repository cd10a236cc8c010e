"""A payment has one order at the gateway for ever: none is given up for another one any more."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("burnt_order")


def downgrade() -> None:
    collation = "C" if op.get_bind().dialect.name == "postgresql" else None
    op.create_table(
        "burnt_order",
        sa.Column("order_id", sa.String(length=32, collation=collation), nullable=False),
        sa.Column("payment_id", sa.Integer(), nullable=False),
        sa.Column("burnt_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["payment_id"], ["payment.id"]),
        sa.PrimaryKeyConstraint("order_id"),
    )
    op.create_index("ix_burnt_order_payment_id", "burnt_order", ["payment_id"], unique=False)
