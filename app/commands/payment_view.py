"""The argument that names a payment on the command line, and summaries of payments."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from app.commands.messages import figure_text
from app.commands.terminal import moment, plain, table
from app.core.payment import PaymentAggregate
from app.reports.status import ShownAmount, shown_amount, standing
from app.rules.balance import balance
from app.rules.problems import problem_text

AnyName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="PAYMENT",
        help="The gateway's order ID, Saleor's order number or transaction, or any reference of the payment.",
        show_default=False,
    ),
]


def payment_table(aggregates: Sequence[PaymentAggregate]) -> Table:
    """Return payments as a table."""
    rows = table("Started (UTC)", "Gateway order", "Amount", "Status", amounts=["Amount"])
    rows.columns[1].width = 32  # an order id, which people copy
    for aggregate in aggregates:
        payment = aggregate.payment
        text = Text(standing(aggregate))
        if (problem := problem_text(payment)) is not None:
            text.append(f"\nproblem: {plain(problem)}", "red")
        order = f"\nSaleor order {plain(payment.order_number)}" if payment.order_number else ""
        rows.add_row(
            f"{payment.created_at:%Y-%m-%d}\n{payment.created_at:%H:%M:%S}",
            f"{payment.order_id}{order}",
            _amount_cell(shown_amount(aggregate)),
            text,
        )
    return rows


def _amount_cell(shown: ShownAmount) -> str:
    requested = "" if shown.requested is None else f"\nof {figure_text(shown.requested, shown.currency)}"
    return f"{figure_text(shown.amount, shown.currency)}{requested}\n{shown.currency}"


def payment_amount(aggregate: PaymentAggregate) -> str:
    """Return a payment's amount in one line: ``1,234.50 of 2,000.00 UAH``."""
    shown = shown_amount(aggregate)
    requested = "" if shown.requested is None else f" of {figure_text(shown.requested, shown.currency)}"
    return f"{figure_text(shown.amount, shown.currency)}{requested} {shown.currency}"


def summary(aggregate: PaymentAggregate) -> dict[str, object]:
    """Return the summary of a payment, for scripts."""
    payment = aggregate.payment
    now = balance(payment.flow, aggregate.operations)
    return {
        "order_id": payment.order_id,
        "transaction_id": payment.transaction_id,
        "order_number": payment.order_number,
        "channel": payment.channel,
        "account": payment.account_id,
        "flow": payment.flow.value,
        "amount": payment.amount,
        "charged": now.taken,
        "refunded": now.returned,
        "charged_back": now.charged_back,
        "currency": payment.currency,
        "status": payment.status.value,
        "standing": standing(aggregate),
        "problem": problem_text(payment),
        "created_at": moment(payment.created_at),
        "updated_at": moment(payment.updated_at),
        "expires_at": moment(payment.expires_at),
    }
