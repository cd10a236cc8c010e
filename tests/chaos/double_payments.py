"""The laws of double payments: staff are told of each, and of what is too much once it has ended."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from app.core.payment import PaymentAggregate
from app.rules.balance import balance
from app.rules.problems import PAID_TWICE, Unowed, find_unowed_money, has_problem
from app.store.tables import Problem
from saleor_app_sdk.testing.records import Transaction
from tests.chaos.harness import Harness

ZERO = Decimal(0)


def check_double_payments(
    harness: Harness, aggregates: Mapping[str, PaymentAggregate], double: Sequence[Problem]
) -> None:
    """Check what staff are told of double payments, now and once they have ended (laws of money, 12).

    ``aggregates`` are the recorded payments by transaction id, and ``double`` all problems with a double payment.
    """
    if any(not operation.state.final for aggregate in aggregates.values() for operation in aggregate.operations):
        return
    known = [seen for seen in harness.saleor.state.transactions.values() if seen.id in aggregates]
    # A story has one checkout or order: all its attempts pay the same.
    paid = [seen for seen in known if seen.amounts.authorized + seen.amounts.charged > ZERO]
    _check_problems(harness, paid, aggregates)
    if len(paid) == 1 and not has_ended(paid[0]):
        _check_what_is_left(harness, aggregates[paid[0].id], double)


def has_ended(transaction: Transaction) -> bool:
    """Whether the order that is paid was cancelled, has expired or came back."""
    return transaction.order is not None and transaction.order.status in {"CANCELED", "EXPIRED", "RETURNED"}


def _check_problems(harness: Harness, paid: Sequence[Transaction], aggregates: Mapping[str, PaymentAggregate]) -> None:
    """If two attempts to pay the same are paid, both show staff a problem; otherwise none does.

    Between the lowest and the highest total of the story, it depends on which of them Saleor stated last.
    """
    total = sum((seen.amounts.authorized + seen.amounts.charged for seen in paid), ZERO)
    if len(paid) > 1 and min(harness.totals) < total <= max(harness.totals):
        return
    twice = {seen.id for seen in paid} if len(paid) > 1 and total > max(harness.totals) else set()
    reported = {name for name, aggregate in aggregates.items() if has_problem(aggregate.payment, PAID_TWICE)}
    assert reported == twice, f"paid twice are {twice}, and staff are told of {reported}"


def _check_what_is_left(harness: Harness, left: PaymentAggregate, double: Sequence[Problem]) -> None:
    """What is left of a double payment is compared with what is owed: its total may have changed meanwhile."""
    ends = [problem.ended_at for problem in double if problem.payment_id == left.payment.id]
    if not any(end is not None and end > harness.total_changed_at for end in ends):
        return
    held, total = balance(left.payment.flow, left.operations).held, harness.totals[-1]
    told = find_unowed_money(left.payment, Unowed.OVERPAID)
    assert (told is not None) == (held > total), f"{held} is left, {total} is owed, and staff are told {told}"
