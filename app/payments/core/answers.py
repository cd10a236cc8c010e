"""From what is recorded of an operation to what Saleor is answered. Pure: the same state gives the same answer.

An answer is only an early copy of events that the outbox holds too (laws of money, 5).
"""

from datetime import datetime
from typing import Any

from app.db.aggregates import PaymentAggregate
from app.db.tables import Mode, Operation, Payment, State
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.payments.core.balance import balance
from app.payments.core.details import Details, from_kept
from app.payments.core.event_queue import success_must_wait
from app.payments.core.problems import disagrees, problem_words
from app.payments.core.refusal import DECLINED, RefusalError, shopper_words
from app.saleor.answers import (
    ActionAnswer,
    AvailableAction,
    PaymentMethod,
    SaidInSession,
    SessionAnswer,
    TransactionFlow,
    unique_reference,
)

CREATION_UNKNOWN = "CREATION_UNKNOWN"
UNDER_REVIEW = "UNDER_REVIEW"
BEING_CONFIRMED = "BEING_CONFIRMED"
_UNKNOWN = gettext_noop("We are still finding out whether the payment page was opened. Please try again in a moment.")
_PAYING = gettext_noop("Your payment is being made. Please wait a moment.")
_CONFIRMING = gettext_noop("You have paid, and the store is being told. Please wait a moment, and do not pay again.")
_REVIEW = gettext_noop("The store is checking your payment. Please do not pay again, and contact the store.")


def error_data(
    code: str, message: str, field: str | None = None, *, retry_after: datetime | None = None
) -> dict[str, Any]:
    """Return one entry of ``data.errors``; ``retry_after`` is when the gateway recommends the next attempt."""
    more = {"field": field, "retryAfter": None if retry_after is None else _moment(retry_after)}
    return {"code": code, "message": message} | {name: value for name, value in more.items() if value}


def refused_session(flow: TransactionFlow, refusal: RefusalError) -> SessionAnswer:
    """Return the answer to a session webhook that is refused before anything was recorded."""
    return SessionAnswer.failure(
        flow,
        psp_reference=unique_reference(),
        message=refusal.message,
        data={"errors": [error_data(refusal.code.value, refusal.shopper or refusal.message, refusal.field)]},
    )


def session_answer(aggregate: PaymentAggregate, page: str | None) -> SessionAnswer:
    """Return where the payment stands, for the storefront and for Saleor; ``page`` is where staff see it.

    It names the reference that is kept (``keep_reference``).
    """
    payment, create = aggregate.payment, aggregate.create
    flow = TransactionFlow(payment.flow.value)
    actions = balance(payment.flow, aggregate.operations).actions
    said: SaidInSession = {"message": create.message, "external_url": page}
    match create.state:
        # Neither paid nor failed: Saleor must not count it, and the shopper must not pay again (laws of money, 8).
        case state if not state.final and disagrees(payment):
            errors = [error_data(UNDER_REVIEW, translation_for(payment.language).gettext(_REVIEW))]
            said |= {"message": problem_words(payment), "data": {"errors": errors}}
            return SessionAnswer.action_required(flow, psp_reference=_kept(create), amount=payment.amount, **said)
        # The failure that was concluded before may be on its way to Saleor: it must not come after the success.
        case State.SUCCESS if success_must_wait(create, aggregate.events):
            said["data"] = {
                "errors": [error_data(BEING_CONFIRMED, translation_for(payment.language).gettext(_CONFIRMING))]
            }
            return SessionAnswer.action_required(flow, psp_reference=_kept(create), amount=payment.amount, **said)
        case State.SUCCESS:
            said |= {"actions": actions, "card": _paid_with(aggregate)}
            return SessionAnswer.success(flow, psp_reference=_kept(create), amount=create.amount, **said)
        case State.FAILURE:
            words = create.shopper_message or shopper_words(create.status_code, payment.language)
            retry_after = Details.kept(create.details).retry_after
            errors = [error_data(create.status_code or DECLINED, words, retry_after=retry_after)]
            said |= {"actions": actions, "data": {"errors": errors}}
            return SessionAnswer.failure(flow, psp_reference=_kept(create), amount=payment.amount, **said)
        case State.UNKNOWN | State.PENDING if _is_out_of_the_shoppers_hands(payment, create):
            said["actions"] = actions
            return SessionAnswer.request(flow, psp_reference=_kept(create), amount=payment.amount, **said)
        case _:
            said["data"] = _next_step(aggregate)
            return SessionAnswer.action_required(flow, psp_reference=_kept(create), amount=payment.amount, **said)


def _is_out_of_the_shoppers_hands(payment: Payment, create: Operation) -> bool:
    """Return True when the shopper has nothing left to do, whatever it comes to: a direct payment's call is over."""
    return payment.mode is Mode.DIRECT if create.state is State.UNKNOWN else not create.waits_for_shopper


def action_answer(
    aggregate: PaymentAggregate, operation: Operation, action: AvailableAction, page: str | None
) -> ActionAnswer:
    """Return what became of what staff asked, and the ``page`` that tells why.

    The operation's reference must be set while its outcome is open.
    """
    reference = _kept(operation)
    match operation.state:
        case State.SUCCESS if not success_must_wait(operation, aggregate.events):
            return ActionAnswer.success(
                action,
                psp_reference=reference,
                amount=operation.amount,
                actions=balance(aggregate.payment.flow, aggregate.operations).actions,
                message=operation.message,
                external_url=page,
            )
        case State.FAILURE:
            return ActionAnswer.failure(
                action,
                psp_reference=reference,
                amount=operation.amount or None,
                actions=balance(aggregate.payment.flow, aggregate.operations).actions,
                message=operation.message,
                external_url=page,
            )
        case _:
            return ActionAnswer.pending(action, psp_reference=reference)


def _kept(operation: Operation) -> str:
    if operation.psp_reference is None:
        raise ValueError("an answer needs the reference that it will keep")
    return operation.psp_reference


def _next_step(aggregate: PaymentAggregate) -> dict[str, Any]:
    """Return what the storefront does now: lead the shopper somewhere, or tell the shopper what is missing."""
    payment, create = aggregate.payment, aggregate.create
    if payment.mode is Mode.HOSTED:
        return _page(aggregate)
    if create.state is not State.PENDING:
        return {"errors": [error_data(CREATION_UNKNOWN, translation_for(payment.language).gettext(_PAYING))]}
    if payment.redirect_url is None:
        words = create.shopper_message or translation_for(payment.language).gettext(_PAYING)
        return {"errors": [error_data(create.status_code or CREATION_UNKNOWN, words)]}
    return {"redirectUrl": payment.redirect_url}


def _page(aggregate: PaymentAggregate) -> dict[str, Any]:
    payment = aggregate.payment
    if payment.checkout_url is None and payment.qr_url is None:
        return {"errors": [error_data(CREATION_UNKNOWN, translation_for(payment.language).gettext(_UNKNOWN))]}
    page: dict[str, Any] = {"checkoutUrl": payment.checkout_url, "qrUrl": payment.qr_url}
    if payment.expires_at is not None:
        page["expiresAt"] = _moment(payment.expires_at)
    return {name: value for name, value in page.items() if value is not None}


def _paid_with(aggregate: PaymentAggregate) -> PaymentMethod | None:
    of_payment = (each.card for each in aggregate.events if each.psp_reference == aggregate.create.psp_reference)
    return next((method for row in of_payment if (method := from_kept(row)) is not None), None)


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
