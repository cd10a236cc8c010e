"""How a payment is named on the command line, and shown in short."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from app.commands.terminal import moment, plain, table
from app.db.aggregates import PaymentAggregate
from app.payments.core.problems import problem_words
from app.payments.staff.status import standing

AnyName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="PAYMENT",
        help="The gateway's order id, Saleor's order number or transaction, or any reference of the payment.",
        show_default=False,
    ),
]


def listed(aggregates: Sequence[PaymentAggregate]) -> Table:
    """Return payments as a table."""
    shown = table("Begun (UTC)", "Gateway order", "Amount", "Standing")
    shown.columns[1].width = 32  # an order id, which people copy
    shown.columns[2].justify = "right"
    for each in aggregates:
        payment = each.payment
        words = Text(standing(each))
        if (problem := problem_words(payment)) is not None:
            words.append(f"\nproblem: {plain(problem)}", "red")
        order = f"\nSaleor order {plain(payment.order_number)}" if payment.order_number else ""
        shown.add_row(
            f"{payment.created_at:%Y-%m-%d}\n{payment.created_at:%H:%M:%S}",
            f"{payment.order_id}{order}",
            f"{payment.amount}\n{payment.currency}",
            words,
        )
    return shown


def summary(aggregate: PaymentAggregate) -> dict[str, object]:
    """Return a payment in short, for scripts."""
    payment = aggregate.payment
    return {
        "order_id": payment.order_id,
        "transaction_id": payment.transaction_id,
        "order_number": payment.order_number,
        "channel": payment.channel,
        "account": payment.account_id,
        "flow": payment.flow.value,
        "amount": payment.amount,
        "currency": payment.currency,
        "status": payment.status.value,
        "standing": standing(aggregate),
        "problem": problem_words(payment),
        "created_at": moment(payment.created_at),
        "updated_at": moment(payment.updated_at),
        "expires_at": moment(payment.expires_at),
    }
