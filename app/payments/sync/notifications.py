"""The gateway notifies us: verify, keep, answer; and make something of it afterwards (laws of money, 6)."""

from datetime import datetime, timedelta
from enum import Enum, auto

import structlog

from app import telemetry
from app.db.aggregates import PaymentAggregate
from app.db.inbox import NOTIFICATIONS, Processed, StoredNotification, Trouble
from app.db.tables import Kind, Operation
from app.db.vault import VaultError
from app.gateway.errors import ForgedNotificationError, UnreadableNotificationError
from app.gateway.notification import SignedButUnreadableError, read_data, read_notification
from app.i18n.messages import LazyMessage
from app.payments.core.apply import apply, raise_problem
from app.payments.core.mapper import Observation
from app.payments.core.observation import Shown, seen_in
from app.payments.core.problems import ADDRESS, SEALED, UNREADABLE, clear, has_problem
from app.payments.services import Services

log = structlog.get_logger(__name__)

_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=30)

UNMATCHED = "no payment of ours has this order"
_SEALED = "no key opens it"
_CANNOT_BE_READ = "signed by the gateway, but it cannot be read"
_KEPT_NO_LONGER = "its content is kept no longer"
CANNOT_BE_OPENED = LazyMessage(
    "A notification of the gateway cannot be opened: the secret key that it was sealed with is not in the key file. "
    "It is tried again until somebody puts the key back."
)


_UNREADABLE_WORDS = LazyMessage(
    "The gateway shows operations of this payment that the app cannot read, so money may have moved that it does not "
    "know of. Compare this payment with the merchant portal."
)


class Receipt(Enum):
    """What became of a notification at the door."""

    KEPT = auto()
    REPEATED = auto()
    UNKNOWN_ACCOUNT = auto()
    FORGED = auto()
    UNREADABLE = auto()
    UNVERIFIED = auto()  # the account's keys do not open: whoever sends it must send it again


async def receive(services: Services, account_id: str, form: bytes) -> Receipt:
    """Verify a notification over the bytes received, and keep it durably before anything else is done with it."""
    account = await services.accounts.find(account_id)
    if account is None:
        return Receipt.UNKNOWN_ACCOUNT
    try:
        secrets = services.gateways.credentials(account).webhook_secrets
    except VaultError as error:
        log.error("notification not verified", account=account_id, error=str(error))  # noqa: TRY400 - the words suffice
        return Receipt.UNVERIFIED
    try:
        notification = read_notification(form, secrets)
    except ForgedNotificationError:
        telemetry.happened(telemetry.Happening.SIGNATURE_REFUSED, sender="gateway")
        log.warning("forged notification", account=account_id)
        return Receipt.FORGED
    except UnreadableNotificationError as error:
        log.error("unreadable notification", account=account_id, error=str(error))  # noqa: TRY400 - the words suffice
        if isinstance(error, SignedButUnreadableError):  # the gateway's own word: a person must see it
            await services.inbox.keep(
                account_id=account_id,
                digest=error.digest,
                data=error.data,
                order_id="",
                now=services.now(),
                came_to_nothing=(_CANNOT_BE_READ, Trouble.UNREADABLE),
            )
        return Receipt.UNREADABLE
    fresh = await services.inbox.keep(
        account_id=account_id,
        digest=notification.digest,
        data=notification.data,
        order_id=notification.record.order_id,
        now=services.now(),
    )
    services.wake(NOTIFICATIONS)
    return Receipt.KEPT if fresh else Receipt.REPEATED


async def process(services: Services, notification_id: int) -> str | None:
    """Post a kept notification to its payment and return what came of it, in words.

    If that fails it is kept, to be tried again later, and None is returned.
    """
    posted: list[PaymentAggregate] = []

    def decide(notification: StoredNotification, payment: PaymentAggregate | None) -> Processed:
        posted[:] = [] if payment is None else [payment]
        return _post(services, notification, payment)

    try:
        processed = await services.inbox.process(notification_id, decide, services.now())
    except Exception as error:
        log.exception("notification not processed", notification=notification_id, error=type(error).__name__)
        until = _tried_again_at(services, (await services.inbox.get(notification_id)).attempts)
        reason = type(error).__name__
        await services.inbox.postpone(notification_id, reason=reason, until=until, trouble=Trouble.FAILED)
        return None
    services.wake_for(posted)
    if processed.again_at is not None:
        log.error("notification not opened", notification=notification_id)
        return None
    _log_processed(notification_id, processed, *posted)
    return processed.outcome


def _log_processed(notification_id: int, processed: Processed, payment: PaymentAggregate | None = None) -> None:
    """Say what came of it in the trace of the operation that it tells of, and name the one in which it came."""
    operation = None if payment is None or processed.operation is None else processed.operation
    came_in = telemetry.trace_id()
    with telemetry.tracing((None if operation is None else operation.trace_id) or came_in) as trace:
        log.info(
            "notification processed",
            notification=notification_id,
            payment=None if payment is None else payment.payment.order_id,
            operation=None if operation is None else operation.id,
            outcome=processed.outcome,
            linked_traces=[came_in] if came_in not in {None, trace.id} else [],
        )


def _post(services: Services, notification: StoredNotification, payment: PaymentAggregate | None) -> Processed:
    now = services.now()
    if not notification.kept:  # it was processed long ago, and its content was erased since
        return Processed(notification.outcome or _KEPT_NO_LONGER)
    if notification.data is None:
        if payment is not None:
            raise_problem(payment, CANNOT_BE_OPENED, now, cause=SEALED)
        return Processed(_SEALED, Trouble.SEALED, again_at=_tried_again_at(services, notification.attempts))
    try:
        record = read_data(notification.data)
    except UnreadableNotificationError:
        return Processed(_CANNOT_BE_READ, Trouble.UNREADABLE)
    if payment is None:
        return Processed(UNMATCHED, Trouble.UNMATCHED)
    seen = seen_in(record, payment.payment.language)
    if seen is None:
        return Processed(f"nothing to do for {record.method}")
    clear(payment.payment, SEALED, now)
    posting = services.posting(alone=True)
    apply(payment, payment.payment.account.pos_id, [seen], posting)
    if has_problem(payment.payment, ADDRESS) and payment.create.next_poll_at is None:
        # Something else answered our call, and yet the gateway has told the outcome: one look tells whether it
        # answers there again, so that the problem ends by itself (laws of money, 13).
        payment.create.next_poll_at = services.schedule.after_end(now)
    return Processed(f"{seen.kind.value} {seen.state.value}", operation=_told_of(payment, seen))


def _told_of(payment: PaymentAggregate, seen: Observation) -> Operation | None:
    """Return the operation that a notification has told of."""
    if seen.kind is Kind.CREATE:
        return payment.create
    return next((each for each in payment.operations if each.operation_id == seen.gateway_id), None)


def _tried_again_at(services: Services, attempts: int) -> datetime:
    return services.now() + services.schedule.pause(_FIRST_PAUSE, attempts, _LONGEST_PAUSE)


def mind_unreadable(aggregate: PaymentAggregate, shown: Shown, now: datetime) -> None:
    """Raise a problem while a look-up shows records that cannot be read, and clear it when all of them can be."""
    if not shown.unreadable:
        clear(aggregate.payment, UNREADABLE, now)
    else:
        raise_problem(aggregate, _UNREADABLE_WORDS, now, cause=UNREADABLE)
