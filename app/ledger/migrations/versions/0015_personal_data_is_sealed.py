"""What is personal in a request is kept sealed. Requests of before are sealed by a command: it needs the secret key."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("operation", sa.Column("personal_sealed", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("operation", "personal_sealed")
