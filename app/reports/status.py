"""The standing of a payment, in two or three words, its pending steps with their times, and what did not get through.

Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from app.core.notification import StoredNotification
from app.core.payment import Operation, PaymentAggregate, SaleorEvent, returned_of_payout
from app.core.vocabulary import EventState, Flow, Kind, State
from app.i18n.currencies import has_cents
from app.i18n.messages import LazyMessage, Money, StoredMessage, gettext_noop
from app.reports.descriptions import event_name, operation_name, with_sum
from app.rules.balance import Balance, balance
from app.rules.page_cancellation import is_retried_until_confirmed
from gateway_client.statuses import CodeKind, Status, explain
from integration_base.amounts import format_amount


class Standing(StrEnum):
    """The standing of a payment, or an operation that is under way, in English for users."""

    PAID = gettext_noop("paid")
    RESERVED = gettext_noop("authorized")
    RELEASED = gettext_noop("released")
    PARTIALLY_REFUNDED = gettext_noop("partially refunded")
    REFUNDED = gettext_noop("refunded")
    CANCELLED = gettext_noop("cancelled")
    FAILED = gettext_noop("failed")
    WAITING_FOR_SHOPPER = gettext_noop("waiting for the shopper")
    WAITING_FOR_BANK = gettext_noop("waiting for the bank")
    NOT_KNOWN = gettext_noop("not known yet")
    CHARGING = gettext_noop("charge under way")
    RELEASING = gettext_noop("release under way")
    REFUNDING = gettext_noop("refund under way")
    CANCELLING = gettext_noop("cancellation under way")
    DISPUTED = gettext_noop("dispute under way")
    CHARGED_BACK = gettext_noop("charged back")
    PAID_OUT = gettext_noop("paid out")
    RETURNED = gettext_noop("returned")
    PARTIALLY_RETURNED = gettext_noop("partially returned")


_UNDER_WAY = {
    Kind.CAPTURE: Standing.CHARGING,
    Kind.VOID: Standing.RELEASING,
    Kind.REFUND: Standing.REFUNDING,
    Kind.CANCEL: Standing.CANCELLING,
    Kind.DISPUTE: Standing.DISPUTED,
    Kind.RECURRING: Standing.CHARGING,
}


def standing(aggregate: PaymentAggregate) -> str:
    """Return the payment's standing for users: "paid", "waiting for the shopper", "paid, refund under way"."""
    return ", ".join(standings(aggregate))


def standings(aggregate: PaymentAggregate) -> tuple[Standing, ...]:
    """Return the payment's standing, followed by the operations under way."""
    now = balance(aggregate.payment.flow, aggregate.operations)
    under_way = [
        _UNDER_WAY[operation.kind]
        for operation in aggregate.operations
        if operation.kind in _UNDER_WAY and not operation.state.final
    ]
    if any(operation.kind is Kind.DISPUTE and operation.state is State.SUCCESS for operation in aggregate.operations):
        under_way.append(Standing.CHARGED_BACK)
    return (_standing(aggregate, now), *dict.fromkeys(under_way))


def _standing(aggregate: PaymentAggregate, now: Balance) -> Standing:
    create = aggregate.create
    if create.contradicted:
        return Standing.NOT_KNOWN
    match create.state:
        case State.SUCCESS:
            return _money_standing(aggregate, now)
        case State.FAILURE if create.newer_try is None:
            cancelled = explain(Status.FAILURE, create.status_code).kind is CodeKind.CANCELLED
            return Standing.CANCELLED if cancelled else Standing.FAILED
        case State.INIT:
            return Standing.WAITING_FOR_SHOPPER
        case State.PENDING:
            return Standing.WAITING_FOR_SHOPPER if create.waits_for_shopper else Standing.WAITING_FOR_BANK
        case _:
            return Standing.NOT_KNOWN


def _money_standing(aggregate: PaymentAggregate, now: Balance) -> Standing:
    if aggregate.payment.flow is Flow.PAYOUT:
        return _payout_standing(aggregate)
    if now.refunded:
        return Standing.REFUNDED if now.refunded >= now.charged else Standing.PARTIALLY_REFUNDED
    if now.charged:
        return Standing.PAID
    released = any(
        operation.kind is Kind.VOID and operation.state is State.SUCCESS for operation in aggregate.operations
    )
    return Standing.RELEASED if released else Standing.RESERVED


def _payout_standing(aggregate: PaymentAggregate) -> Standing:
    returned = returned_of_payout(aggregate.operations)
    if not returned:
        return Standing.PAID_OUT
    return Standing.RETURNED if returned >= aggregate.create.amount else Standing.PARTIALLY_RETURNED


@dataclass(frozen=True, slots=True)
class ShownAmount:
    """The amount by which a payment is shown: what was charged; ``requested`` only where less than that was.

    Of a payout it is what was requested.
    """

    amount: Decimal
    requested: Decimal | None
    currency: str

    def __str__(self) -> str:
        if self.requested is None:
            return str(Money(self.amount, self.currency))
        return f"{format_amount(self.amount, cents=has_cents(self.currency))} of {Money(self.requested, self.currency)}"


def shown_amount(aggregate: PaymentAggregate) -> ShownAmount:
    """Return the amount by which a payment is shown."""
    payment = aggregate.payment
    if payment.flow is Flow.PAYOUT:
        return ShownAmount(payment.amount, None, payment.currency)
    charged = balance(payment.flow, aggregate.operations).taken
    return ShownAmount(charged, payment.amount if charged < payment.amount else None, payment.currency)


def failure_reason(operation: Operation) -> StoredMessage | None:
    """Return why an operation failed, in the gateway's words or ours; None if it did not, or the reason is unknown."""
    if operation.state is not State.FAILURE or not operation.message:
        return None
    return StoredMessage(operation.message)


@dataclass(frozen=True, slots=True)
class PendingStep:
    """A pending step: ``until`` is when the app acts next, or the deadline; None: no time is set."""

    words: LazyMessage
    until: datetime | None = None


def pending_steps(aggregate: PaymentAggregate, notifications: Sequence[StoredNotification]) -> list[PendingStep]:
    """Return the pending steps of a payment, soonest first."""
    return sorted(
        [*_shopper_steps(aggregate), *_worker_steps(aggregate, notifications)],
        key=lambda step: (step.until is None, step.until or aggregate.payment.created_at),
    )


def _shopper_steps(aggregate: PaymentAggregate) -> Iterator[PendingStep]:
    create = aggregate.create
    if create.state is State.INIT or (create.state is State.PENDING and create.waits_for_shopper):
        yield PendingStep(LazyMessage("the shopper has until then to pay"), aggregate.payment.expires_at)


def _was_turned_away(operation: Operation) -> bool:
    """Return True for an operation whose turn has come before; the closing of a page takes other turns."""
    return operation.updated_at > operation.created_at and not is_retried_until_confirmed(operation)


def _step_message(operation: Operation, flow: Flow) -> LazyMessage | None:
    what = with_sum(operation, operation_name(operation.kind, flow))
    if operation.state is State.WAITING and _was_turned_away(operation):
        return LazyMessage("the %(what)s is sent then, because the gateway did not take it before", what=what)
    if operation.state is State.WAITING:
        return LazyMessage("the %(what)s is sent when the operation before it has ended", what=what)
    if operation.next_poll_at is None:
        return None
    if operation.state.final:
        return LazyMessage(
            "the %(what)s has ended; the app looks it up once more, unless the gateway notifies it before", what=what
        )
    return LazyMessage("the app looks up the %(what)s, unless the gateway notifies it before", what=what)


def _worker_steps(aggregate: PaymentAggregate, notifications: Sequence[StoredNotification]) -> Iterator[PendingStep]:
    for operation in aggregate.operations:
        if (message := _step_message(operation, aggregate.payment.flow)) is not None:
            yield PendingStep(message, operation.next_poll_at)
    for row in notifications:
        if row.next_attempt_at is not None:
            yield PendingStep(LazyMessage("the app processes a notification from the gateway"), row.next_attempt_at)
    for event in aggregate.events:
        if event.next_attempt_at is not None:
            message = LazyMessage("the app reports to Saleor: %(what)s", what=event_name(event.type))
            yield PendingStep(message, event.next_attempt_at)


def undelivered_events(aggregate: PaymentAggregate) -> list[SaleorEvent]:
    """Return the events of a payment that Saleor has refused, or has not accepted in spite of an attempt."""
    return [
        event
        for event in aggregate.events
        if event.state is EventState.REFUSED or (event.state is EventState.WAITING and event.last_error is not None)
    ]


def unprocessed_notifications(notifications: Sequence[StoredNotification]) -> list[StoredNotification]:
    """Return the notifications whose processing was tried without success."""
    return [
        notification
        for notification in notifications
        if notification.processed_at is None and notification.outcome is not None
    ]
