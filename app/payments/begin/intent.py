"""The intent of a payment: everything that the gateway is about to be asked, committed before it is asked."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from sqlalchemy.exc import IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from app.gateway.models.payments import Payment as Request
from app.ledger.begun import Intent, insert_intents
from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet, row_id_of
from app.ledger.tables import Kind, Mode, Operation, Payment, State
from app.payments.desk import Desk
from app.payments.plan.terms import Terms
from app.payments.split.planning import keep_shares, shares_said
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession


async def record_intent(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    terms: Terms,
    request: Request,
    *,
    expires_at: datetime | None,
) -> Sheet | None:
    """Commit what is about to be asked (laws of money, 1); return the sheet of it.

    None when another delivery of the same webhook was faster (4).
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
        return_url=terms.return_url,
        expires_at=expires_at,
        created_at=now,
        updated_at=now,
    )
    return await commit_intent(desk, payment, request)


async def commit_intent(
    desk: Desk, payment: Callable[[], Payment], request: Request, *, by: str | None = None
) -> Sheet | None:
    """Commit a payment, made by ``payment``, and what is about to be asked of it; ``by``: who of the staff wants it.

    None when it was recorded before.
    """

    def creation(stored: Payment) -> Operation:
        operation = creation_of(desk, stored, request, key="create")
        operation.asked_by = by
        return operation

    try:
        return await desk.database.together(insert_intents, Intent(payment, creation, shares_said))
    except IntegrityError:
        return None


async def add_creation(session: AsyncSession, desk: Desk, sheet: Sheet, request: Request, *, key: str) -> None:
    """Add the intent of another attempt to create a stored payment at the gateway to its sheet."""
    operation = creation_of(desk, sheet.payment, request, key=key)
    session.add(operation)
    sheet.operations.append(operation)
    await session.flush()
    await keep_shares(session, operation, sheet)


def creation_of(desk: Desk, payment: Payment, request: Request, *, key: str) -> Operation:
    """Return the intent to create a stored payment at the gateway. ``key`` tells its attempts apart."""
    now = desk.now()
    return Operation(
        payment_id=row_id_of(payment),
        kind=Kind.CREATE,
        idempotency_key=key,
        state=State.INTENT,
        amount=request.amount,
        currency=request.currency,
        request=request.kept(),
        next_look_at=desk.schedule.after_intent(now),
        created_at=now,
        updated_at=now,
    )
