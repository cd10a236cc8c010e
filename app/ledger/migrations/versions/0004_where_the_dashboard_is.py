"""Where a store's Dashboard is: an operator says it where it does not follow from the API's address."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("installation", sa.Column("dashboard_url", sa.String(length=500), nullable=True))


def downgrade() -> None:
    op.drop_column("installation", "dashboard_url")
