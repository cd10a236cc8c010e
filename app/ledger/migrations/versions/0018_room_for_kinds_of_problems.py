"""More kinds of problems can be open at once than there was room for."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _widen(60, 200)


def downgrade() -> None:
    _widen(200, 60)


def _widen(before: int, after: int) -> None:
    if op.get_bind().dialect.name == "postgresql":  # SQLite does not count characters
        old, new = sa.String(length=before), sa.String(length=after)
        op.alter_column("payment", "problem_kinds", existing_type=old, type_=new, existing_nullable=True)
