"""Builds the response to a Saleor webhook from the recorded state. Pure: the same state gives the same response.

A response is only an early copy of events that the outbox holds too (laws of money, 5).
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import CloseReason, Mode, State
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.rules.balance import balance
from app.rules.details import Details, payment_method_from_row
from app.rules.event_queue import should_delay_success
from app.rules.page_cancellation import is_closing_for
from app.rules.problems import has_mismatch, problem_text
from app.rules.refusal import DECLINED, RefusalError, shopper_message_of
from saleor_app_sdk.responses import (
    ActionResponse,
    AvailableAction,
    PaymentMethod,
    SessionFields,
    SessionResponse,
    TransactionFlow,
    unique_reference,
)

CREATION_UNKNOWN = "CREATION_UNKNOWN"
UNDER_REVIEW = "UNDER_REVIEW"
BEING_CONFIRMED = "BEING_CONFIRMED"
AMOUNT_CHANGED = "AMOUNT_CHANGED"
_ANOTHER_CARD = "A card was declined on the payment page, and another one is at the bank"
_UNKNOWN = gettext_noop("We are still checking whether the payment page was opened. Please try again in a moment.")
_PAYING = gettext_noop("Your payment is being processed. Please wait a moment.")
_CONFIRMING = gettext_noop(
    "You have paid, and the store is being notified. Please wait a moment, and do not pay again."
)
_CHANGED = gettext_noop("The amount to pay has changed, and this payment page is being closed. Please wait a moment.")
_REVIEW = gettext_noop("The store is checking your payment. Please do not pay again, and contact the store.")


def error_data(
    code: str,
    message: str,
    field: str | None = None,
    *,
    retry_after: datetime | None = None,
    amount_to_pay: Decimal | None = None,
) -> dict[str, Any]:
    """Return one entry of ``data.errors``; ``retry_after`` is when the gateway recommends the next attempt."""
    more = {
        "field": field or None,
        "retryAfter": None if retry_after is None else _format_timestamp(retry_after),
        "amountToPay": amount_to_pay,
    }
    return {"code": code, "message": message} | {name: value for name, value in more.items() if value is not None}


def session_refusal_response(flow: TransactionFlow, refusal: RefusalError) -> SessionResponse:
    """Return the response to a session webhook that is refused before anything was recorded."""
    errors = [
        error_data(
            reason.code.value,
            reason.shopper_message or reason.message,
            reason.field,
            amount_to_pay=reason.amount_to_pay,
        )
        for reason in refusal.reasons or (refusal,)
    ]
    return SessionResponse.failure(
        flow, psp_reference=unique_reference(), message=refusal.message, data={"errors": errors}
    )


def session_response(aggregate: PaymentAggregate, page: str | None) -> SessionResponse:
    """Return the payment's status, for the storefront and for Saleor; ``page`` is its address for staff.

    The response contains the reference that was set by ``ensure_reference``.
    """
    payment, create = aggregate.payment, aggregate.create
    flow = TransactionFlow(payment.flow.value)
    actions = balance(payment.flow, aggregate.operations).actions
    message = create.message if create.newer_try is None else _ANOTHER_CARD
    fields: SessionFields = {"message": message, "external_url": page}
    match create.state:
        # Neither paid nor failed: Saleor must not count it, and the shopper must not pay again (laws of money, 8).
        case _ if _is_under_review(aggregate):
            errors = [error_data(UNDER_REVIEW, translation_for(payment.language).gettext(_REVIEW))]
            fields |= {"message": problem_text(payment), "data": {"errors": errors}}
            return SessionResponse.action_required(
                flow, psp_reference=_required_reference(create), amount=payment.amount, **fields
            )
        # The failure that was concluded before may be on its way to Saleor: it must not arrive after the success.
        case State.SUCCESS if should_delay_success(create, aggregate.events):
            fields["data"] = {
                "errors": [error_data(BEING_CONFIRMED, translation_for(payment.language).gettext(_CONFIRMING))]
            }
            return SessionResponse.action_required(
                flow, psp_reference=_required_reference(create), amount=payment.amount, **fields
            )
        case State.SUCCESS:
            fields |= {"actions": actions, "card": _payment_method(aggregate)}
            return SessionResponse.success(
                flow, psp_reference=_required_reference(create), amount=create.amount, **fields
            )
        case State.FAILURE if create.newer_try is None:
            told = create.shopper_message or shopper_message_of(create.status_code, payment.language)
            retry_after = Details.from_row(create.details).retry_after
            errors = [error_data(create.status_code or DECLINED, told, retry_after=retry_after)]
            fields |= {"actions": actions, "data": {"errors": errors}}
            return SessionResponse.failure(
                flow, psp_reference=_required_reference(create), amount=payment.amount, **fields
            )
        case State.UNKNOWN | State.PENDING if _is_beyond_shopper(payment, create):
            fields["actions"] = actions
            return SessionResponse.request(
                flow, psp_reference=_required_reference(create), amount=payment.amount, **fields
            )
        case _:
            fields["data"] = _next_step(aggregate)
            return SessionResponse.action_required(
                flow, psp_reference=_required_reference(create), amount=payment.amount, **fields
            )


def _is_under_review(aggregate: PaymentAggregate) -> bool:
    """Return True while a person must find out whether the shopper has paid; what is booked as paid stays so."""
    create = aggregate.create
    if create.state is State.SUCCESS:
        return False
    return create.contradicted or (not create.state.final and has_mismatch(aggregate.payment))


def _is_beyond_shopper(payment: Payment, create: Operation) -> bool:
    """Return True when the shopper has nothing left to do, whatever the outcome: a direct payment's call is over."""
    return payment.mode is Mode.DIRECT if create.state is State.UNKNOWN else not create.waits_for_shopper


def action_response(
    aggregate: PaymentAggregate, operation: Operation, action: AvailableAction, page: str | None
) -> ActionResponse:
    """Return the outcome of an operation that staff requested, with the ``page`` that shows why.

    The operation's reference must be set while its outcome is open.
    """
    reference = _required_reference(operation)
    match operation.state:
        case State.SUCCESS if not should_delay_success(operation, aggregate.events):
            return ActionResponse.success(
                action,
                psp_reference=reference,
                amount=operation.amount,
                actions=balance(aggregate.payment.flow, aggregate.operations).actions,
                message=operation.message,
                external_url=page,
            )
        case State.FAILURE:
            return ActionResponse.failure(
                action,
                psp_reference=reference,
                amount=operation.amount or None,
                actions=balance(aggregate.payment.flow, aggregate.operations).actions,
                message=operation.message,
                external_url=page,
            )
        case _:
            return ActionResponse.pending(action, psp_reference=reference)


def _required_reference(operation: Operation) -> str:
    if operation.psp_reference is None:
        raise ValueError("an answer needs the reference that it will keep")
    return operation.psp_reference


def _next_step(aggregate: PaymentAggregate) -> dict[str, Any]:
    """Return the storefront's next step: a redirect of the shopper, or an error that states what is missing."""
    payment, create = aggregate.payment, aggregate.create
    if payment.mode is Mode.HOSTED and create.newer_try is None:
        return _page_data(aggregate)
    if create.state is not State.PENDING:
        return {"errors": [error_data(CREATION_UNKNOWN, translation_for(payment.language).gettext(_PAYING))]}
    if payment.redirect_url is None:
        message = create.shopper_message or translation_for(payment.language).gettext(_PAYING)
        return {"errors": [error_data(create.status_code or CREATION_UNKNOWN, message)]}
    return {"redirectUrl": payment.redirect_url}


def _page_data(aggregate: PaymentAggregate) -> dict[str, Any]:
    payment = aggregate.payment
    if payment.checkout_url is None and payment.qr_url is None:
        return {"errors": [error_data(CREATION_UNKNOWN, translation_for(payment.language).gettext(_UNKNOWN))]}
    # Either way it is for more than is left to pay.
    if is_closing_for(aggregate, CloseReason.TOO_HIGH, CloseReason.COVERED):
        return {"errors": [error_data(AMOUNT_CHANGED, translation_for(payment.language).gettext(_CHANGED))]}
    page: dict[str, Any] = {"checkoutUrl": payment.checkout_url, "qrUrl": payment.qr_url}
    if payment.expires_at is not None:
        page["expiresAt"] = _format_timestamp(payment.expires_at)
    return {name: value for name, value in page.items() if value is not None}


def _payment_method(aggregate: PaymentAggregate) -> PaymentMethod | None:
    of_payment = (event.card for event in aggregate.events if event.psp_reference == aggregate.create.psp_reference)
    return next((method for row in of_payment if (method := payment_method_from_row(row)) is not None), None)


def _format_timestamp(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
