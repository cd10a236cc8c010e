"""Payments as CSV (RFC 4180), for spreadsheets and scripts: one line each, the newest first, nothing of any shopper.

Moments are UTC, amounts have a decimal point, and words are English whoever asks. Where a spreadsheet would take what
people wrote for a formula, an apostrophe stands before it.
"""

import csv
import io
from collections.abc import AsyncIterator, Mapping, Sequence

from app.db.aggregates import PaymentAggregate, outlines_of
from app.db.search import Wanted, payments_page
from app.payments.core.balance import balance
from app.payments.core.details import Details
from app.payments.core.problems import problem_words
from app.payments.services import Services
from app.payments.staff.status import standing

COLUMNS = (
    "begun", "order_number", "order_id", "transaction_id", "amount", "currency", "standing", "reserved", "charged",
    "refunded", "paid_with", "channel", "account", "problem",
)  # fmt: skip
AT_ONCE = 200
"""Payments that are read at once, and held in memory."""

# What begins a formula in some spreadsheet, also behind white space that it drops.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


async def csv_of(services: Services, wanted: Wanted) -> AsyncIterator[str]:
    """Return the lines of all payments that are wanted, some at a time, the first with the names of the columns.

    No transaction is held while somebody reads them: payments that come meanwhile are newer, and left out.
    """
    names = {each.id: each.name for each in await services.accounts.all()}
    yield _lines([COLUMNS])
    last = None
    while True:
        async with services.database.transaction() as session:
            payments = await payments_page(session, wanted, most=AT_ONCE, after=last)
            aggregates = await outlines_of(session, payments)
        if aggregates:
            yield _lines([_row(each, names) for each in aggregates])
        if len(payments) < AT_ONCE:
            return
        last = payments[-1]


def _row(aggregate: PaymentAggregate, accounts: Mapping[str, str]) -> Sequence[str]:
    payment, now = aggregate.payment, balance(aggregate.payment.flow, aggregate.operations)
    said = Details.kept(aggregate.create.details)
    return (
        f"{payment.created_at:%Y-%m-%dT%H:%M:%SZ}",
        harmless(payment.order_number or ""),
        harmless(payment.order_id),
        harmless(payment.transaction_id),
        str(payment.amount),
        harmless(payment.currency),
        standing(aggregate),
        str(now.authorized),
        str(now.charged),
        str(now.refunded),
        harmless(said.card_mask or said.payway or ""),
        harmless(payment.channel),
        harmless(accounts[payment.account_id]),
        harmless(problem_words(payment) or ""),
    )


def harmless(text: str) -> str:
    """Return text that no spreadsheet computes."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA) else text


def _lines(rows: Sequence[Sequence[str]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()
