"""Other attempts to pay the same are found without going through all payments of the store."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_payment_of_source", "payment", ["installation_id", "source_id"])


def downgrade() -> None:
    op.drop_index("ix_payment_of_source", table_name="payment")
