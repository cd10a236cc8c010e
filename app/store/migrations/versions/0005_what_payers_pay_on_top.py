"""At some accounts, payers pay the gateway's fee on top of the amount."""

import sqlalchemy as sa
from alembic import op

revision = "0005.0001"
down_revision = "0004.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("merchant_account", sa.Column("payer_fee_percent", sa.BigInteger(), nullable=True))
