"""Paid checkouts whose order the version before has stopped looking for, without telling anybody, are looked at again."""

from alembic import op

revision = "0012.0001"
down_revision = "0011.0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Due at once, after three polls, like any payment that nobody has ordered for an hour. If a worker of the version
    # before takes the poll, others follow hours later, when it has been replaced. Few payments have no order.
    op.execute(
        "UPDATE payment SET next_order_poll_at = updated_at, order_polls = 3"
        " WHERE order_number IS NULL AND next_order_poll_at IS NULL AND erased_at IS NULL"
        " AND status IN ('paid', 'authorized') AND flow IN ('CHARGE', 'AUTHORIZATION') AND trial = false"
        " AND installation_id IN (SELECT id FROM installation WHERE unauthorised_since IS NULL)"
    )
