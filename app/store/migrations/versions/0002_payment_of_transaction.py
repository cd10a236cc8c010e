"""A payment is found by its transaction, whatever store it is of."""

from alembic import op

revision = "0002.0001"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_payment_of_transaction", "payment", ["transaction_id"])
