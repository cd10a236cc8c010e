"""Setting up in the Dashboard: replaced secrets end, accounts are told apart, the newest notification is found."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_GRACE = timedelta(hours=24)  # for what was replaced before this: notifications may be on their way


def upgrade() -> None:
    op.add_column("merchant_account", sa.Column("previous_api_secret_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "merchant_account", sa.Column("test_project", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    accounts = sa.table(
        "merchant_account",
        sa.column("previous_api_secret_sealed", sa.Text()),
        sa.column("previous_api_secret_until", sa.DateTime(timezone=True)),
    )
    op.execute(
        accounts.update()
        .where(accounts.c.previous_api_secret_sealed.is_not(None))
        .values(previous_api_secret_until=datetime.now(UTC) + _GRACE)
    )
    op.create_index("ix_notification_account_received", "notification", ["account_id", "received_at"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_notification_account_received", table_name="notification")
    with op.batch_alter_table("merchant_account") as batch:
        batch.drop_column("test_project")
        batch.drop_column("previous_api_secret_until")
