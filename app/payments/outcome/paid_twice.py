"""Two payments for the same: both are booked as they are, and staff are told to refund one (laws of money, 12)."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from app.ledger.sheets import Sheet
from app.payments.outcome.apply import raise_problem
from app.payments.outcome.balance import ZERO
from app.payments.outcome.problems import PAID_TWICE, clear
from app.payments.said import Money, Said


def mind_what_is_paid_twice(attempts: Sequence[tuple[Sheet, Decimal]], to_pay: Decimal, now: datetime) -> None:
    """Make it a problem of each payment, when several have paid or reserved more than there is to pay together.

    ``attempts`` are all attempts to pay the same, each with what it has paid or reserved. The problem is gone when
    enough is refunded or released.
    """
    paid = [(sheet, amount) for sheet, amount in attempts if amount > ZERO]
    total = sum((amount for _, amount in paid), ZERO)
    twice = len(paid) > 1 and total > to_pay
    for sheet, amount in attempts:
        if not twice or amount <= ZERO:
            clear(sheet.payment, PAID_TWICE)
            continue
        currency = sheet.payment.currency
        words = Said(
            "Paid twice: %(total)s were paid or reserved for %(to_pay)s, by this payment and by %(others)s. Ask the "
            "customer if need be, and refund or release one of them.",
            total=Money(total, currency),
            to_pay=Money(to_pay, currency),
            others=", ".join(other.payment.order_id for other, _ in paid if other is not sheet),
        )
        raise_problem(sheet, words, now, cause=PAID_TWICE)
