"""An account says which orders at its point of sale are another shop's."""

import sqlalchemy as sa
from alembic import op

revision = "0007.0001"
down_revision = "0006.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "merchant_account", sa.Column("other_orders", sa.JSON(), server_default=sa.text("'[]'"), nullable=False)
    )
