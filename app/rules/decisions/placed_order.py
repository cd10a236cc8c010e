"""The order that a checkout has become: staff know a payment by its number, but Saleor does not report its placing.

The response to each report names the order once there is one. Until then it is polled, from the moment when Saleor has
a payment that covers the checkout. Orders are placed seconds later, or when staff or Saleor complete the checkout, or
never. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.core.fact import AttemptFact, Fact
from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import CloseReason
from app.rules.decisions.competing_attempts import state_double_payment
from app.rules.order_standing import (
    PATIENT_POLLS,
    agrees,
    are_sums_behind,
    close_page,
    close_page_not_owed,
    compare_at,
    compare_with_source,
    do_not_count_poll,
    flag_test_money,
    flag_test_subscription,
    needs_comparison,
)
from saleor_app_sdk.reports import ReportOutcome
from saleor_app_sdk.responses import EventType
from saleor_app_sdk.transaction_source import PlacedOrder, TransactionSource

_COVERING = {
    EventType.AUTHORIZATION_REQUEST,
    EventType.AUTHORIZATION_SUCCESS,
    EventType.CHARGE_REQUEST,
    EventType.CHARGE_SUCCESS,
}
_COMPARISON_PAUSE = timedelta(hours=1)
_PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
)


def schedule_order_look_up(payment: Payment, reported: EventType, now: datetime, report: ReportOutcome | None) -> None:
    """Schedule polls of the order, now that money for its checkout is reported; start again if they were abandoned.

    ``report`` is the outcome of the report, which counts as the first poll; None if Saleor read the event in an answer.
    A payment of an order has its number from the beginning.
    """
    if payment.order_number is not None:
        return
    if report is not None and report.order is not None:
        record_order(payment, report.order, now)
    elif reported in _COVERING and payment.next_order_poll_at is None:
        payment.order_polls = 0 if report is None else 1
        payment.next_order_poll_at = now if report is None else now + _PAUSES[0]


def schedule_comparison(payment: Payment, now: datetime) -> None:
    """Schedule the next poll of an order that staff are shown as not owed or not paid: it may end in Saleor."""
    if needs_comparison(payment):
        compare_at(payment, now + _COMPARISON_PAUSE)


def record_order(payment: Payment, placed: PlacedOrder | None, now: datetime) -> None:
    """Record the placed order; None: there is none yet, or Saleor does not state it, and it is polled again later."""
    if placed is not None:
        if payment.has_rivals and payment.source_id != placed.id:
            payment.attempts_due_at = now  # the others may have the order's id already: only now they find each other
        payment.order_number, payment.source_id = placed.number, placed.id
        payment.next_order_poll_at, payment.updated_at = None, now
        return
    polls = payment.order_polls
    payment.next_order_poll_at = now + _PAUSES[polls - 1] if polls <= len(_PAUSES) else None


@dataclass(frozen=True, slots=True)
class OrderNotAsked(Fact[None]):
    """Saleor could not be polled for the order, because the app is shut out of it."""

    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Postpone the poll; this one was not made."""
        do_not_count_poll(aggregate.payment)
        aggregate.payment.next_order_poll_at = self.now + _PAUSES[2]


@dataclass(frozen=True, slots=True)
class OrderNotStated(Fact[None]):
    """Saleor was polled for the order and gave no answer. ``pause``: for how long it wants no requests."""

    pause: timedelta
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Poll again within the hour, however long that takes: only answers say that there is no order."""
        payment = aggregate.payment
        if payment.next_order_poll_at is None:
            return  # its number has become known since
        if payment.order_polls > PATIENT_POLLS:
            do_not_count_poll(payment)
        polls = min(max(payment.order_polls, 1), PATIENT_POLLS)
        payment.next_order_poll_at = self.now + max(self.pause, _PAUSES[polls - 1])


@dataclass(frozen=True, slots=True)
class OrderAsked(AttemptFact[None]):
    """Saleor was polled for the order. ``source`` is what it says; None: nothing."""

    source: TransactionSource | None
    now: datetime

    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> None:
        """Record the order, and compare the payment with it: they must agree."""
        payment, source = aggregate.payment, self.source
        if payment.next_order_poll_at is None:
            return  # its number has become known since
        if source is None:
            record_order(payment, None, self.now)
            return
        differs = not agrees(payment, source)
        record_order(payment, source.order, self.now)
        if not differs:
            return
        if len(attempts) > 1 and any(map(are_sums_behind, attempts)):
            compare_at(payment, self.now + _COMPARISON_PAUSE)
            source = replace(source, excess=None)
        state_double_payment(attempts, source, self.now)
        compare_with_source(aggregate, source, self.now, money_arrives=True, is_asked=True)
        schedule_comparison(payment, self.now)


@dataclass(frozen=True, slots=True)
class PayableSeen(Fact[bool]):
    """Saleor was asked whether the amount of an open page is still owed. Returns whether the page is to be closed."""

    source: TransactionSource
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> bool:
        """Have the worker close the page if nothing, or less than its amount, is owed."""
        return close_page_not_owed(aggregate, self.source, self.now)


@dataclass(frozen=True, slots=True)
class ChannelWentLive(Fact[bool]):
    """The channel of a payment of a test project takes real money now. Returns whether its page is to be closed."""

    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> bool:
        """Have the worker close the page: a test card must not pay a real order.

        A checkout that is paid already may still become an order: staff are told before it does. So they are of a
        subscription, whose charges Saleor counts like real ones.
        """
        flag_test_subscription(aggregate, self.now)
        if aggregate.payment.order_number is None:
            flag_test_money(aggregate, self.now)
        return close_page(aggregate, CloseReason.LEFT_TEST_PROJECT, self.now)


@dataclass(frozen=True, slots=True)
class AppRemoved(Fact[bool]):
    """The app was removed from the payment's Saleor. Returns whether its page is to be closed."""

    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> bool:
        """Have the worker close the page: nobody could tell Saleor what is paid on it."""
        return close_page(aggregate, CloseReason.APP_REMOVED, self.now)
