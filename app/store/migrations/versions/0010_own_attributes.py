"""What accounts send of the interface's optional fields: own attributes, preflight requests, who is paid out."""

import sqlalchemy as sa
from alembic import op

revision = "0010.0001"
down_revision = "0009.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The server's default is for processes of the version before, which still run while this one is rolled out.
    op.add_column("merchant_account", sa.Column("attributes", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("merchant_account", sa.Column("validation_url", sa.String(500), nullable=True))
    for point in ("payout_identity", "full_refund_amount"):
        op.add_column("merchant_account", sa.Column(point, sa.String(20), nullable=True))
