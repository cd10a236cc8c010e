"""Several replaced API secrets of an account, each within its own grace, verify notifications."""

import sqlalchemy as sa
from alembic import op

revision = "0014.0001"
down_revision = "0013.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("merchant_account", sa.Column("older_api_secrets_sealed", sa.Text(), nullable=True))
    op.add_column("merchant_account", sa.Column("older_api_secrets_until", sa.DateTime(timezone=True), nullable=True))
