"""Every event names its store."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("saleor_event") as table:
        table.alter_column("installation_id", existing_type=sa.Integer(), nullable=False)
