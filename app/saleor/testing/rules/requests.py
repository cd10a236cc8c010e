"""What staff, or the app itself, ask for: the ``*_REQUEST`` event that is written before the app hears of it."""

from decimal import Decimal

from app.saleor.testing.records import Event, EventClock, GrantedRefund, Transaction
from app.saleor.testing.rules.grants import check_requestable, settle_granted_refund
from app.saleor.testing.rules.recording import open_request, write_failure
from app.saleor.testing.vocabulary import Action

NOBODY_LISTENS = "No app or plugin is configured to handle requested action."


def request_action(
    transaction: Transaction,
    action: Action,
    amount: Decimal | None,
    event_clock: EventClock,
    *,
    idempotency_key: str,
    reason: str = "",
) -> Event:
    """Write down ``transactionRequestAction``. The amount is clipped to what there is, which may be nothing.

    ``reason`` is that of a refund (from 3.22 on).
    """
    there = transaction.amounts.charged if action is Action.REFUND else transaction.amounts.authorized
    # Zero is as good as missing: the most that is possible takes its place.
    clipped = min(amount or there, there)
    return open_request(
        transaction, action.request, clipped, event_clock, idempotency_key=idempotency_key, reason=reason
    )


def request_granted_refund(
    granted: GrantedRefund, transaction: Transaction, event_clock: EventClock, *, idempotency_key: str
) -> Event:
    """Write down ``transactionRequestRefundForGrantedRefund``; raise GrantRefusedError.

    The status of the granted refund is for the caller to settle, when the webhook's body has been built: it still says
    what was the case before.
    """
    check_requestable(granted, transaction)
    granted.transaction = granted.transaction or transaction
    amount = min(granted.amount, transaction.amounts.charged)
    return open_request(
        transaction, Action.REFUND.request, amount, event_clock, idempotency_key=idempotency_key, granted_refund=granted
    )


def fail_unheard(transaction: Transaction, request: Event, event_clock: EventClock) -> None:
    """Book that no app is there to be asked: it is inactive, deleted, or may not handle payments."""
    write_failure(transaction, request, NOBODY_LISTENS, event_clock)
    settle_granted_refund(request.granted_refund)
