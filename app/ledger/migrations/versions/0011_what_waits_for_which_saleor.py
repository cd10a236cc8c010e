"""What waits for which Saleor: events are counted for a store without going through everybody's."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("saleor_event", sa.Column("installation_id", sa.Integer(), nullable=True))
    events = sa.table(
        "saleor_event",
        sa.column("payment_id", sa.Integer()),
        sa.column("installation_id", sa.Integer()),
        sa.column("state", sa.String()),
    )
    payments = sa.table("payment", sa.column("id", sa.Integer()), sa.column("installation_id", sa.Integer()))
    store = sa.select(payments.c.installation_id).where(payments.c.id == events.c.payment_id).scalar_subquery()
    # What Saleor has taken is never counted again.
    op.execute(events.update().where(events.c.state.in_(["waiting", "refused"])).values(installation_id=store))
    waiting = sa.text("next_attempt_at IS NOT NULL")
    op.create_index(
        "ix_saleor_event_undelivered",
        "saleor_event",
        ["installation_id", "created_at"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )


def downgrade() -> None:
    op.drop_index("ix_saleor_event_undelivered", table_name="saleor_event")
    op.drop_column("saleor_event", "installation_id")
