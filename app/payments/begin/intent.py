"""The intent of a payment: everything that the gateway is about to be asked, committed before it is asked."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeAlias

import structlog
from sqlalchemy.exc import IntegrityError

from app.gateway.models.payments import Payment as Request
from app.ledger.begun import Intent, Others, insert_intents
from app.ledger.errors import CommitUnknownError
from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet, load_by_transaction, row_id_of
from app.ledger.tables import Kind, Mode, Operation, Payment, State
from app.payments.begin.attempts import join
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.plan.terms import Terms
from app.payments.refusal import Refusal
from app.payments.split.planning import shares_said
from app.saleor.events import SessionEvent, TransactionInitializeSession, TransactionProcessSession

log = structlog.get_logger(__name__)

Objection: TypeAlias = Callable[[Payment, Sequence[Sheet]], Exception | None]


async def record_intent(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    terms: Terms,
    request: Request,
    *,
    expires_at: datetime | None,
    deadline: Deadline,
) -> Sheet | None:
    """Commit what is about to be asked (laws of money, 1); return the sheet of it.

    None when another delivery of the same webhook was faster (4). Raises Refusal when another attempt to pay the same
    covers it (12), which is decided under the locks of all attempts. Raises TimeoutError: what is not recorded in time
    is not asked for, as it was answered otherwise meanwhile (11).
    """
    now = desk.now()
    payment = partial(
        Payment,
        installation_id=installation.id,
        account_id=terms.account.id,
        transaction_id=event.transaction.id,
        order_id=request.order_id,
        flow=terms.flow,
        mode=Mode(request.mode.value),
        amount=request.amount,
        currency=request.currency,
        channel=event.source.channel.slug,
        source_id=event.source.id,
        order_number=terms.order_number,
        email_digest=desk.emails.kept(installation.id, request.customer_email),
        language=terms.language,
        return_url=desk.personal.seal_return_url(event.transaction.id, terms.return_url),
        expires_at=expires_at,
        created_at=now,
        updated_at=now,
    )

    def objection(newest: Payment, others: Sequence[Sheet]) -> Refusal | None:
        return join(newest, others, event.source)

    async with asyncio.timeout(deadline.left):
        return await commit_intent(desk, payment, request, others=others_of(event), objection=objection)


def others_of(event: SessionEvent) -> Others:
    """Return what shows that another payment is an attempt to pay what the session is about."""
    listed = [each.id for each in event.source.transactions]
    return Others(event.source.id, [event.transaction.id, *listed])


async def commit_intent(
    desk: Desk,
    payment: Callable[[], Payment],
    request: Request,
    *,
    by: str | None = None,
    others: Others | None = None,
    objection: Objection | None = None,
) -> Sheet | None:
    """Commit a payment, made by ``payment``, and what is about to be asked of it; ``by``: who of the staff wants it.

    ``objection`` is asked before with the ``others`` that pay the same; what it returns is raised.
    None when it was recorded before. Where the connection broke in the commit, what is in the database is the answer.
    """
    made: list[Payment] = []

    def stored() -> Payment:
        made.append(payment())
        return made[-1]

    def creation(stored: Payment) -> Operation:
        operation = creation_of(desk, stored, request)
        operation.asked_by = by
        return operation

    intent = Intent(stored, creation, shares_said, others, objection)
    try:
        return _made(await desk.database.together(insert_intents, intent))
    except IntegrityError:
        # The same webhook once more is one thing, an order id that another store has is another.
        if not await _is_recorded(desk, made[0]):
            raise
        return None
    except CommitUnknownError:
        log.warning("nobody knows whether an intent is committed: it is tried again, and read if it is there")
    try:
        return _made(await desk.database.together(insert_intents, intent))
    except IntegrityError:
        return await _committed_by_us(desk, made[0])


def _made(found: Sheet | Exception) -> Sheet:
    if isinstance(found, Exception):
        raise found
    return found


async def _is_recorded(desk: Desk, payment: Payment) -> bool:
    """Return True when the transaction of an intent that could not be inserted has a payment in its store."""
    async with desk.database.transaction() as session:
        return await load_by_transaction(session, payment.installation_id, payment.transaction_id) is not None


async def _committed_by_us(desk: Desk, payment: Payment) -> Sheet | None:
    """Return the sheet of an intent that is there if it is this one, and not that of another delivery (4)."""
    async with desk.database.transaction() as session:
        sheet = await load_by_transaction(session, payment.installation_id, payment.transaction_id)
    ours = sheet is not None and sheet.payment.created_at == payment.created_at and sheet.create.state is State.INTENT
    return sheet if ours else None


def creation_of(desk: Desk, payment: Payment, request: Request) -> Operation:
    """Return the intent to create a stored payment at the gateway."""
    now = desk.now()
    told, personal_sealed = desk.personal.sealed(payment.transaction_id, request.kept())
    return Operation(
        payment_id=row_id_of(payment),
        kind=Kind.CREATE,
        idempotency_key="create",
        state=State.INTENT,
        amount=request.amount,
        currency=request.currency,
        request=told,
        personal_sealed=personal_sealed,
        next_look_at=desk.schedule.after_intent(now),
        created_at=now,
        updated_at=now,
    )
