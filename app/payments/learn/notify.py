"""The gateway notifies us: verify, keep, answer; and make something of it afterwards (laws of money, 6)."""

from datetime import timedelta
from enum import Enum, auto

import structlog

from app.gateway.errors import ForgedNotification, UnreadableNotification
from app.gateway.notification import SignedButUnreadable, read_data, read_notification
from app.ledger.inbox import NOTIFICATIONS, Kept, Trouble
from app.ledger.outbox import EVENTS
from app.ledger.sheets import ATTEMPTS, LOOKS, load_by_order
from app.ledger.vault import VaultError
from app.payments.desk import Desk
from app.payments.outcome.apply import Posting, apply, raise_problem
from app.payments.outcome.problems import ADDRESS, SEALED, clear, open_problems
from app.payments.outcome.seen import seen_in
from app.payments.said import Said

log = structlog.get_logger(__name__)

_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=30)

UNMATCHED = "no payment of ours has this order"
UNREADABLE = "signed by the gateway, but it cannot be read"
CANNOT_BE_OPENED = Said(
    "A notification of the gateway cannot be opened: the secret key that it was sealed with is not in the key file. "
    "It is tried again until somebody puts the key back."
)


class SealedNotification(Exception):  # noqa: N818 - named after what it is
    """No key of ours opens it."""


class Receipt(Enum):
    """What became of a notification at the door."""

    KEPT = auto()
    REPEATED = auto()
    UNKNOWN_ACCOUNT = auto()
    FORGED = auto()
    UNREADABLE = auto()
    UNVERIFIED = auto()  # the account's keys do not open: whoever sends it must send it again


async def receive(desk: Desk, account_id: str, form: bytes) -> Receipt:
    """Verify a notification over the bytes received, and keep it durably before anything else is done with it."""
    account = await desk.accounts.find(account_id)
    if account is None:
        return Receipt.UNKNOWN_ACCOUNT
    try:
        secrets = desk.gateways.credentials(account).webhook_secrets
    except VaultError as error:
        log.error("notification not verified", account=account_id, error=str(error))  # noqa: TRY400 - the words suffice
        return Receipt.UNVERIFIED
    try:
        notification = read_notification(form, secrets)
    except ForgedNotification:
        log.warning("forged notification", account=account_id)
        return Receipt.FORGED
    except UnreadableNotification as error:
        log.error("unreadable notification", account=account_id, error=str(error))  # noqa: TRY400 - the words suffice
        if isinstance(error, SignedButUnreadable):  # the gateway's own word: a person must see it
            await desk.inbox.keep(
                account_id=account_id,
                digest=error.digest,
                data=error.data,
                order_id="",
                now=desk.now(),
                came_to_nothing=(UNREADABLE, Trouble.UNREADABLE),
            )
        return Receipt.UNREADABLE
    fresh = await desk.inbox.keep(
        account_id=account_id,
        digest=notification.digest,
        data=notification.data,
        order_id=notification.record.order_id,
        now=desk.now(),
    )
    desk.wake(NOTIFICATIONS)
    return Receipt.KEPT if fresh else Receipt.REPEATED


async def digest(desk: Desk, notification_id: int) -> str | None:
    """Post a kept notification to its payment's sheet and return what came of it, in words.

    If that fails it is kept, to be tried again later, and None is returned.
    """
    notification = await desk.inbox.get(notification_id)
    try:
        outcome = await _post(desk, notification)
    except UnreadableNotification:
        await desk.inbox.settle(notification.id, outcome=UNREADABLE, now=desk.now(), trouble=Trouble.UNREADABLE)
        return UNREADABLE
    except Exception as error:
        about = {"notification": notification_id, "order_id": notification.order_id, "why": type(error).__name__}
        log.exception("notification not processed", **about, exc_info=notification.data is not None)
        pause = desk.schedule.pause(_FIRST_PAUSE, notification.attempts, _LONGEST_PAUSE)
        why = Trouble.SEALED if isinstance(error, SealedNotification) else Trouble.FAILED
        reason, until = type(error).__name__, desk.now() + pause
        await desk.inbox.postpone(notification_id, reason=reason, until=until, trouble=why)
        return None
    trouble = Trouble.UNMATCHED if outcome == UNMATCHED else None
    await desk.inbox.settle(notification_id, outcome=outcome, now=desk.now(), trouble=trouble)
    desk.wake(LOOKS, EVENTS, ATTEMPTS)
    return outcome


async def _post(desk: Desk, notification: Kept) -> str:
    if notification.data is None:
        await _tell_staff(desk, notification)
        raise SealedNotification
    record = read_data(notification.data)
    account = await desk.accounts.find(notification.account_id)
    assert account is not None  # noqa: S101 - a notification refers to its account
    async with desk.database.transaction() as session:
        sheet = await load_by_order(session, record.order_id, account_id=account.id)
        if sheet is None:
            return UNMATCHED
        seen = seen_in(record, sheet.payment.language)
        if seen is None:
            return f"nothing to do for {record.method}"
        clear(sheet.payment, SEALED)
        apply(sheet, account.pos_id, [seen], Posting(now=desk.now(), schedule=desk.schedule, alone=True))
        if ADDRESS in open_problems(sheet.payment) and sheet.create.next_look_at is None:
            # Something else answered our call, and yet the gateway has told the outcome: one look tells whether it
            # answers there again, so that the problem ends by itself (laws of money, 13).
            sheet.create.next_look_at = desk.schedule.after_end(desk.now())
        session.add_all([*sheet.operations, *sheet.events])
    return f"{seen.kind.value} {seen.state.value}"


async def _tell_staff(desk: Desk, notification: Kept) -> None:
    async with desk.database.transaction() as session:
        sheet = await load_by_order(session, notification.order_id, account_id=notification.account_id)
        if sheet is not None:
            raise_problem(sheet, CANNOT_BE_OPENED, desk.now(), cause=SEALED)
            session.add_all(sheet.events)
