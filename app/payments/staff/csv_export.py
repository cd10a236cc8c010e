"""Payments as CSV (RFC 4180), for spreadsheets and scripts: one line each, the newest first, nothing of any shopper.

Moments are UTC, amounts have a decimal point, and texts are English whoever requests them. Where a spreadsheet would
read a text as a formula, an apostrophe precedes it. The cell of a value that the gateway has not sent is empty.
"""

import csv
import io
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from app.amounts import format_amount
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.db.aggregates import load_outlines
from app.db.search import PaymentFilter, payments_page
from app.i18n.messages import Money
from app.payments.core.balance import ZERO, Balance, balance, processed_at_of
from app.payments.core.details import Details
from app.payments.core.problems import problem_text
from app.payments.services import Services
from app.payments.staff.status import standing

COLUMNS = (
    "begun", "order_number", "order_id", "transaction_id", "amount", "currency", "standing", "reserved", "charged",
    "refunded", "paid_with", "channel", "account", "problem", "released", "charged_back", "gateway_payment_id",
    "processed", "fee", "operations",
)  # fmt: skip
BATCH_SIZE = 200
"""Payments that are read in one batch, and held in memory."""

_DONE = {
    Kind.CAPTURE: "captured",
    Kind.REFUND: "refunded",
    Kind.VOID: "released",
    Kind.DISPUTE: "charged back",
    Kind.RECURRING: "charged by subscription",
}
_CREATED = {Flow.CHARGE: "charged", Flow.AUTHORIZATION: "reserved", Flow.PAYOUT: "paid out"}
# Characters that begin a formula in some spreadsheets, also behind white space, which they drop.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


async def payments_csv(services: Services, wanted: PaymentFilter) -> AsyncIterator[str]:
    """Yield the lines of all matching payments in batches, the first with the names of the columns.

    No transaction is held while the lines are read: payments that arrive during the export are newer, and left out.
    """
    names = {each.id: each.name for each in await services.accounts.all()}
    yield csv_lines([COLUMNS])
    last = None
    while True:
        async with services.database.transaction() as session:
            payments = await payments_page(session, wanted, most=BATCH_SIZE, after=last)
            aggregates = await load_outlines(session, payments)
        if aggregates:
            yield csv_lines([_row(each, names) for each in aggregates])
        if len(payments) < BATCH_SIZE:
            return
        last = payments[-1]


def _row(aggregate: PaymentAggregate, accounts: Mapping[str, str]) -> Sequence[str]:
    payment, now = aggregate.payment, balance(aggregate.payment.flow, aggregate.operations)
    details = Details.from_row(aggregate.create.details)
    return (
        _format_moment(payment.created_at),
        escape_formula(payment.order_number or ""),
        escape_formula(payment.order_id),
        escape_formula(payment.transaction_id),
        format_amount(payment.amount),
        escape_formula(payment.currency),
        standing(aggregate),
        format_amount(now.authorized),
        format_amount(now.taken),
        format_amount(now.returned),
        escape_formula(details.card_mask or details.payway or ""),
        escape_formula(payment.channel),
        escape_formula(accounts[payment.account_id]),
        escape_formula(problem_text(payment) or ""),
        format_amount(_released_amount(aggregate, now)),
        format_amount(now.charged_back),
        escape_formula(aggregate.create.operation_id or details.payment_id or ""),
        _format_moment(processed_at_of(payment, aggregate.create, aggregate.create.updated_at)),
        _fee(aggregate),
        escape_formula("; ".join(_describe(payment, each) for each in _succeeded(aggregate))),
    )


def _succeeded(aggregate: PaymentAggregate) -> list[Operation]:
    return [
        each
        for each in aggregate.operations
        if each.state is State.SUCCESS and (each.kind in _DONE or each.kind is Kind.CREATE)
    ]


def _released_amount(aggregate: PaymentAggregate, now: Balance) -> Decimal:
    """Return the released amount of a reservation: all of it, or what a capture has left."""
    ended = any(each.kind in {Kind.VOID, Kind.CAPTURE} for each in _succeeded(aggregate))
    return now.authorized - now.charged - now.reserved if ended else ZERO


def _fee(aggregate: PaymentAggregate) -> str:
    """Return the gateway's fees for movements of money, in the payment's currency; "" where it has not stated any."""
    currency = aggregate.payment.currency
    fees = [each.fee for each in aggregate.operations if each.fee is not None and each.fee_currency == currency]
    return format_amount(sum(fees, ZERO)) if fees else ""


def _describe(payment: Payment, operation: Operation) -> str:
    """Describe an operation: what was done, when, and the gateway's fee, as far as that is known."""
    details = Details.from_row(operation.details)
    verb = _DONE.get(operation.kind, _CREATED[payment.flow])
    fee = ""
    if details.fee is not None:
        fee = f", fee {Money(details.fee.amount, details.fee.currency or operation.currency)}"
    processed_at = operation.booked_at or processed_at_of(payment, operation, operation.updated_at)
    moment = _format_moment(processed_at or operation.updated_at)
    return f"{verb} {format_amount(operation.amount)} on {moment}{fee}"


def _format_moment(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"


def escape_formula(text: str) -> str:
    """Return the text so that no spreadsheet evaluates it as a formula."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA) else text


def csv_lines(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as CSV text."""
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()
