"""Payments of which Saleor is to be asked what order their checkout has become."""

from sqlmodel import col

from app.ledger.claims import Work
from app.ledger.tables import Payment

ORDERS = Work(
    Payment,
    row_id=col(Payment.id),
    due=col(Payment.next_order_look_at),
    party=col(Payment.installation_id),
    tries=col(Payment.order_looks),
)
