"""What happens by itself when time passes: pages expire, the bank decides, holds are captured, subscriptions charge."""

from datetime import datetime

from app.sandbox.book import attempts, secondary, subscriptions
from app.sandbox.book.book import Book
from app.sandbox.book.codes import OK, Status
from app.sandbox.book.records import Payment, Subscription


def tick(book: Book, now: datetime) -> bool:
    """Let everything happen that is due at `now`. True when anything did."""
    changed = False
    for entry in book.restless():
        if isinstance(entry, Payment):
            changed |= _payment_moves(book, entry, now) or _hold_moves(book, entry, now)
        elif entry.settles_at is not None and entry.settles_at <= now:
            secondary.settle(book, entry, OK, now)
            changed = True
    while due := subscriptions.due(book, now):
        for subscription in due:
            _charge(book, subscription, subscription.next_charge_at or now)
        changed = True
    return changed


def _payment_moves(book: Book, payment: Payment, now: datetime) -> bool:
    if payment.settles_at is not None and payment.settles_at <= now:
        attempts.settle(book, payment, OK, now)
        return True
    open_page = payment.status is Status.INIT or payment.waits_for_payer
    if open_page and payment.expires_at <= now:
        attempts.expire(book, payment, now)
        return True
    return False


def _hold_moves(book: Book, payment: Payment, now: datetime) -> bool:
    if payment.processed_at is None or not book.is_free_hold(payment):
        return False
    behaviour = book.behaviour(payment.pos_id)
    for after, act in (
        (behaviour.automatic_capture_after, secondary.capture),
        (behaviour.automatic_void_after, secondary.void),
    ):
        if after is not None and payment.processed_at + after <= now:
            act(book, payment, secondary.Order(server_url=payment.server_url), now)
            return True
    return False


def _charge(book: Book, subscription: Subscription, moment: datetime) -> None:
    payment = subscriptions.next_payment(book, subscription, moment)
    if payment is None or payment.card is None:
        return
    attempts.attempt(book, payment, payment.card, moment)
    subscriptions.reschedule(subscription, moment, failed=payment.status is Status.FAILURE)
