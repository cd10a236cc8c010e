"""Which order a checkout has become is asked of Saleor; payments of before are left as they are."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_INDEX = "ix_payment_next_order_look_at"
_DUE = sa.text("next_order_look_at IS NOT NULL")


def upgrade() -> None:
    op.add_column("payment", sa.Column("next_order_look_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("payment", sa.Column("order_looks", sa.Integer(), nullable=False, server_default="0"))
    op.create_index(_INDEX, "payment", ["next_order_look_at"], sqlite_where=_DUE, postgresql_where=_DUE)


def downgrade() -> None:
    op.drop_index(_INDEX, table_name="payment")
    op.drop_column("payment", "order_looks")
    op.drop_column("payment", "next_order_look_at")
