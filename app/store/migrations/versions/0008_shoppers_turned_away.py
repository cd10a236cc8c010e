"""Shoppers who are turned away are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0008.0001"
down_revision = "0007.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "turned_away",
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=255), nullable=False),
        sa.Column("code", sa.String(length=40), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recent", sa.JSON(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("installation_id", "channel", "code", "day"),
    )
    op.add_column("channel_route", sa.Column("channel_id", sa.String(length=100), nullable=True))
