"""Payments as CSV (RFC 4180), for spreadsheets and scripts: one line each, the newest first, nothing of any shopper.

Moments are UTC, amounts have a decimal point, and words are English whoever asks. Where a spreadsheet would take what
people wrote for a formula, an apostrophe stands before it. Of what the gateway has not said the cell is empty.
"""

import csv
import io
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from app.db.aggregates import PaymentAggregate, outlines_of
from app.db.search import Wanted, payments_page
from app.db.tables import Flow, Kind, Operation, State
from app.payments.core.balance import ZERO, Balance, balance
from app.payments.core.details import Details
from app.payments.core.problems import problem_words
from app.payments.services import Services
from app.payments.staff.status import standing

COLUMNS = (
    "begun", "order_number", "order_id", "transaction_id", "amount", "currency", "standing", "reserved", "charged",
    "refunded", "paid_with", "channel", "account", "problem", "released", "charged_back", "gateway_payment_id",
    "processed", "fee", "operations",
)  # fmt: skip
AT_ONCE = 200
"""Payments that are read at once, and held in memory."""

_DONE = {
    Kind.CAPTURE: "captured",
    Kind.REFUND: "refunded",
    Kind.VOID: "released",
    Kind.DISPUTE: "charged back",
    Kind.RECURRING: "charged by subscription",
}
_CREATED = {Flow.CHARGE: "charged", Flow.AUTHORIZATION: "reserved", Flow.PAYOUT: "paid out"}
# What begins a formula in some spreadsheet, also behind white space that it drops.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


async def csv_of(services: Services, wanted: Wanted) -> AsyncIterator[str]:
    """Return the lines of all payments that are wanted, some at a time, the first with the names of the columns.

    No transaction is held while somebody reads them: payments that come meanwhile are newer, and left out.
    """
    names = {each.id: each.name for each in await services.accounts.all()}
    yield lines([COLUMNS])
    last = None
    while True:
        async with services.database.transaction() as session:
            payments = await payments_page(session, wanted, most=AT_ONCE, after=last)
            aggregates = await outlines_of(session, payments)
        if aggregates:
            yield lines([_row(each, names) for each in aggregates])
        if len(payments) < AT_ONCE:
            return
        last = payments[-1]


def _row(aggregate: PaymentAggregate, accounts: Mapping[str, str]) -> Sequence[str]:
    payment, now = aggregate.payment, balance(aggregate.payment.flow, aggregate.operations)
    said = Details.kept(aggregate.create.details)
    return (
        _moment(payment.created_at),
        harmless(payment.order_number or ""),
        harmless(payment.order_id),
        harmless(payment.transaction_id),
        str(payment.amount),
        harmless(payment.currency),
        standing(aggregate),
        str(now.authorized),
        str(now.taken),
        str(now.returned),
        harmless(said.card_mask or said.payway or ""),
        harmless(payment.channel),
        harmless(accounts[payment.account_id]),
        harmless(problem_words(payment) or ""),
        str(_released(aggregate, now)),
        str(_charged_back(aggregate)),
        harmless(aggregate.create.operation_id or said.payment_id or ""),
        _moment(said.processed_at),
        _fee(aggregate),
        harmless("; ".join(_told(payment.flow, each) for each in _succeeded(aggregate))),
    )


def _succeeded(aggregate: PaymentAggregate) -> list[Operation]:
    return [
        each
        for each in aggregate.operations
        if each.state is State.SUCCESS and (each.kind in _DONE or each.kind is Kind.CREATE)
    ]


def _released(aggregate: PaymentAggregate, now: Balance) -> Decimal:
    """Return what of a reservation was freed: all of it, or what a capture has left."""
    ended = any(each.kind in {Kind.VOID, Kind.CAPTURE} for each in _succeeded(aggregate))
    return now.authorized - now.charged if ended else ZERO


def _charged_back(aggregate: PaymentAggregate) -> Decimal:
    return sum((each.amount for each in _succeeded(aggregate) if each.kind is Kind.DISPUTE), ZERO)


def _fee(aggregate: PaymentAggregate) -> str:
    """Return what the gateway took for what has moved money, in the payment's currency; "" where it has not said."""
    currency = aggregate.payment.currency
    fees = [each.fee for each in aggregate.operations if each.fee is not None and each.fee_currency == currency]
    return format(sum(fees, ZERO), "f") if fees else ""


def _told(flow: Flow, operation: Operation) -> str:
    """Return in words what was done, when, and what the gateway took for it, as far as that is known."""
    said = Details.kept(operation.details)
    word = _DONE.get(operation.kind, _CREATED[flow])
    fee = f", fee {said.fee.amount:f} {said.fee.currency or operation.currency}" if said.fee is not None else ""
    return (
        f"{word} {operation.amount} on {_moment(said.processed_at or operation.booked_at or operation.updated_at)}{fee}"
    )


def _moment(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"


def harmless(text: str) -> str:
    """Return text that no spreadsheet computes."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA) else text


def lines(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as they are written into a file."""
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()
