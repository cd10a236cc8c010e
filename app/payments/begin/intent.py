"""The intent of a payment: everything that the gateway is about to be asked, committed before it is asked."""

from datetime import datetime

from sqlalchemy.exc import IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from app.gateway.models.payments import Payment as Request
from app.ledger.installations import OpenInstallation
from app.ledger.tables import Kind, Mode, Operation, Payment, State
from app.payments.desk import Desk
from app.payments.plan.terms import Terms
from app.payments.split.planning import keep_shares
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession


async def record_intent(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    terms: Terms,
    request: Request,
    *,
    expires_at: datetime | None,
) -> int | None:
    """Commit what is about to be asked (laws of money, 1); return the row id of the operation.

    None when another delivery of the same webhook was faster (4).
    """
    now = desk.now()
    payment = Payment(
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
    try:
        async with desk.database.transaction() as session:
            session.add(payment)
            await session.flush()
            operation = await add_creation(session, desk, payment, request, key="create")
            return operation.id
    except IntegrityError:
        return None


async def add_creation(session: AsyncSession, desk: Desk, payment: Payment, request: Request, *, key: str) -> Operation:
    """Add to a stored payment the intent to create it at the gateway. ``key`` tells its attempts apart."""
    assert payment.id is not None  # noqa: S101 - stored
    now = desk.now()
    operation = Operation(
        payment_id=payment.id,
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
    session.add(operation)
    await session.flush()
    await keep_shares(session, operation)
    return operation
