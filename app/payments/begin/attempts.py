"""Who begins to pay anew leaves the older page behind: it is closed, so that nobody pays the same thing twice.

A page stays open when what it asks for and what the newer attempts ask for fit together into what is still to pay:
then they are parts of one payment, which a storefront may well want to be paid side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.ledger.sheets import Sheet, row_id_of
from app.ledger.tables import Kind, Payment, State
from app.payments.outcome.apply import Posting
from app.payments.outcome.balance import ZERO, balance
from app.payments.outcome.closing import REPLACED, cancellation, link_is_missing
from app.saleor.source import Checkout, Order


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to pay for something. ``number`` grows with time.

    ``open``: its page can be paid, over ``amount``. ``covered``: what of the total it has paid or reserved, or what is
    at the bank.
    """

    number: int
    amount: Decimal
    open: bool
    covered: Decimal = ZERO


def replaced(attempts: Sequence[Attempt], to_pay: Decimal) -> list[int]:
    """Return the numbers of the attempts whose pages must be closed, so that no more than ``to_pay`` can be paid. Pure.

    The newest attempt is never closed. Of the older ones those over the same amount go first, because they are the
    same thing once more; then the oldest.
    """
    alive = [each for each in attempts if each.open or each.covered]
    if not alive:
        return []
    newest = max(alive, key=lambda each: each.number)
    left = to_pay - sum((each.covered for each in alive), ZERO)
    asked = sum((each.amount for each in alive if each.open), ZERO)
    older = [each for each in alive if each.open and each is not newest]
    closing = []
    for each in sorted(older, key=lambda older: (older.amount != newest.amount, older.number)):
        if asked <= left:
            break
        asked -= each.amount
        closing.append(each.number)
    return closing


def close_replaced(sheets: Sequence[Sheet], newest: Payment, source: Checkout | Order, posting: Posting) -> None:
    """Record that pages which ``newest`` leaves behind are to be closed; the worker sends it.

    Does nothing when Saleor does not say what there is to pay in all.
    """
    if source.total is None:
        return
    ours = {sheet.payment.transaction_id for sheet in sheets}
    others = sum((each.covered for each in source.transactions if each.id not in ours), ZERO)
    same_currency = [each for each in sheets if each.payment.currency == newest.currency]
    numbers = replaced([_attempt(each) for each in same_currency], source.total.gross.amount - others)
    for sheet in same_currency:
        if sheet.payment.id in numbers:
            _close(sheet, newest, posting)


def _attempt(sheet: Sheet) -> Attempt:
    payment, create = sheet.payment, sheet.create
    now = balance(payment.flow, sheet.operations)
    released = any(each.kind in {Kind.CAPTURE, Kind.VOID} and each.state is State.SUCCESS for each in sheet.operations)
    at_the_bank = create.amount if create.state is State.PENDING else ZERO
    return Attempt(
        number=row_id_of(payment),
        amount=payment.amount,
        open=now.unpaid and not link_is_missing(payment),
        covered=at_the_bank + now.charged - now.refunded + (ZERO if released else now.authorized),
    )


def _close(sheet: Sheet, newest: Payment, posting: Posting) -> None:
    now, create = posting.now, sheet.create
    key = f"replaced-by-{newest.order_id}"
    if sheet.by_key(key) is not None:
        return
    sheet.operations.append(
        cancellation(sheet.payment, key=key, why=REPLACED, state=State.WAITING, next_look_at=now, now=now)
    )
    # Should the gateway refuse, because somebody is paying at this very moment: find out soon how that ends.
    soon = posting.schedule.after_intent(now)
    create.next_look_at = soon if create.next_look_at is None else min(create.next_look_at, soon)
