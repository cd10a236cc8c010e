"""The first tables: who installed us, whose money it is, what was asked and seen, what Saleor must hear."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("saleor_api_url", sa.String(length=500), nullable=False),
        sa.Column("saleor_domain", sa.String(length=255), nullable=False),
        sa.Column("schema_version", sa.String(length=20), nullable=True),
        sa.Column("app_id", sa.String(length=100), nullable=True),
        sa.Column("token_sealed", sa.Text(), nullable=True),
        sa.Column("pending_token_sealed", sa.Text(), nullable=True),
        sa.Column("jwks", sa.JSON(), nullable=True),
        sa.Column("jwks_fetched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("saleor_api_url"),
    )
    op.create_table(
        "merchant_account",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("pos_id", sa.String(length=64), nullable=False),
        sa.Column("base_url", sa.String(length=500), nullable=False),
        sa.Column("scheme_word", sa.String(length=40), nullable=False),
        sa.Column("api_key_sealed", sa.Text(), nullable=False),
        sa.Column("api_secret_sealed", sa.Text(), nullable=False),
        sa.Column("previous_api_secret_sealed", sa.Text(), nullable=True),
        sa.Column("endpoints_key_sealed", sa.Text(), nullable=False),
        sa.Column("currencies", sa.JSON(), nullable=False),
        sa.Column("storefront_origins", sa.JSON(), nullable=False),
        sa.Column("order_timeout", sa.Integer(), nullable=False),
        sa.Column("order_3ds_bypass", sa.String(length=20), nullable=False),
        sa.Column("names_required", sa.Boolean(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["installation_id"],
            ["installation.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_merchant_account_installation_id", "merchant_account", ["installation_id"], unique=False)

    op.create_table(
        "channel_route",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=255), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["merchant_account.id"],
        ),
        sa.ForeignKeyConstraint(
            ["installation_id"],
            ["installation.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("installation_id", "channel"),
    )
    op.create_table(
        "notification",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("data_sealed", sa.Text(), nullable=False),
        sa.Column("order_id", sa.String(length=256), nullable=False),
        sa.Column("deliveries", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("processed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["merchant_account.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account_id", "digest"),
    )
    op.create_index(
        "ix_notification_next_attempt_at",
        "notification",
        ["next_attempt_at"],
        unique=False,
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.create_index("ix_notification_order_id", "notification", ["order_id"], unique=False)

    op.create_table(
        "payment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("transaction_id", sa.String(length=100), nullable=False),
        sa.Column("order_id", sa.String(length=32), nullable=False),
        sa.Column("flow", sa.String(length=32), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("channel", sa.String(length=255), nullable=False),
        sa.Column("source_id", sa.String(length=100), nullable=False),
        sa.Column("order_number", sa.String(length=64), nullable=True),
        sa.Column("language", sa.String(length=5), nullable=False),
        sa.Column("return_url", sa.Text(), nullable=True),
        sa.Column("checkout_url", sa.Text(), nullable=True),
        sa.Column("qr_url", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["merchant_account.id"],
        ),
        sa.ForeignKeyConstraint(
            ["installation_id"],
            ["installation.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("installation_id", "transaction_id"),
        sa.UniqueConstraint("order_id"),
    )
    op.create_index("ix_payment_account_id", "payment", ["account_id"], unique=False)

    op.create_table(
        "operation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("payment_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("asked_by_saleor", sa.Boolean(), nullable=False),
        sa.Column("psp_reference", sa.String(length=512), nullable=True),
        sa.Column("operation_id", sa.String(length=100), nullable=True),
        sa.Column("status_code", sa.String(length=40), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("shopper_message", sa.Text(), nullable=True),
        sa.Column("waits_for_shopper", sa.Boolean(), nullable=False),
        sa.Column("inferred", sa.Boolean(), nullable=False),
        sa.Column("next_look_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("looked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["payment_id"],
            ["payment.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("payment_id", "idempotency_key"),
        sa.UniqueConstraint("payment_id", "psp_reference"),
    )
    op.create_index(
        "ix_operation_next_look_at",
        "operation",
        ["next_look_at"],
        unique=False,
        sqlite_where=sa.text("next_look_at IS NOT NULL"),
        postgresql_where=sa.text("next_look_at IS NOT NULL"),
    )
    op.create_index("ix_operation_operation_id", "operation", ["operation_id"], unique=False)
    op.create_index("ix_operation_payment_id", "operation", ["payment_id"], unique=False)

    op.create_table(
        "saleor_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("payment_id", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("psp_reference", sa.String(length=512), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.String(length=512), nullable=False),
        sa.Column("available_actions", sa.JSON(), nullable=True),
        sa.Column("card", sa.JSON(), nullable=True),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["payment_id"],
            ["payment.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("payment_id", "type", "psp_reference"),
    )
    op.create_index(
        "ix_saleor_event_next_attempt_at",
        "saleor_event",
        ["next_attempt_at"],
        unique=False,
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.create_index("ix_saleor_event_payment_id", "saleor_event", ["payment_id"], unique=False)


def downgrade() -> None:
    for table in (
        "saleor_event",
        "operation",
        "payment",
        "notification",
        "channel_route",
        "merchant_account",
        "installation",
    ):
        op.drop_table(table)
