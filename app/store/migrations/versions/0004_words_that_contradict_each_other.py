"""An operation about which the gateway's records contradict each other has perhaps succeeded."""

import sqlalchemy as sa
from alembic import op

revision = "0004.0001"
down_revision = "0003.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("operation", sa.Column("contradicted", sa.Boolean(), server_default=sa.false(), nullable=False))
