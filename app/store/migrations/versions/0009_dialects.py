"""An account says what its gateway decides where the interface leaves it open; a capture, what became of the rest."""

import sqlalchemy as sa
from alembic import op

revision = "0009.0001"
down_revision = "0008.0001"
branch_labels = None
depends_on = None

_POINTS = (
    "capture_endpoint",
    "part_capture",
    "hold_split",
    "operation_products",
    "page_language",
    "payout_3ds_bypass",
    "product_taxes",
)


def upgrade() -> None:
    # What was assumed of every gateway until now. The server's default is for processes of the version before, which
    # do not know the column and still run while this one is rolled out.
    op.add_column("merchant_account", sa.Column("dialect", sa.String(20), nullable=False, server_default="public"))
    for point in _POINTS:
        op.add_column("merchant_account", sa.Column(point, sa.String(20), nullable=True))
    op.add_column("merchant_account", sa.Column("time_zone", sa.String(60), nullable=True))
    op.execute("UPDATE merchant_account SET payout_3ds_bypass = 'never'")  # as payouts were sent
    op.add_column("operation", sa.Column("keeps_rest", sa.Boolean(), nullable=False, server_default=sa.false()))
