"""The gateway notifies us: verify, keep, answer; and make something of it afterwards (laws of money, 6)."""

from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum, auto

import structlog

from app.db.aggregates import ATTEMPTS, POLLS, PaymentAggregate
from app.db.inbox import NOTIFICATIONS, StoredNotification, Trouble
from app.db.outbox import EVENTS
from app.db.repository import ByOrder, PaymentNotFoundError
from app.db.vault import VaultError
from app.gateway.errors import ForgedNotificationError, UnreadableNotificationError
from app.gateway.notification import SignedButUnreadableError, read_data, read_notification
from app.i18n.messages import LazyMessage
from app.payments.core.apply import Posting, apply, raise_problem
from app.payments.core.observation import Shown, seen_in
from app.payments.core.problems import ADDRESS, SEALED, UNREADABLE, clear, has_problem
from app.payments.services import Services

log = structlog.get_logger(__name__)

_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=30)

UNMATCHED = "no payment of ours has this order"
_CANNOT_BE_READ = "signed by the gateway, but it cannot be read"
CANNOT_BE_OPENED = LazyMessage(
    "A notification of the gateway cannot be opened: the secret key that it was sealed with is not in the key file. "
    "It is tried again until somebody puts the key back."
)


_UNREADABLE_WORDS = LazyMessage(
    "The gateway shows operations of this payment that the app cannot read, so money may have moved that it does not "
    "know of. Compare this payment with the merchant portal."
)


class SealedNotificationError(Exception):
    """No key of ours opens it."""


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


async def digest(services: Services, notification_id: int) -> str | None:
    """Post a kept notification to its payment's aggregate and return what came of it, in words.

    If that fails it is kept, to be tried again later, and None is returned.
    """
    notification = await services.inbox.get(notification_id)
    try:
        outcome = await _post(services, notification)
    except UnreadableNotificationError:
        await services.inbox.settle(
            notification.id, outcome=_CANNOT_BE_READ, now=services.now(), trouble=Trouble.UNREADABLE
        )
        return _CANNOT_BE_READ
    except Exception as error:
        about = {"notification": notification_id, "order_id": notification.order_id, "why": type(error).__name__}
        log.exception("notification not processed", **about, exc_info=notification.data is not None)
        pause = services.schedule.pause(_FIRST_PAUSE, notification.attempts, _LONGEST_PAUSE)
        why = Trouble.SEALED if isinstance(error, SealedNotificationError) else Trouble.FAILED
        reason, until = type(error).__name__, services.now() + pause
        await services.inbox.postpone(notification_id, reason=reason, until=until, trouble=why)
        return None
    trouble = Trouble.UNMATCHED if outcome == UNMATCHED else None
    await services.inbox.settle(notification_id, outcome=outcome, now=services.now(), trouble=trouble)
    services.wake(POLLS, EVENTS, ATTEMPTS)
    return outcome


async def _post(services: Services, notification: StoredNotification) -> str:
    if notification.data is None:
        await _tell_staff(services, notification)
        raise SealedNotificationError
    record = read_data(notification.data)
    account = await services.accounts.find(notification.account_id)
    assert account is not None  # noqa: S101 - a notification refers to its account
    now = services.now()

    def step(aggregate: PaymentAggregate) -> str:
        seen = seen_in(record, aggregate.payment.language)
        if seen is None:
            return f"nothing to do for {record.method}"
        clear(aggregate.payment, SEALED, now)
        apply(aggregate, account.pos_id, [seen], Posting(now=now, schedule=services.schedule, alone=True))
        if has_problem(aggregate.payment, ADDRESS) and aggregate.create.next_poll_at is None:
            # Something else answered our call, and yet the gateway has told the outcome: one look tells whether it
            # answers there again, so that the problem ends by itself (laws of money, 13).
            aggregate.create.next_poll_at = services.schedule.after_end(now)
        return f"{seen.kind.value} {seen.state.value}"

    try:
        return await services.payments.update(ByOrder(record.order_id, account_id=account.id), step)
    except PaymentNotFoundError:
        return UNMATCHED


async def _tell_staff(services: Services, notification: StoredNotification) -> None:
    which, now = ByOrder(notification.order_id, account_id=notification.account_id), services.now()
    with suppress(PaymentNotFoundError):
        await services.payments.update(
            which, lambda aggregate: raise_problem(aggregate, CANNOT_BE_OPENED, now, cause=SEALED)
        )


def mind_unreadable(aggregate: PaymentAggregate, shown: Shown, now: datetime) -> None:
    """Raise a problem while a look-up shows records that cannot be read, and clear it when all of them can be."""
    if not shown.unreadable:
        clear(aggregate.payment, UNREADABLE, now)
    else:
        raise_problem(aggregate, _UNREADABLE_WORDS, now, cause=UNREADABLE)
