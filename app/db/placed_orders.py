"""Payments of which Saleor is to be asked what order their checkout has become."""

from datetime import timedelta

from sqlmodel import col

from app.db.job_queue import JobQueue
from app.db.tables import Payment

ORDERS = JobQueue(
    "placed_orders",
    Payment,
    row_id=col(Payment.id),
    due=col(Payment.next_order_poll_at),
    tenant=col(Payment.installation_id),
    tries=col(Payment.order_polls),
    furthest=timedelta(hours=25),
)
