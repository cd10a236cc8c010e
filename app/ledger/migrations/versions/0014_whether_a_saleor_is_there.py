"""Tokens that are not proven are kept apart, and whether a Saleor is there is known."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_MOMENTS = ("away_since", "revived_at", "unauthorised_since", "next_check_at")


def upgrade() -> None:
    op.create_table(
        "pending_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), sa.ForeignKey("installation.id"), nullable=False),
        sa.Column("schema_version", sa.String(length=20), nullable=True),
        sa.Column("token_sealed", sa.Text(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_pending_token_installation_id", "pending_token", ["installation_id"])
    op.execute(
        "INSERT INTO pending_token (installation_id, schema_version, token_sealed, received_at) "
        "SELECT id, schema_version, pending_token_sealed, updated_at FROM installation "
        "WHERE pending_token_sealed IS NOT NULL"
    )
    op.drop_column("installation", "pending_token_sealed")
    for name in _MOMENTS:
        op.add_column("installation", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE installation SET next_check_at = updated_at WHERE token_sealed IS NOT NULL")
    op.create_index(
        "ix_installation_next_check_at",
        "installation",
        ["next_check_at"],
        sqlite_where=sa.text("next_check_at IS NOT NULL"),
        postgresql_where=sa.text("next_check_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_installation_next_check_at", table_name="installation")
    for name in _MOMENTS:
        op.drop_column("installation", name)
    op.add_column("installation", sa.Column("pending_token_sealed", sa.Text(), nullable=True))
    op.drop_table("pending_token")
