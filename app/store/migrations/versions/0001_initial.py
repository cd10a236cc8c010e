"""All tables, as ``app.store.tables`` describes them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _index_where(condition: str, name: str, table: str, columns: list[str], *, unique: bool = False) -> None:
    """Make an index over those rows only of which a condition holds."""
    holds = sa.text(condition)
    op.create_index(name, table, columns, unique=unique, sqlite_where=holds, postgresql_where=holds)


def _installation() -> None:
    op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("saleor_api_url", sa.String(length=500), nullable=False),
        sa.Column("saleor_domain", sa.String(length=255), nullable=False),
        sa.Column("schema_version", sa.String(length=20), nullable=True),
        sa.Column("app_id", sa.String(length=100), nullable=True),
        sa.Column("token_sealed", sa.Text(), nullable=True),
        sa.Column("jwks", sa.JSON(), nullable=True),
        sa.Column("jwks_fetched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("dashboard_url", sa.String(length=500), nullable=True),
        sa.Column("staff_dashboard_url", sa.String(length=500), nullable=True),
        sa.Column("problems_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("days_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retention_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("away_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("unauthorised_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_check_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("saleor_api_url"),
    )
    _index_where("next_check_at IS NOT NULL", "ix_installation_next_check_at", "installation", ["next_check_at"])


def _card_key() -> None:
    op.create_table(
        "card_key",
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("public_jwk", sa.JSON(), nullable=False),
        sa.Column("private_sealed", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("kid"),
    )
    op.create_index("ix_card_key_installation_id", "card_key", ["installation_id"])


def _merchant_account() -> None:
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
        sa.Column("shop_name", sa.String(length=60), nullable=True),
        sa.Column("shop_logo", sa.String(length=500), nullable=True),
        sa.Column("shop_color", sa.String(length=7), nullable=True),
        sa.Column("order_timeout", sa.Integer(), nullable=False),
        sa.Column("order_3ds_bypass", sa.String(length=20), nullable=False),
        sa.Column("names_required", sa.Boolean(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sector", sa.String(length=20), nullable=False, server_default="general"),
        sa.Column("merchant_mcc", sa.String(length=4), nullable=True),
        sa.Column("description_template", sa.String(length=500), nullable=True),
        sa.Column("products", sa.String(length=32), nullable=False, server_default="none"),
        sa.Column("receipt_delivery", sa.String(length=10), nullable=True),
        sa.Column("cancel_older", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("saved_cards", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("subscriptions", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("pci_dss_confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("balances_url", sa.String(length=500), nullable=True),
        sa.Column("register_url", sa.String(length=500), nullable=True),
        sa.Column("split_rules", sa.JSON(), nullable=True),
        sa.Column("previous_api_secret_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("test_project", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("reconcile_at", sa.Integer(), nullable=False, server_default="2"),
        sa.Column("payouts", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("payout_most", sa.BigInteger(), nullable=True),
        sa.Column("payout_most_a_day", sa.BigInteger(), nullable=True),
        sa.Column("payout_staff", sa.JSON(), nullable=False, server_default="[]"),
        sa.Column("apple_pay", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("apple_pay_association", sa.Text(), nullable=True),
        sa.Column("google_pay", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("google_pay_gateway", sa.String(length=100), nullable=True),
        sa.Column("google_pay_gateway_merchant", sa.String(length=100), nullable=True),
        sa.Column("google_pay_merchant", sa.String(length=100), nullable=True),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_merchant_account_installation_id", "merchant_account", ["installation_id"])


def _saved_card() -> None:
    op.create_table(
        "saved_card",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=100), nullable=False),
        sa.Column("mask", sa.String(length=20), nullable=False),
        sa.Column("brand", sa.String(length=40), nullable=True),
        sa.Column("token_sealed", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("unusable_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account_id", "user_id", "mask"),
    )
    op.create_index("ix_saved_card_installation_id", "saved_card", ["installation_id"])


def _deleted_customer() -> None:
    op.create_table(
        "deleted_customer",
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.String(length=100), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("installation_id", "user_id"),
    )


def _pending_token() -> None:
    op.create_table(
        "pending_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("schema_version", sa.String(length=20), nullable=True),
        sa.Column("token_sealed", sa.Text(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_pending_token_installation_id", "pending_token", ["installation_id"])


def _reported_problem() -> None:
    op.create_table(
        "reported_problem",
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("app_id", sa.String(length=100), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("installation_id", "key"),
    )


def _channel_route() -> None:
    op.create_table(
        "channel_route",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=255), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("installation_id", "channel"),
    )


def _notification() -> None:
    op.create_table(
        "notification",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("data_sealed", sa.Text(), nullable=True),
        sa.Column("order_id", sa.String(length=256), nullable=False),
        sa.Column("deliveries", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("processed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("trouble", sa.String(length=20), nullable=True),
        sa.Column("trace_id", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account_id", "digest"),
    )
    op.create_index("ix_notification_account_received", "notification", ["account_id", "received_at"])
    _index_where(
        "next_attempt_at IS NOT NULL", "ix_notification_next_attempt_at", "notification", ["next_attempt_at", "id"]
    )
    _index_where(
        "next_attempt_at IS NOT NULL", "ix_notification_due", "notification", ["account_id", "next_attempt_at", "id"]
    )
    op.create_index("ix_notification_order_id", "notification", ["order_id"])
    _index_where("data_sealed IS NOT NULL", "ix_notification_kept", "notification", ["account_id", "received_at"])
    _index_where(
        "trouble IS NOT NULL", "ix_notification_trouble", "notification", ["account_id", "trouble", "received_at"]
    )


def _payment() -> None:
    op.create_table(
        "payment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("transaction_id", sa.String(length=100), nullable=False),
        sa.Column(
            "order_id",
            sa.String(length=32).with_variant(sa.String(length=32, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("flow", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("channel", sa.String(length=255), nullable=False),
        sa.Column("source_id", sa.String(length=100), nullable=False),
        sa.Column("order_number", sa.String(length=64), nullable=True),
        sa.Column("language", sa.String(length=5), nullable=False),
        sa.Column("return_url_sealed", sa.Text(), nullable=True),
        sa.Column("checkout_url", sa.Text(), nullable=True),
        sa.Column("qr_url", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("mode", sa.String(length=32), nullable=False, server_default="hosted"),
        sa.Column("redirect_url", sa.Text(), nullable=True),
        sa.Column("next_refund_split", sa.JSON(), nullable=True),
        sa.Column("has_problems", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("email_digest", sa.String(length=32), nullable=True),
        sa.Column("problem_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("trial", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("next_order_poll_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("order_polls", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("to_pay", sa.BigInteger(), nullable=True),
        sa.Column("has_rivals", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("attempts_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("card_owner", sa.String(length=100), nullable=True),
        sa.Column("saved_card_id", sa.String(length=64), nullable=True),
        sa.Column("saved_card_mask", sa.String(length=20), nullable=True),
        sa.Column("wallet", sa.String(length=20), nullable=True),
        sa.Column("recurring_id", sa.String(length=100), nullable=True),
        sa.Column("recurring_status", sa.String(length=40), nullable=True),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("installation_id", "transaction_id"),
        sa.UniqueConstraint("order_id"),
    )
    _index_where("attempts_due_at IS NOT NULL", "ix_payment_attempts_due_at", "payment", ["attempts_due_at"])
    op.create_index("ix_payment_begun", "payment", ["created_at", "id"])
    _index_where(
        "erased_at IS NULL", "ix_payment_not_erased", "payment", ["installation_id", "erased_at", "created_at", "id"]
    )
    _index_where("next_order_poll_at IS NOT NULL", "ix_payment_next_order_poll_at", "payment", ["next_order_poll_at"])
    op.create_index("ix_payment_in_status", "payment", ["installation_id", "status", "created_at", "id"])
    op.create_index("ix_payment_of_account", "payment", ["account_id", "created_at", "id"])
    op.create_index("ix_payment_of_amount", "payment", ["installation_id", "amount", "created_at", "id", "currency"])
    op.create_index("ix_payment_of_channel", "payment", ["installation_id", "channel", "created_at", "id"])
    _index_where("email_digest IS NOT NULL", "ix_payment_of_shopper", "payment", ["email_digest", "created_at", "id"])
    op.create_index("ix_payment_of_source", "payment", ["installation_id", "source_id"])
    op.create_index("ix_payment_of_store", "payment", ["installation_id", "created_at", "id"])
    _index_where("order_number IS NOT NULL", "ix_payment_order_number", "payment", ["order_number"])
    _index_where("card_owner IS NOT NULL", "ix_payment_card_owner", "payment", ["installation_id", "card_owner"])
    _index_where(
        "problem_since IS NOT NULL", "ix_payment_with_problem", "payment", ["installation_id", "created_at", "id"]
    )


def _payout() -> None:
    op.create_table(
        "payout",
        sa.Column("payment_id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("for_payment_id", sa.Integer(), nullable=True),
        sa.Column("card_mask", sa.String(length=20), nullable=False),
        sa.Column("asked_by", sa.String(length=200), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked_from", sa.String(length=45), nullable=False),
        sa.Column("confirmed_by", sa.String(length=200), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("confirmed_from", sa.String(length=45), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.ForeignKeyConstraint(["for_payment_id"], ["payment.id"]),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.ForeignKeyConstraint(["payment_id"], ["payment.id"]),
        sa.PrimaryKeyConstraint("payment_id"),
    )
    op.create_index("ix_payout_of_account", "payout", ["account_id", "confirmed_at"])
    op.create_index("ix_payout_of_store", "payout", ["installation_id", "confirmed_at", "payment_id"])
    _index_where("for_payment_id IS NOT NULL", "ix_payout_for_payment", "payout", ["for_payment_id"])


def _problem() -> None:
    op.create_table(
        "problem",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("payment_id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.Column("gateway_id", sa.String(length=100), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=100), nullable=False),
        sa.Column("message", sa.JSON(), nullable=False),
        sa.Column("raised_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["payment_id"], ["payment.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    _index_where("ended_at IS NULL", "ix_problem_of_payment", "problem", ["payment_id", "kind", "key"], unique=True)
    _index_where(
        "acknowledged_at IS NULL AND ended_at IS NULL",
        "ix_problem_open",
        "problem",
        ["installation_id", "kind", "raised_at", "payment_id", "account_id"],
    )


def _operation() -> None:
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
        sa.Column("next_poll_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("polls", sa.Integer(), nullable=False),
        sa.Column("polled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False, server_default="{}"),
        sa.Column("decision", sa.JSON(), nullable=True),
        sa.Column("asked_by", sa.String(length=200), nullable=True),
        sa.Column("personal_sealed", sa.Text(), nullable=True),
        sa.Column("saleor_requests", sa.JSON(), nullable=False, server_default="[]"),
        sa.Column("granted_refund_id", sa.String(length=100), nullable=True),
        sa.Column("answer_awaited_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("asked_anew", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("charge_id", sa.String(length=100), nullable=True),
        sa.Column("trace_id", sa.String(length=32), nullable=True),
        sa.Column("booked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("account_id", sa.String(length=32), nullable=True),
        sa.Column("fee", sa.BigInteger(), nullable=True),
        sa.Column("fee_currency", sa.String(length=3), nullable=True),
        sa.ForeignKeyConstraint(["payment_id"], ["payment.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("payment_id", "idempotency_key"),
        sa.UniqueConstraint("payment_id", "psp_reference"),
    )
    _index_where("next_poll_at IS NOT NULL", "ix_operation_next_poll_at", "operation", ["next_poll_at", "id"])
    op.create_index("ix_operation_operation_id", "operation", ["operation_id"])
    op.create_index("ix_operation_payment_id", "operation", ["payment_id"])
    _index_where("kind <> 'create'", "ix_operation_psp_reference", "operation", ["psp_reference"])
    _index_where("booked_at IS NOT NULL", "ix_operation_booked", "operation", ["account_id", "booked_at"])
    _index_where("ended_at IS NOT NULL", "ix_operation_ended", "operation", ["account_id", "ended_at"])


def _saleor_event() -> None:
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
        sa.Column("trace_id", sa.String(length=32), nullable=True),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["payment_id"], ["payment.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("payment_id", "type", "psp_reference"),
    )
    _index_where(
        "next_attempt_at IS NOT NULL", "ix_saleor_event_next_attempt_at", "saleor_event", ["next_attempt_at", "id"]
    )
    _index_where(
        "next_attempt_at IS NOT NULL",
        "ix_saleor_event_due",
        "saleor_event",
        ["installation_id", "next_attempt_at", "id"],
    )
    op.create_index("ix_saleor_event_payment_id", "saleor_event", ["payment_id"])
    _index_where(
        "next_attempt_at IS NOT NULL", "ix_saleor_event_undelivered", "saleor_event", ["installation_id", "created_at"]
    )


def _split_share() -> None:
    op.create_table(
        "split_share",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=False),
        sa.Column("sub_merchant_id", sa.String(length=64), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["operation_id"], ["operation.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("operation_id", "sub_merchant_id"),
    )


def _reconciliation_run() -> None:
    op.create_table(
        "reconciliation_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("chosen", sa.Boolean(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("covered_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("after_order", sa.String(length=256), nullable=True),
        sa.Column("report_id", sa.Text(), nullable=True),
        sa.Column("report_count", sa.Integer(), nullable=True),
        sa.Column("source", sa.String(length=32), nullable=True),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("orders", sa.Integer(), nullable=False),
        sa.Column("looked_up", sa.Integer(), nullable=False),
        sa.Column("repaired", sa.Integer(), nullable=False),
        sa.Column("to_people", sa.Integer(), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    _index_where("due_at IS NOT NULL", "ix_reconciliation_run_due_at", "reconciliation_run", ["due_at"])
    _index_where(
        "state = 'planned'", "ix_reconciliation_run_planned", "reconciliation_run", ["account_id"], unique=True
    )
    op.create_index("ix_reconciliation_run_of_account", "reconciliation_run", ["account_id", "id"])
    op.create_index("ix_reconciliation_run_of_store", "reconciliation_run", ["installation_id", "id"])


def _discrepancy() -> None:
    op.create_table(
        "discrepancy",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("installation_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("seen_run_id", sa.Integer(), nullable=False),
        sa.Column("payment_id", sa.Integer(), nullable=True),
        sa.Column("order_id", sa.String(length=256), nullable=False),
        sa.Column("gateway_id", sa.String(length=100), nullable=True),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.ForeignKeyConstraint(["installation_id"], ["installation.id"]),
        sa.ForeignKeyConstraint(["payment_id"], ["payment.id"]),
        sa.ForeignKeyConstraint(["run_id"], ["reconciliation_run.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account_id", "key"),
    )
    _index_where("state IN ('found', 'put to people')", "ix_discrepancy_unsettled", "discrepancy", ["account_id", "id"])
    op.create_index("ix_discrepancy_of_run", "discrepancy", ["run_id", "id"])


def _compared_day() -> None:
    op.create_table(
        "compared_day",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("unreadable", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("compared_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.ForeignKeyConstraint(["run_id"], ["reconciliation_run.id"]),
        sa.PrimaryKeyConstraint("account_id", "day"),
    )


def _gateway_sums() -> None:
    for table, name in (
        ("gateway_total", sa.Column("channel", sa.String(length=255), nullable=False)),
        ("gateway_share", sa.Column("receiver", sa.String(length=100), nullable=False)),
    ):
        op.create_table(
            table,
            sa.Column("account_id", sa.String(length=32), nullable=False),
            sa.Column("day", sa.Date(), nullable=False),
            name,
            sa.Column("currency", sa.String(length=100), nullable=False),
            sa.Column("kind", sa.String(length=32), nullable=False),
            sa.Column("amount", sa.BigInteger(), nullable=False),
            sa.Column("count", sa.Integer(), nullable=False),
            sa.Column("fee", sa.BigInteger(), nullable=False),
            sa.Column("fees", sa.Integer(), nullable=False),
            sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
            sa.PrimaryKeyConstraint("account_id", "day", name.name, "currency", "kind"),
        )


def _days() -> None:
    op.create_table(
        "summed_day",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("summed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.PrimaryKeyConstraint("account_id", "day"),
    )
    op.create_table(
        "day_total",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("channel", sa.String(length=255), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("fee", sa.BigInteger(), nullable=False),
        sa.Column("fees", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.PrimaryKeyConstraint("account_id", "day", "channel", "currency", "kind"),
    )
    op.create_table(
        "day_outcome",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("channel", sa.String(length=255), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.String(length=100), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["merchant_account.id"]),
        sa.PrimaryKeyConstraint("account_id", "day", "channel", "currency", "state", "reason"),
    )
    op.create_table(
        "changed_day",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_changed_day", "changed_day", ["account_id", "day"])


def _process() -> None:
    op.create_table(
        "process",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(length=50), nullable=False),
        sa.Column("serves", sa.Boolean(), nullable=False),
        sa.Column("works", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def upgrade() -> None:
    _installation()
    _card_key()
    _merchant_account()
    _saved_card()
    _deleted_customer()
    _pending_token()
    _reported_problem()
    _channel_route()
    _notification()
    _payment()
    _payout()
    _problem()
    _operation()
    _saleor_event()
    _split_share()
    _reconciliation_run()
    _discrepancy()
    _compared_day()
    _gateway_sums()
    _days()
    _process()
