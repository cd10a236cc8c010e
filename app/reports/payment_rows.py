"""Payments as rows for spreadsheets: one each, the newest first, nothing of any shopper.

The cell of a value that the gateway has not sent is empty.
"""

from collections.abc import AsyncIterator, Sequence
from decimal import Decimal

from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import GIVES_A_PAYOUT_BACK, Flow, Kind, State
from app.i18n.messages import LazyMessage, gettext_noop
from app.reports.sheet import Row, SheetStyle, project
from app.reports.status import standings
from app.rules.balance import ZERO, Balance, balance, processed_at_of
from app.rules.details import Details
from app.rules.problems import problem_messages
from app.services import Services
from app.store.aggregates import load_outlines
from app.store.search import PaymentFilter, payments_page
from app.store.tables import MerchantAccount

_HEADINGS = (
    gettext_noop("Order number"), gettext_noop("Gateway order ID"), gettext_noop("Transaction in Saleor"),
    gettext_noop("Amount"), gettext_noop("Currency"), gettext_noop("Status"), gettext_noop("Authorized"),
    gettext_noop("Charged"), gettext_noop("Refunded"), gettext_noop("Paid with"), gettext_noop("Channel"),
    gettext_noop("Merchant account"), gettext_noop("Project"), gettext_noop("Needs attention"),
    gettext_noop("Released"), gettext_noop("Charged back"), gettext_noop("Gateway payment ID"),
)  # fmt: skip
_MOMENTS = (gettext_noop("Started"), gettext_noop("Processed"))
_LAST_HEADINGS = (gettext_noop("Fee"), gettext_noop("Activity"), gettext_noop("Trial"))
BATCH_SIZE = 200
"""Payments that are read in one batch, and held in memory."""

_DONE = {
    Kind.CAPTURE: gettext_noop("captured"),
    Kind.REFUND: gettext_noop("refunded"),
    Kind.VOID: gettext_noop("released"),
    Kind.DISPUTE: gettext_noop("charged back"),
    Kind.RECURRING: gettext_noop("charged by subscription"),
}
_RETURNED = gettext_noop("returned")
_CREATED = {
    Flow.CHARGE: gettext_noop("charged"),
    Flow.AUTHORIZATION: gettext_noop("authorized"),
    Flow.PAYOUT: gettext_noop("paid out"),
}


async def payment_rows(services: Services, wanted: PaymentFilter, style: SheetStyle) -> AsyncIterator[Sequence[Row]]:
    """Yield the rows of all matching payments in batches, the first with the headings.

    No transaction is held while the rows are read: payments that arrive during the export are newer, and left out.
    """
    accounts = {account.id: account for account in await services.accounts.all()}
    headings, last_headings = (map(style.language.gettext, part) for part in (_HEADINGS, _LAST_HEADINGS))
    started, processed = map(style.in_zone, _MOMENTS)
    yield [[started, *headings, processed, *last_headings, *style.offset_headings(*_MOMENTS)]]
    last = None
    while True:
        async with services.database.transaction() as session:
            payments = await payments_page(session, wanted, most=BATCH_SIZE, after=last)
            aggregates = await load_outlines(session, payments)
        if aggregates:
            yield [_row(aggregate, accounts[aggregate.payment.account_id], style) for aggregate in aggregates]
        if len(payments) < BATCH_SIZE:
            return
        last = payments[-1]


def _row(aggregate: PaymentAggregate, account: MerchantAccount, style: SheetStyle) -> Row:
    payment, now = aggregate.payment, balance(aggregate.payment.flow, aggregate.operations)
    details, language = Details.from_row(aggregate.create.details), style.language
    processed_at = processed_at_of(payment, aggregate.create, aggregate.create.updated_at)
    return (
        payment.created_at,
        payment.order_number,
        payment.order_id,
        payment.transaction_id,
        payment.amount,
        payment.currency,
        ", ".join(language.gettext(standing.value) for standing in standings(aggregate)),
        now.authorized,
        now.taken,
        now.returned,
        details.card_mask or details.payway,
        payment.channel,
        account.name,
        language.gettext(project(account.test_project)),
        "\n".join(language.plain_text(problem) for problem in problem_messages(payment)),
        _released_amount(aggregate, now),
        now.charged_back,
        aggregate.create.operation_id or details.payment_id,
        processed_at,
        _fee(aggregate),
        "; ".join(_describe(payment, operation, style) for operation in _succeeded(aggregate)),
        language.gettext("Trial") if payment.trial else "",
        *style.offsets(payment.created_at, processed_at),
    )


def _succeeded(aggregate: PaymentAggregate) -> list[Operation]:
    return [
        operation
        for operation in aggregate.operations
        if operation.state is State.SUCCESS and (operation.kind in _DONE or operation.kind is Kind.CREATE)
    ]


def _released_amount(aggregate: PaymentAggregate, now: Balance) -> Decimal:
    """Return the released amount of a reservation: all of it, or what a capture has left."""
    ended = any(operation.kind in {Kind.VOID, Kind.CAPTURE} for operation in _succeeded(aggregate))
    return now.authorized - now.charged - now.reserved if ended else ZERO


def _fee(aggregate: PaymentAggregate) -> Decimal | None:
    """Return the gateway's fees for movements of money, in the payment's currency; None where it has stated none."""
    currency = aggregate.payment.currency
    stated = (operation for operation in aggregate.operations if operation.fee_currency == currency)
    fees = [operation.fee for operation in stated if operation.fee is not None]
    return sum(fees, ZERO) if fees else None


def _describe(payment: Payment, operation: Operation, style: SheetStyle) -> str:
    """Describe an operation: what was done, when, and the gateway's fee, as far as that is known."""
    details = Details.from_row(operation.details)
    is_return = payment.flow is Flow.PAYOUT and operation.kind in GIVES_A_PAYOUT_BACK
    done = _RETURNED if is_return else _DONE.get(operation.kind, _CREATED[payment.flow])
    what = style.language.gettext(done)
    processed_at = operation.booked_at or processed_at_of(payment, operation, operation.updated_at)
    text = f"{what} {style.amount(operation.amount)}, {style.moment_in_text(processed_at or operation.updated_at)}"
    if details.fee is None:
        return text
    fee = f"{style.amount(details.fee.amount)} {details.fee.currency or operation.currency}"
    return style.language.plain_text(LazyMessage("%(operation)s, fee %(fee)s", operation=text, fee=fee))
