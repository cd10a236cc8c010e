"""Which problems of the app Saleor was told to show."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("installation", sa.Column("problems_due_at", sa.DateTime(timezone=True), nullable=True))
    installations = sa.table(
        "installation",
        sa.column("problems_due_at", sa.DateTime(timezone=True)),
        sa.column("updated_at", sa.DateTime(timezone=True)),
    )
    op.execute(installations.update().values(problems_due_at=installations.c.updated_at))
    op.create_table(
        "told_problem",
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("installation_id", "key"),
    )


def downgrade() -> None:
    op.drop_table("told_problem")
    op.drop_column("installation", "problems_due_at")
