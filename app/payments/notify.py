"""The gateway notifies us: verify, keep, answer; and make something of it afterwards (laws of money, 6)."""

from datetime import timedelta
from enum import Enum, auto

import structlog

from app.gateway.errors import ForgedNotification, UnreadableNotification
from app.gateway.notification import read_data, read_notification
from app.ledger.inbox import Kept
from app.ledger.sheets import load_by_order
from app.payments.apply import Posting, apply
from app.payments.desk import Desk
from app.payments.seen import seen_in

log = structlog.get_logger(__name__)

_LONGEST_PAUSE = timedelta(minutes=30)


class Receipt(Enum):
    """What became of a notification at the door."""

    KEPT = auto()
    REPEATED = auto()
    UNKNOWN_ACCOUNT = auto()
    FORGED = auto()
    UNREADABLE = auto()


async def receive(desk: Desk, account_id: str, form: bytes) -> Receipt:
    """Verify a notification over the bytes received, and keep it durably before anything else is done with it."""
    account = await desk.accounts.find(account_id)
    if account is None:
        return Receipt.UNKNOWN_ACCOUNT
    try:
        notification = read_notification(form, desk.gateways.credentials(account).webhook_secrets)
    except ForgedNotification:
        log.warning("forged notification", account=account_id)
        return Receipt.FORGED
    except UnreadableNotification as error:
        log.error("unreadable notification", account=account_id, error=str(error))  # noqa: TRY400 - the words suffice
        return Receipt.UNREADABLE
    fresh = await desk.inbox.keep(
        account_id=account_id,
        digest=notification.digest,
        data=notification.data,
        order_id=notification.record.order_id,
        now=desk.now(),
    )
    desk.wake()
    return Receipt.KEPT if fresh else Receipt.REPEATED


async def digest(desk: Desk, notification: Kept) -> None:
    """Post a kept notification to its payment's sheet. If that fails it is kept, and tried again later."""
    try:
        outcome = await _post(desk, notification)
    except Exception as error:
        log.exception("notification not processed", notification=notification.id, order_id=notification.order_id)
        pause = min(timedelta(seconds=2) * (1 << min(notification.attempts, 20)), _LONGEST_PAUSE)
        await desk.inbox.postpone(notification.id, reason=type(error).__name__, until=desk.now() + pause)
        return
    await desk.inbox.settle(notification.id, outcome=outcome, now=desk.now())
    desk.wake()


async def _post(desk: Desk, notification: Kept) -> str:
    record = read_data(notification.data)
    account = await desk.accounts.find(notification.account_id)
    assert account is not None  # noqa: S101 - a notification refers to its account
    async with desk.database.transaction() as session:
        sheet = await load_by_order(session, record.order_id, account_id=account.id)
        if sheet is None:
            return "no payment of ours has this order"
        seen = seen_in(record, sheet.payment.language)
        if seen is None:
            return f"nothing to do for {record.method}"
        apply(sheet, account.pos_id, [seen], Posting(now=desk.now(), schedule=desk.schedule))
        session.add_all([*sheet.operations, *sheet.events])
    return f"{seen.kind.value} {seen.state.value}"
