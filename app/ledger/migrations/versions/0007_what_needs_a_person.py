"""What needs a person: problems are counted by their kind, notifications that came to nothing are found."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_UNMATCHED = "no payment of ours has this order"
_KEYS_REFUSED = "The gateway refuses the keys of this merchant account: check them, nothing can be paid."
_KINDS = {"event": "refused", "waiting": "waiting", "words": "mismatch", "keys": "keys", "sealed": "sealed"}


def upgrade() -> None:
    op.add_column("payment", sa.Column("problem_kinds", sa.String(length=60), nullable=True))
    op.add_column("payment", sa.Column("problem_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("notification", sa.Column("trouble", sa.String(length=20), nullable=True))
    _name_what_is_open()
    _index("ix_payment_problem_kinds", "payment", _OF_PROBLEMS, "problem IS NOT NULL")
    _index("ix_notification_trouble", "notification", ["account_id", "trouble", "received_at"], "trouble IS NOT NULL")


_OF_PROBLEMS = ["installation_id", "problem_kinds", "account_id", "problem_since", "id"]


def downgrade() -> None:
    op.drop_index("ix_notification_trouble", table_name="notification")
    op.drop_index("ix_payment_problem_kinds", table_name="payment")
    op.drop_column("notification", "trouble")
    op.drop_column("payment", "problem_since")
    op.drop_column("payment", "problem_kinds")


def _index(name: str, table: str, columns: list[str], which: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(which), postgresql_where=sa.text(which))


def _name_what_is_open() -> None:
    table = sa.table(
        "payment",
        sa.column("id", sa.Integer()),
        sa.column("problem", sa.Text()),
        sa.column("problems", sa.JSON()),
        sa.column("problem_kinds", sa.String()),
        sa.column("problem_since", sa.DateTime(timezone=True)),
        sa.column("updated_at", sa.DateTime(timezone=True)),
    )
    payments = table.c
    query = sa.select(payments.id, payments.problem, payments.problems).where(payments.problem.is_not(None))
    by_kinds: dict[str, list[int]] = {}
    for payment_id, problem, problems in op.get_bind().execute(query):
        by_kinds.setdefault(_kinds(problem, problems), []).append(payment_id)
    for kinds, found in by_kinds.items():
        for start in range(0, len(found), 500):
            of_these = payments.id.in_(found[start : start + 500])
            new: Any = {"problem_kinds": kinds, "problem_since": payments.updated_at}
            op.execute(sa.update(table).where(of_these).values(new))
    notifications = sa.table("notification", sa.column("outcome", sa.Text()), sa.column("trouble", sa.String()))
    unmatched = notifications.c.outcome == _UNMATCHED
    op.execute(sa.update(notifications).where(unmatched).values({"trouble": "unmatched"}))


def _kinds(problem: str, problems: dict[str, str] | None) -> str:
    open_ones = [cause for cause, words in (problems or {}).items() if words]
    if not open_ones:
        return "keys" if problem == _KEYS_REFUSED else "mismatch"
    return "+".join(sorted({_KINDS.get(cause.partition(":")[0], "mismatch") for cause in open_ones}))
