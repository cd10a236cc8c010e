"""More ways to pay: accounts say more of the merchant, cards in the storefront, shares of sub-merchants, tried-out orders."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _new_columns() -> dict[str, tuple[sa.Column[Any], ...]]:
    """Return the columns by table. What is never empty has a default for the accounts and payments of before."""
    return {
        "merchant_account": (
            sa.Column("sector", sa.String(length=20), nullable=False, server_default="general"),
            sa.Column("merchant_mcc", sa.String(length=4), nullable=True),
            sa.Column("description_template", sa.String(length=500), nullable=True),
            sa.Column("products", sa.String(length=32), nullable=False, server_default="none"),
            sa.Column("receipt_delivery", sa.String(length=10), nullable=True),
            sa.Column("cancel_older", sa.Boolean(), nullable=False, server_default=sa.true()),
            sa.Column("pci_dss_confirmed_at", sa.DateTime(timezone=True), nullable=True),
            sa.Column("balances_url", sa.String(length=500), nullable=True),
            sa.Column("register_url", sa.String(length=500), nullable=True),
            sa.Column("split_rules", sa.JSON(), nullable=True),
        ),
        "payment": (
            sa.Column("mode", sa.String(length=32), nullable=False, server_default="hosted"),
            sa.Column("redirect_url", sa.Text(), nullable=True),
            sa.Column("next_refund_split", sa.JSON(), nullable=True),
            sa.Column("problems", sa.JSON(), nullable=False, server_default="{}"),
        ),
        "operation": (
            sa.Column("particulars", sa.JSON(), nullable=False, server_default="{}"),
            sa.Column("decision", sa.JSON(), nullable=True),
        ),
    }


def upgrade() -> None:
    for table, columns in _new_columns().items():
        for column in columns:
            op.add_column(table, column)
    some = sa.text("problem IS NOT NULL")
    op.create_index("ix_payment_problem", "payment", ["account_id"], sqlite_where=some, postgresql_where=some)
    op.create_table(
        "burnt_order",
        sa.Column("order_id", sa.String(length=32), nullable=False),
        sa.Column("payment_id", sa.Integer(), nullable=False),
        sa.Column("burnt_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["payment_id"], ["payment.id"]),
        sa.PrimaryKeyConstraint("order_id"),
    )
    op.create_index("ix_burnt_order_payment_id", "burnt_order", ["payment_id"], unique=False)
    op.create_table(
        "split_share",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=False),
        sa.Column("sub_merchant_id", sa.String(length=64), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["operation_id"], ["operation.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("operation_id", "sub_merchant_id"),
    )
    op.create_table(
        "card_key",
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("public_jwk", sa.JSON(), nullable=False),
        sa.Column("private_sealed", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("kid"),
    )


def downgrade() -> None:
    for table in ("card_key", "split_share", "burnt_order"):
        op.drop_table(table)
    op.drop_index("ix_payment_problem", table_name="payment")
    for table, columns in _new_columns().items():
        with op.batch_alter_table(table) as batch:
            for column in columns:
                batch.drop_column(column.name)
