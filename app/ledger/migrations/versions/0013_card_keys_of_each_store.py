"""Each store has card keys of its own.

The keys that all stores shared are deleted: what was encrypted for them in one store could pay in another. Storefronts
whose pages are open hear that the key is outdated, fetch the new one and encrypt again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("card_key")
    _create(sa.Column("installation_id", sa.Integer(), sa.ForeignKey("installation.id"), nullable=False))
    op.create_index("ix_card_key_installation_id", "card_key", ["installation_id"])


def downgrade() -> None:
    op.drop_table("card_key")
    _create()


def _create(*more: sa.Column[int]) -> None:
    op.create_table(
        "card_key",
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("public_jwk", sa.JSON(), nullable=False),
        sa.Column("private_sealed", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        *more,
        sa.PrimaryKeyConstraint("kid"),
    )
