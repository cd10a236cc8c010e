"""Two payments for the same: both are booked as they are, and staff are told to refund one (laws of money, 12)."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from app.db.aggregates import PaymentAggregate
from app.payments.core.apply import raise_problem
from app.payments.core.balance import ZERO
from app.payments.core.messages import LazyMessage, Money
from app.payments.core.problems import PAID_TWICE, clear


def mind_what_is_paid_twice(
    attempts: Sequence[tuple[PaymentAggregate, Decimal]], to_pay: Decimal, now: datetime
) -> None:
    """Make it a problem of each payment, when several have paid or reserved more than there is to pay together.

    ``attempts`` are all attempts to pay the same, each with what it has paid or reserved. The problem is gone when
    enough is refunded or released.
    """
    paid = [(aggregate, amount) for aggregate, amount in attempts if amount > ZERO]
    total = sum((amount for _, amount in paid), ZERO)
    twice = len(paid) > 1 and total > to_pay
    for aggregate, amount in attempts:
        if not twice or amount <= ZERO:
            clear(aggregate.payment, PAID_TWICE)
            continue
        currency = aggregate.payment.currency
        words = LazyMessage(
            "Paid twice: %(total)s were paid or reserved for %(to_pay)s, by this payment and by %(others)s. Ask the "
            "customer if need be, and refund or release one of them.",
            total=Money(total, currency),
            to_pay=Money(to_pay, currency),
            others=", ".join(other.payment.order_id for other, _ in paid if other is not aggregate),
        )
        raise_problem(aggregate, words, now, cause=PAID_TWICE)
