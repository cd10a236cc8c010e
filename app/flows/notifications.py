"""Gateway notifications: verified, stored and answered at once; processed afterwards (laws of money, 6)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import Enum, auto

import structlog

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Kind
from app.rules.apply import apply
from app.rules.dialects import dialect_of
from app.rules.issues import Issue, IssueCode
from app.rules.mapper import Observation
from app.rules.observation import observation_from_record, unexplained_money
from app.rules.posting import flag_unexplained, raise_problem
from app.rules.problems import ADDRESS, SEALED, clear_problem, has_problem
from app.rules.subscription import is_of_unknown_payment
from app.services import Services
from app.store.inbox import OF_OTHERS, ProcessingResult, StoredNotification, Trouble
from app.store.vault import VaultError
from gateway_client.errors import ForgedNotificationError, UnreadableNotificationError
from gateway_client.notification import SignedButUnreadableError, read_data, read_notification
from integration_base import telemetry

log = structlog.get_logger(__name__)

_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=30)

UNMATCHED = "no payment of ours has this order"  # stored, and found by it (``--unmatched``): do not reword
_NO_KEY = "no key decrypts it"
_CANNOT_BE_READ = "signed by the gateway, but it cannot be read"
_CONTENT_ERASED = "its content is no longer stored"


class Receipt(Enum):
    """The result of receiving a notification."""

    KEPT = auto()
    REPEATED = auto()
    UNKNOWN_ACCOUNT = auto()
    FORGED = auto()
    UNREADABLE = auto()
    UNVERIFIED = auto()  # the account's keys do not open: the sender must send it again


async def receive(services: Services, account_id: str, form: bytes) -> Receipt:
    """Verify a notification over the bytes received, and store it durably before anything else is done with it."""
    account = await services.accounts.find(account_id)
    if account is None:
        return Receipt.UNKNOWN_ACCOUNT
    try:
        secrets = services.gateways.credentials(account).webhook_secrets
    except VaultError as error:
        log.error("notification not verified", account=account_id, error=str(error))  # noqa: TRY400 - the message suffices
        return Receipt.UNVERIFIED
    try:
        notification = read_notification(form, secrets, dialect_of(account).zone)
    except ForgedNotificationError:
        telemetry.emit(telemetry.TelemetryEvent.SIGNATURE_REFUSED, sender="gateway")
        log.warning("forged notification", account=account_id)
        return Receipt.FORGED
    except UnreadableNotificationError as error:
        log.error("unreadable notification", account=account_id, error=str(error))  # noqa: TRY400 - the message suffices
        if isinstance(error, SignedButUnreadableError):  # genuine: a person must see it
            await services.inbox.store(
                account_id=account_id,
                digest=error.digest,
                data=error.data,
                order_id="",
                now=services.now(),
                unprocessable=(_CANNOT_BE_READ, Trouble.UNREADABLE),
            )
        return Receipt.UNREADABLE
    is_new = await services.inbox.store(
        account_id=account_id,
        digest=notification.digest,
        data=notification.data,
        order_id=notification.record.order_id,
        now=services.now(),
    )
    return Receipt.KEPT if is_new else Receipt.REPEATED


async def process(services: Services, notification_id: int) -> str | None:
    """Post a stored notification to its payment and return the outcome as text.

    If that fails, the notification stays in the inbox to be retried later, and None is returned.
    """
    posted: list[PaymentAggregate] = []

    def decide(notification: StoredNotification, payment: PaymentAggregate | None) -> ProcessingResult:
        posted[:] = [] if payment is None else [payment]
        return _post(services, notification, payment)

    try:
        processed = await services.inbox.process(notification_id, decide, services.now())
    except Exception as error:
        log.exception("notification not processed", notification=notification_id, error=type(error).__name__)
        until = _next_attempt_at(services, (await services.inbox.get(notification_id)).attempts)
        reason = type(error).__name__
        await services.inbox.postpone(notification_id, reason=reason, until=until, trouble=Trouble.FAILED)
        return None
    if processed.retry_at is not None:
        log.error("notification not opened", notification=notification_id)
        return None
    _log_processed(notification_id, processed, *posted)
    return processed.outcome


def _log_processed(notification_id: int, processed: ProcessingResult, payment: PaymentAggregate | None = None) -> None:
    """Log the outcome in the trace of the notified operation, and link the trace in which the notification arrived."""
    operation = None if payment is None or processed.operation is None else processed.operation
    own_trace = telemetry.current_trace_id()
    with telemetry.tracing((None if operation is None else operation.trace_id) or own_trace) as trace:
        log.info(
            "notification processed",
            notification=notification_id,
            payment=None if payment is None else payment.payment.order_id,
            operation=None if operation is None else operation.id,
            outcome=processed.outcome,
            linked_traces=[own_trace] if own_trace not in {None, trace.id} else [],
        )


def _post(services: Services, notification: StoredNotification, payment: PaymentAggregate | None) -> ProcessingResult:
    now = services.now()
    if not notification.retained:  # processed long ago, and its content has been erased since
        return ProcessingResult(notification.outcome or _CONTENT_ERASED)
    if notification.data is None:
        if payment is not None:
            raise_problem(payment, Issue(IssueCode.NOT_DECRYPTED), now, cause=SEALED)
        return ProcessingResult(_NO_KEY, Trouble.SEALED, retry_at=_next_attempt_at(services, notification.attempts))
    try:
        record = read_data(notification.data, UTC if payment is None else dialect_of(payment.payment.account).zone)
    except UnreadableNotificationError:
        return ProcessingResult(_CANNOT_BE_READ, Trouble.UNREADABLE)
    if payment is None:
        of_others, unmatched = ProcessingResult(OF_OTHERS), ProcessingResult(UNMATCHED, Trouble.UNMATCHED)
        return of_others if notification.is_of_others else unmatched
    seen = observation_from_record(record, payment.payment.language)
    if seen is None:
        money = unexplained_money(record)
        if money is not None:
            flag_unexplained(payment, money, now)
        return ProcessingResult(f"{'nothing to do for' if money is None else 'for review:'} {record.method}")
    clear_problem(payment.payment, SEALED, now)
    posting = replace(services.posting(is_single_record=True), arrived_at=notification.received_at)
    apply(payment, payment.payment.account.pos_id, [seen], posting)
    if has_problem(payment.payment, ADDRESS) and payment.create.next_poll_at is None:
        # Something other than the gateway answered our call, yet the gateway reports the outcome: one look-up shows
        # whether it answers at that address again, so that the problem is cleared by itself (laws of money, 13).
        payment.create.next_poll_at = services.schedule.next_order_look_up(now)
    operation = _find_operation(payment, seen)
    is_unbooked = operation is None and is_of_unknown_payment(payment, seen.payment_id, seen.kind)
    return ProcessingResult(
        f"{'for review: ' if is_unbooked else ''}{seen.kind.value} {seen.state.value}", operation=operation
    )


def _find_operation(payment: PaymentAggregate, seen: Observation) -> Operation | None:
    """Return the operation that a notification is about."""
    if seen.kind is Kind.CREATE:
        return payment.create
    return next((each for each in payment.operations if each.operation_id == seen.gateway_id), None)


def _next_attempt_at(services: Services, attempts: int) -> datetime:
    return services.now() + services.schedule.pause(_FIRST_PAUSE, attempts, _LONGEST_PAUSE)
