"""What a shopper may see of a payment, read from its sheet; and asking the gateway when its shopper comes back."""

from datetime import datetime, timedelta
from urllib.parse import urlencode, urlsplit, urlunsplit

from app.ledger.sheets import Sheet, find_by_order
from app.ledger.tables import Flow, State
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.learn.settle import look
from app.payments.show.order_payments import can_be_paid
from app.shopper.view import Language, PaymentState, PaymentView

_BETWEEN_LOOKS = timedelta(seconds=3)
_LOOK_SECONDS = 4.0  # a page that a person waits for
_NOBODY_PAID = {"6007", "4147", "4148", "4149"}  # cancelled, or the time to pay ran out (gateway facts, 4)


async def find(desk: Desk, order_id: str) -> PaymentView | None:
    """Return what the shopper of an order may see; None for an order that is not ours."""
    async with desk.database.transaction() as session:
        sheet = await find_by_order(session, order_id)
    return None if sheet is None else view_of(sheet, desk.now())


async def follow_up(desk: Desk, order_id: str) -> None:
    """Ask the gateway about a payment whose shopper is back, but not more often than every few seconds."""
    async with desk.database.transaction() as session:
        sheet = await find_by_order(session, order_id)
    if sheet is None:
        return
    create = sheet.create
    now = desk.now()
    lately = create.looked_at is not None and now - create.looked_at < _BETWEEN_LOOKS
    if create.id is None or create.state not in {State.INIT, State.PENDING} or lately:
        return
    await look(desk, create.id, Deadline(_LOOK_SECONDS))


def view_of(sheet: Sheet, now: datetime) -> PaymentView:
    """Return the shopper's view of a payment. Pure."""
    payment, create = sheet.payment, sheet.create
    payable = can_be_paid(sheet, now)
    return PaymentView(
        order_id=payment.order_id,
        state=_state(sheet),
        language=Language.UKRAINIAN if payment.language == "uk" else Language.ENGLISH,
        amount=create.amount if create.state is State.SUCCESS else payment.amount,
        currency=payment.currency,
        return_url=_with_transaction(payment.return_url, payment.transaction_id),
        message=create.shopper_message if create.state is State.FAILURE else None,
        checkout_url=payment.checkout_url if payable else None,
        expires_at=payment.expires_at,
        description=str(create.request.get("description") or ""),
        overdue=create.state is State.INIT and not payable,
    )


def _state(sheet: Sheet) -> PaymentState:
    create = sheet.create
    match create.state:
        case State.SUCCESS:
            return PaymentState.PAID if sheet.payment.flow is Flow.CHARGE else PaymentState.AUTHORISED
        case State.FAILURE:
            return PaymentState.EXPIRED if create.status_code in _NOBODY_PAID else PaymentState.FAILED
        case State.INIT | State.PENDING:
            return PaymentState.WAITING
        case _:
            return PaymentState.UNKNOWN


def _with_transaction(url: str | None, transaction_id: str) -> str | None:
    """Tell the storefront which transaction its shopper comes back from, so that it can call transactionProcess."""
    if url is None:
        return None
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode({"transactionId": transaction_id})) if part)
    return urlunsplit(parts._replace(query=query))
