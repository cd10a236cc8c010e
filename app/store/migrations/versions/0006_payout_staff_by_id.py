"""Who may pay out is known by Saleor's id of the person, from the first time that they do."""

import sqlalchemy as sa
from alembic import op

revision = "0006.0001"
down_revision = "0005.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "merchant_account", sa.Column("payout_staff_ids", sa.JSON(), server_default=sa.text("'{}'"), nullable=False)
    )
