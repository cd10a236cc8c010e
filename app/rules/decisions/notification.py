"""What follows for a payment from a notification of the gateway (laws of money, 6 to 8). Pure."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from app.core.alerts import AlertKind
from app.core.notification import NotificationFact, Outcome, OutcomeCode, ProcessingResult, StoredNotification
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Kind
from app.i18n.messages import LazyMessage, Verbatim, gettext_noop
from app.rules.apply import apply
from app.rules.call_errors import confirm_address
from app.rules.decision_context import DecisionContext, flag_unexplained, raise_problem
from app.rules.dialects import dialect_of
from app.rules.issues import Issue, IssueCode
from app.rules.mapper import Observation
from app.rules.observation import observation_from_record, unexplained_money
from app.rules.problems import SEALED, clear_problem
from app.rules.references import is_same_id
from app.rules.subscription import is_of_unknown_payment
from gateway_client.errors import UnreadableNotificationError
from gateway_client.models import OperationRecord, PaymentRecord
from gateway_client.notification import read_data

_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=30)

_MESSAGES = {
    OutcomeCode.TO_REVIEW: gettext_noop("for review: %(facts)s"),
    OutcomeCode.NOTHING_TO_DO: gettext_noop("nothing to do for %(facts)s"),
    OutcomeCode.UNMATCHED: gettext_noop("no payment of ours has this order"),
    OutcomeCode.OF_ANOTHER_SHOP: gettext_noop("the order is another shop's"),
    OutcomeCode.UNREADABLE: gettext_noop("signed by the gateway, but it cannot be read"),
    OutcomeCode.NOT_DECRYPTED: gettext_noop("no key decrypts it"),
    OutcomeCode.ERASED: gettext_noop("its content is no longer stored"),
}


def next_attempt_at(context: DecisionContext, attempts: int) -> datetime:
    """Return when the processing of a notification is tried again after so many attempts."""
    return context.now + context.schedule.pause(_FIRST_PAUSE, attempts, _LONGEST_PAUSE)


@dataclass(frozen=True, slots=True)
class NotificationReceived(NotificationFact):
    """The gateway has notified of something. ``context``: the context of a single record."""

    context: DecisionContext

    def decide(self, notification: StoredNotification, aggregate: PaymentAggregate | None) -> ProcessingResult:
        """Post the record; without a payment, or when it cannot be opened or read, say what a person must see."""
        if not notification.retained:  # processed long ago, and its content has been erased since
            return ProcessingResult(notification.outcome or Outcome(OutcomeCode.ERASED))
        if notification.data is None:
            if aggregate is not None:
                raise_problem(aggregate, Issue(IssueCode.NOT_DECRYPTED), self.context.now, cause=SEALED)
            retry_at = next_attempt_at(self.context, notification.attempts)
            return ProcessingResult(Outcome(OutcomeCode.NOT_DECRYPTED), AlertKind.SEALED, retry_at=retry_at)
        zone = UTC if aggregate is None else dialect_of(aggregate.payment.account).zone
        try:
            record = read_data(notification.data, zone)
        except UnreadableNotificationError:
            return ProcessingResult(Outcome(OutcomeCode.UNREADABLE), AlertKind.UNREADABLE)
        if aggregate is not None:
            context = replace(self.context, arrived_at=notification.received_at)
            return replace(_post(aggregate, record, context), order_id=aggregate.payment.order_id)
        if notification.is_of_others:
            return ProcessingResult(Outcome(OutcomeCode.OF_ANOTHER_SHOP))
        return ProcessingResult(Outcome(OutcomeCode.UNMATCHED), AlertKind.UNMATCHED)


def _post(
    aggregate: PaymentAggregate, record: PaymentRecord | OperationRecord, context: DecisionContext
) -> ProcessingResult:
    payment, now = aggregate.payment, context.now
    seen = observation_from_record(record, payment.language)
    if seen is None:
        money = unexplained_money(record)
        if money is not None:
            flag_unexplained(aggregate, money, now)
        code = OutcomeCode.NOTHING_TO_DO if money is None else OutcomeCode.TO_REVIEW
        return ProcessingResult(Outcome(code, (record.method,)))
    clear_problem(payment, SEALED, now)
    apply(aggregate, [seen], context)
    confirm_address(aggregate, context)
    operation = _find_operation(aggregate, seen)
    is_unbooked = operation is None and is_of_unknown_payment(aggregate, seen.payment_id, seen.kind)
    code = OutcomeCode.TO_REVIEW if is_unbooked else OutcomeCode.APPLIED
    return ProcessingResult(Outcome(code, (seen.kind.value, seen.state.value)), operation=operation)


def _find_operation(aggregate: PaymentAggregate, seen: Observation) -> Operation | None:
    """Return the operation that a notification is about."""
    if seen.kind is Kind.CREATE:
        return aggregate.create
    return next((known for known in aggregate.operations if is_same_id(known.operation_id, seen.gateway_id)), None)


def outcome_message(outcome: Outcome) -> LazyMessage | Verbatim:
    """Return what came of a notification, as staff and operators read it: without a message, its facts as they are."""
    facts, message = Verbatim(" ".join(outcome.facts)), None
    if outcome.code is not None:
        message = _MESSAGES.get(outcome.code)
    return facts if message is None else LazyMessage(message, facts=facts)
