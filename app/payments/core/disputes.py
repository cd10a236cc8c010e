"""A payer disputes a payment at the bank: what staff are told of it, as long as there is something to do. Pure.

The interface names ``dispute`` among the methods and shows no record of one (gateway interface, 10 and 12). Its status
is read as that of any operation: on the way, the bank decides; ``success``, the money went back to the payer;
``failure``, the store keeps it.
"""

from app.db.tables import Operation, State
from app.payments.core.messages import LazyMessage, Money

_CAUSE = "dispute:"


def cause_of(operation: Operation, *, lost: bool) -> str:
    """Return the cause of the problem with a dispute that is open, or that the store has lost."""
    return f"{_CAUSE}{operation.operation_id}:{'lost' if lost else 'open'}"


def words_of(operation: Operation) -> LazyMessage:
    """Return what staff must know of a dispute as it stands."""
    sum_ = Money(operation.amount, operation.currency)
    match operation.state:
        case State.SUCCESS:
            return LazyMessage(
                "The payer's bank has taken %(sum)s of this payment back after a dispute, and Saleor is told. Do not "
                "refund it too.",
                sum=sum_,
            )
        case State.FAILURE:
            return LazyMessage(
                "The dispute over %(sum)s has ended in the store's favour: nothing was taken back.", sum=sum_
            )
        case _:
            return LazyMessage(
                "The payer disputes %(sum)s of this payment at the bank. Answer in the merchant portal in time; what "
                "is disputed is not offered to be refunded.",
                sum=sum_,
            )
