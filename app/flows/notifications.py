"""Gateway notifications: verified, stored and answered at once; processed afterwards (laws of money, 6)."""

from enum import Enum, auto

import structlog

from app.core.alerts import AlertKind
from app.core.notification import Outcome, OutcomeCode, ProcessingResult, StoredNotification
from app.rules.decisions.notification import NotificationReceived, next_attempt_at, outcome_message
from app.rules.dialects import dialect_of
from app.services import Services
from app.store.vault import VaultError
from gateway_client.errors import ForgedNotificationError, InvalidRequestError, UnreadableNotificationError
from gateway_client.notification import SignedButUnreadableError, read_notification
from integration_base import telemetry

log = structlog.get_logger(__name__)


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
    except (VaultError, InvalidRequestError) as error:
        log.error("notification.not_verified", account=account_id, error=str(error))  # noqa: TRY400 - the message suffices
        return Receipt.UNVERIFIED
    try:
        notification = read_notification(form, secrets, dialect_of(account).zone)
    except ForgedNotificationError:
        telemetry.emit(telemetry.TelemetryEvent.SIGNATURE_REFUSED, sender="gateway")
        log.warning("notification.refused", account=account_id)
        return Receipt.FORGED
    except UnreadableNotificationError as error:
        log.error("notification.not_read", account=account_id, error=str(error))  # noqa: TRY400 - the message suffices
        if isinstance(error, SignedButUnreadableError):  # genuine: a person must see it
            await services.inbox.store(
                account_id=account_id,
                digest=error.digest,
                data=error.data,
                order_id="",
                now=services.now(),
                unprocessable=(Outcome(OutcomeCode.UNREADABLE), AlertKind.UNREADABLE),
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


async def process(services: Services, notification_id: int, known: StoredNotification | None = None) -> str | None:
    """Post a stored notification to its payment and return the outcome as text.

    ``known``: it was stored as claimed just now, and need not be read again.

    If that fails, the notification stays in the inbox to be retried later, and None is returned.
    """
    context = services.decision_context(is_single_record=True)
    try:
        processed = await services.inbox.process(notification_id, NotificationReceived(context), context.now, known)
    except Exception as error:
        reason = type(error).__name__
        log.exception("notification.not_processed", notification=notification_id, error=reason)
        until = next_attempt_at(services.decision_context(), (await services.inbox.get(notification_id)).attempts)
        outcome = Outcome(OutcomeCode.FAILED, (reason,))
        await services.inbox.postpone(notification_id, outcome=outcome, until=until, trouble=AlertKind.FAILED)
        return None
    if processed.retry_at is not None:
        log.error("notification.not_opened", notification=notification_id)
        return None
    _log_processed(notification_id, processed)
    return outcome_message(processed.outcome)


def _log_processed(notification_id: int, processed: ProcessingResult) -> None:
    """Log the outcome in the trace of the notified operation, and link the trace in which the notification arrived."""
    operation = processed.operation
    own_trace = telemetry.current_trace_id()
    with telemetry.tracing((None if operation is None else operation.trace_id) or own_trace) as trace:
        log.info(
            "notification.processed",
            notification=notification_id,
            payment=processed.order_id,
            operation=None if operation is None else operation.id,
            outcome=processed.outcome.stored,
            linked_traces=[own_trace] if own_trace not in {None, trace.id} else [],
        )
