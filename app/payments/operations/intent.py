"""The intent of a payment: everything that the gateway is about to be asked, committed before it is asked."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from app.db.aggregates import PaymentAggregate, row_id_of
from app.db.installations import OpenInstallation
from app.db.repository import NewPayment, SameDebt
from app.db.tables import Kind, Mode, Operation, Payment, State
from app.gateway.models.payments import Payment as Request
from app.payments.core.refusal import RefusalError
from app.payments.operations.competing_attempts import join
from app.payments.requests.payment import Terms
from app.payments.services import Services
from app.payments.split.planning import shares_said
from app.saleor.deadline import Deadline
from app.saleor.events import SessionEvent, TransactionInitializeSession, TransactionProcessSession


async def record_intent(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    terms: Terms,
    request: Request,
    *,
    expires_at: datetime | None,
    deadline: Deadline,
) -> PaymentAggregate | None:
    """Commit what is about to be asked (laws of money, 1); return the payment.

    None when another delivery of the same webhook was faster (4). Raises RefusalError when another attempt to pay the
    same covers it (12), which is decided under the locks of all attempts. Raises TimeoutError: what is not recorded in
    time is not asked for, as it was answered otherwise meanwhile (11).
    """
    now = services.now()
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
        email_digest=services.emails.kept(installation.id, request.customer_email),
        language=terms.language,
        return_url=services.personal.seal_return_url(event.transaction.id, terms.return_url),
        expires_at=expires_at,
        created_at=now,
        updated_at=now,
    )

    def objection(newest: Payment, others: Sequence[PaymentAggregate]) -> RefusalError | None:
        return join(newest, others, event.source)

    creation = partial(creation_of, services, request)
    debt = debt_of(installation, event)
    async with asyncio.timeout(deadline.left):
        return await services.payments.begin(NewPayment(payment, creation, shares_said, debt, objection))


def debt_of(installation: OpenInstallation, event: SessionEvent) -> SameDebt:
    """Return what shows that another payment is an attempt to pay what the session is about.

    Saleor's list of transactions follows a checkout into its order; where there is none, the id of the checkout or
    order must do.
    """
    listed = [each.id for each in event.source.transactions]
    return SameDebt(installation.id, event.source.id, [event.transaction.id, *listed])


def creation_of(services: Services, request: Request, payment: Payment, *, by: str | None = None) -> Operation:
    """Return the intent to create a stored payment at the gateway; ``by``: who of the staff wants it."""
    now = services.now()
    told, personal_sealed = services.personal.sealed(payment.transaction_id, request.kept())
    return Operation(
        payment_id=row_id_of(payment),
        kind=Kind.CREATE,
        idempotency_key="create",
        state=State.INTENT,
        amount=request.amount,
        currency=request.currency,
        request=told,
        personal_sealed=personal_sealed,
        asked_by=by,
        next_poll_at=services.schedule.after_intent(now),
        created_at=now,
        updated_at=now,
    )
