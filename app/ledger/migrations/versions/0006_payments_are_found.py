"""Payments are found: by the shopper's e-mail (its digest), and by an index for each filter of the list."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_INDEXES = (
    ("ix_payment_begun", "payment", ["created_at", "id"], None),
    ("ix_payment_of_store", "payment", ["installation_id", "created_at", "id"], None),
    ("ix_payment_of_account", "payment", ["account_id", "created_at", "id"], None),
    ("ix_payment_of_channel", "payment", ["installation_id", "channel", "created_at", "id"], None),
    ("ix_payment_of_amount", "payment", ["installation_id", "amount", "created_at", "id", "currency"], None),
    ("ix_payment_of_shopper", "payment", ["email_digest", "created_at", "id"], "email_digest IS NOT NULL"),
    ("ix_payment_order_number", "payment", ["order_number"], "order_number IS NOT NULL"),
    ("ix_payment_problem_of_store", "payment", ["installation_id", "created_at", "id"], "problem IS NOT NULL"),
    ("ix_operation_state", "operation", ["state", "payment_id"], "state <> 'success'"),
    ("ix_operation_psp_reference", "operation", ["psp_reference"], "kind <> 'create'"),
)
_ORDER_IDS = ("payment", "burnt_order")


def upgrade() -> None:
    op.add_column("payment", sa.Column("email_digest", sa.String(length=32), nullable=True))
    _compare_order_ids("C")
    for name, table, columns, condition in _INDEXES:
        where = None if condition is None else sa.text(condition)
        op.create_index(name, table, columns, unique=False, sqlite_where=where, postgresql_where=where)
    op.drop_index("ix_payment_account_id", table_name="payment")  # ix_payment_of_account begins with the same column


def downgrade() -> None:
    op.create_index("ix_payment_account_id", "payment", ["account_id"], unique=False)
    for name, table, _, _ in reversed(_INDEXES):
        op.drop_index(name, table_name=table)
    _compare_order_ids("default")
    with op.batch_alter_table("payment") as batch:
        batch.drop_column("email_digest")


def _compare_order_ids(collation: str) -> None:
    """Let order ids be compared in that way. SQLite compares bytes anyhow."""
    if op.get_bind().dialect.name == "postgresql":
        for table in _ORDER_IDS:
            op.alter_column(table, "order_id", type_=sa.String(length=32, collation=collation))
