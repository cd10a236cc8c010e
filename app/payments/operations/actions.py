"""Staff request a charge, refund or cancelation: planned under the payment's lock, recorded, then sent.

A request arrives through Saleor (``answer_action_request``) or in the app itself (``staff.actions``); both are then
handled alike (``perform_action``).
"""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import structlog

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import CloseReason, Kind, Origin, State
from app.db.aggregates import ByTransaction, PaymentSelector, account_of
from app.db.columns import fit_text
from app.db.errors import CommitUnknownError
from app.db.installations import OpenInstallation
from app.db.repository import PaymentNotFoundError
from app.db.tables import MerchantAccount
from app.gateway.errors import KeysNotOpenedError
from app.i18n.messages import LazyMessage
from app.outbound import Deadline
from app.payments.cards.card_form import holds_card_number
from app.payments.core.action_request import ActionRequest, describe_request
from app.payments.core.balance import ZERO, Balance, balance, check_amount
from app.payments.core.call_errors import KEYS_NOT_OPENED
from app.payments.core.dialects import keeps_rest
from app.payments.core.page_cancellation import sentence_for_earlier_version
from app.payments.core.posting import Posting, enqueue_note
from app.payments.core.references import ensure_reference, reference_of_refusal, reference_of_request
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.core.responses import action_response
from app.payments.operations.answer_window import (
    find_granted_refund,
    mark_answered,
    record_repeated_request,
    record_request,
)
from app.payments.operations.execute import send
from app.payments.operations.look_up import gateway_client
from app.payments.operations.rejections import (
    charge_refund_rejection_message,
    rejection_message,
    wrong_cancellation_message,
)
from app.payments.services import Services
from app.payments.split.fiscal_products import fiscal_request_members
from app.payments.split.planning import requested_shares, split_of_action
from app.saleor.errors import StillUnderwayError
from app.saleor.events import RequestedAction, TransactionRefundRequested
from app.saleor.responses import ActionResponse, AvailableAction, unique_reference

log = structlog.get_logger(__name__)

_KINDS = {
    AvailableAction.CHARGE: Kind.CAPTURE,
    AvailableAction.REFUND: Kind.REFUND,
    AvailableAction.CANCEL: Kind.CANCEL,
}


_NOTHING_FOR_SALEOR = {
    AvailableAction.CHARGE: LazyMessage("The amount is zero: according to Saleor, nothing is left to charge."),
    AvailableAction.REFUND: LazyMessage("The amount is zero: according to Saleor, nothing is left to refund."),
}


_LONGEST_COMMENT = 2048  # characters (gateway interface, 3)
_CARD_IN_REASON = "(left out: it contained what may be a card number)"
_NO_PAYMENT = LazyMessage("There is no such payment.")
_NOT_OURS = LazyMessage("This payment was not made with this app: nothing was done.")


@dataclass(frozen=True, slots=True)
class Step:
    """The single gateway operation that fulfils a request, and its amount."""

    kind: Kind
    amount: Decimal


def step_for(
    action: AvailableAction,
    amount: Decimal,
    current: Balance,
    *,
    required_kind: Kind | None = None,
    charge_id: str | None = None,
) -> Step:
    """Return what to do at the gateway. Raises RefusalError, with a message for staff. Pure.

    ``required_kind``: no other kind of operation is acceptable. ``charge_id`` is the later charge of the subscription
    that a refund is for (see ``Operation``).
    Rules: gateway interface, States and transitions; a reservation is taken once and voided only as a whole (gateway
    facts, 6).
    """
    if action is AvailableAction.CANCEL:
        return _cancellation_step(current, required_kind)
    if charge_id is not None:
        return _charge_refund_step(charge_id, amount, current)
    possible = current.capturable if action is AvailableAction.CHARGE else current.refundable
    if amount <= 0:  # Saleor sends this when it believes that nothing is left (Saleor contract, A.2)
        message = _NOTHING_FOR_SALEOR[action] if possible else None
        raise RefusalError(RefusalCode.INVALID_AMOUNT, message or rejection_message(action, amount, current), "amount")
    check_amount(amount)
    if amount > possible:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, rejection_message(action, amount, current), "amount")
    return Step(_KINDS[action], amount)


def _charge_refund_step(charge_id: str, amount: Decimal, current: Balance) -> Step:
    """Return the refund of a later charge, which is refunded by itself (gateway facts, 6). Raises RefusalError."""
    charge = next((each for each in current.recurring if each.id == charge_id), None)
    if charge is None:
        message = LazyMessage("The subscription of this payment has no such charge.")
        raise RefusalError(RefusalCode.NOT_POSSIBLE, message, "charge")
    if charge.refundable:
        check_amount(amount)
    if amount > charge.refundable or not charge.refundable:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, charge_refund_rejection_message(amount, charge, current), "amount")
    return Step(Kind.REFUND, amount)


def _cancellation_step(current: Balance, required_kind: Kind | None) -> Step:
    if not current.capturable and not current.unpaid:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, rejection_message(AvailableAction.CANCEL, ZERO, current))
    step = Step(Kind.VOID, current.capturable) if current.capturable else Step(Kind.CANCEL, ZERO)
    if required_kind not in {None, step.kind}:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, wrong_cancellation_message(required_kind, current))
    return step


async def perform_action(
    services: Services, request: ActionRequest, which: PaymentSelector, deadline: Deadline | None = None
) -> tuple[PaymentAggregate, Operation]:
    """Perform an action on a payment; return the payment and the operation. Raises RefusalError.

    Idempotent: a repeated request returns the same operation and calls no one (laws of money, 4). While another
    operation of the payment is open, the new one is accepted, and sent when its turn comes (3). ``deadline`` is that of
    the request; None: it begins now.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    added: list[Operation] = []

    def record(aggregate: PaymentAggregate) -> tuple[PaymentAggregate, Operation]:
        return aggregate, _record_action(services, aggregate, request, added)

    # An action that is not recorded in time is not performed: it must not begin after it was answered as failed.
    async with asyncio.timeout(deadline.left):
        try:
            aggregate, operation = await services.payments.update(which, record)
        except PaymentNotFoundError:
            raise RefusalError(RefusalCode.UNKNOWN_PAYMENT, _NO_PAYMENT if request.by else _NOT_OURS) from None
        except CommitUnknownError as error:
            log.warning("nobody knows whether an intent is committed: it is read, or recorded again", error=str(error))
            aggregate, operation = await services.payments.update(which, record)
    is_new = any(each.created_at == operation.created_at for each in added)
    if not is_new or operation.state is not State.INTENT:
        return aggregate, operation
    try:
        aggregate = await send(services, aggregate, operation, deadline, answering=request.by is None)
    except Exception as error:
        if request.by is not None:
            raise
        # The call may have been sent, and its intent is committed: a look-up will settle it. Saleor must not be told
        # that it failed.
        log.exception("outcome not recorded", operation=operation.id)
        raise StillUnderwayError("the outcome of what was sent could not be recorded") from error
    return aggregate, aggregate.operation_by_id(operation.id)


def _record_action(
    services: Services, aggregate: PaymentAggregate, request: ActionRequest, added: list[Operation]
) -> Operation:
    """Return the recorded operation of a request; a new one is also appended to ``added``."""
    posting = services.posting()
    operation, is_new = _find_or_add(services, aggregate, request, posting)
    if is_new:
        operation.shares = requested_shares(operation)
        _report_to_saleor(aggregate, operation, posting)
        added.append(operation)
    if request.by is None and not (added and operation.state is State.INTENT):
        ensure_reference(aggregate.payment, operation)  # the answer that is sent now names it
        if operation.state is not State.INTENT:  # an intent is being sent by another webhook right now
            mark_answered(aggregate, operation, posting)
    return operation


def _find_or_add(
    services: Services, aggregate: PaymentAggregate, request: ActionRequest, posting: Posting
) -> tuple[Operation, bool]:
    known, key = _find_recorded(aggregate, request, posting)
    if known is not None:
        return known, False
    if request.currency not in {None, aggregate.payment.currency}:
        raise RefusalError(
            RefusalCode.CURRENCY_NOT_SUPPORTED,
            LazyMessage("This payment is in %(currency)s.", currency=aggregate.payment.currency),
        )
    operation = _new_operation(aggregate, request, key, posting)
    if not operation.state.final:
        _check_keys(services, account_of(aggregate.payment))
    aggregate.operations.append(operation)
    return operation, True


def _find_recorded(
    aggregate: PaymentAggregate, request: ActionRequest, posting: Posting
) -> tuple[Operation | None, str]:
    """Return the recorded operation of a request, or None for a new request; and the key of the request.

    If the webhook can belong to several requests of Saleor, it is one that is not recorded yet. A granted refund is
    recognised by its id, whatever its key or amount: it is paid out once. Raises RefusalError for a known key that was
    used for something else.
    """
    repeated = aggregate.operation_by_digest(request.digest) if request.digest else None
    if repeated is not None:
        return repeated, repeated.idempotency_key
    new_key = next((key for key in request.keys if aggregate.operation_by_key(key) is None), None)
    granted = None if request.granted is None else find_granted_refund(aggregate, request.granted.id)
    if granted is not None:
        if new_key is not None:
            record_repeated_request(aggregate, granted, new_key, request.digest, posting)
        return granted, granted.idempotency_key
    if new_key is not None:
        return None, new_key
    known = aggregate.operation_by_key(request.keys[0])
    if known is None or not request.is_repeated_by(known):
        raise RefusalError(
            RefusalCode.NOT_POSSIBLE, LazyMessage("This was already requested before, with different details.")
        )
    return known, known.idempotency_key


def _check_keys(services: Services, account: MerchantAccount) -> None:
    """Raise RefusalError if the account's keys do not open, before an intent is recorded that could not be sent."""
    try:
        gateway_client(services, account)
    except KeysNotOpenedError:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage(KEYS_NOT_OPENED)) from None


def _new_operation(aggregate: PaymentAggregate, request: ActionRequest, key: str, posting: Posting) -> Operation:
    """Return a new operation: an intent, one that has to wait, or one that the state of the payment rules out.

    The last is recorded as a failure if Saleor requests it: when the same request is repeated, the payment may have
    another state; but Saleor has been told that it failed, and staff may have acted on that. For staff in the app
    nothing is recorded, and RefusalError is raised.
    """
    now = posting.now
    current = balance(aggregate.payment.flow, aggregate.operations)
    # It must not overtake a waiting operation either, in the moment before the worker sends that one.
    waits = current.in_flight or any(each.state is State.WAITING for each in aggregate.operations)
    state, message = (State.WAITING if waits else State.INTENT), None
    more: dict[str, Any] = {}
    try:
        step = step_for(
            request.action, request.amount, current, required_kind=request.required_kind, charge_id=request.charge_id
        )
        if request.charge_id is None:  # a later charge has neither shares nor products of its own
            more = split_of_action(aggregate, step.kind, step.amount, request, account_of(aggregate.payment))
            more = more or fiscal_request_members(aggregate, step.kind, step.amount, request.granted)
            if _is_full_refund(aggregate, step.kind, step.amount, current):
                more["whole"] = True
    except RefusalError as refusal:
        if refusal.code is not RefusalCode.NOT_POSSIBLE or request.by is not None:
            raise
        amount = ZERO if request.action is AvailableAction.CANCEL else request.amount
        step, state, message = Step(_KINDS[request.action], amount), State.FAILURE, refusal.message
    close_reason = CloseReason.BY_STAFF if request.by is not None and step.kind is Kind.CANCEL else None
    if close_reason is not None:
        more["why"] = sentence_for_earlier_version(close_reason)
    elif step.kind is not Kind.CANCEL and (reason := request.reasons.get(key, "").strip()):
        more["comment"] = _gateway_comment(reason)
    operation = Operation(
        kind=step.kind,
        idempotency_key=key,
        state=state,
        amount=step.amount,
        currency=aggregate.payment.currency,
        request={
            "amount": str(step.amount),
            "currency": aggregate.payment.currency,
            "order_id": aggregate.payment.order_id,
            **more,
        },
        origin=Origin.SALEOR if request.by is None else Origin.STAFF,
        close_reason=close_reason,
        asked_by_saleor=request.by is None,
        keeps_rest=step.kind is Kind.CAPTURE and keeps_rest(aggregate.payment.account),
        asked_by=request.by,
        granted_refund_id=None if request.granted is None else request.granted.id,
        charge_id=request.charge_id,
        message=message,
        next_poll_at=posting.schedule.intent_deadline(now) if state is State.INTENT else None,
        created_at=now,
        updated_at=now,
    )
    if request.by is None:
        record_request(operation, key, request.digest, posting)
    return operation


def _is_full_refund(aggregate: PaymentAggregate, kind: Kind, amount: Decimal, current: Balance) -> bool:
    """Return whether a refund takes all of a payment at once, as the gateway counts it (gateway interface, 5).

    False where the gateway may count otherwise: several charges of one authorization, or a fee that the payer bore.
    """
    captures = [operation for operation in aggregate.operations if operation.kind is Kind.CAPTURE]
    if kind is not Kind.REFUND or len(captures) > 1 or aggregate.payment.account.payer_fee_percent is not None:
        return False
    return amount == current.charged  # a refund that is possible: so nothing was given back yet, by anybody


def _gateway_comment(reason: str) -> str:
    """Return a reason as the gateway's comment (gateway interface, 3 to 6), without anything like a card number."""
    return _CARD_IN_REASON if holds_card_number(reason) else fit_text(reason, _LONGEST_COMMENT)


def _report_to_saleor(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """Report at once an operation that Saleor did not request: it must not offer what is already being done."""
    if operation.requester is not Origin.STAFF:
        return
    message = f"Staff requested in the app to {describe_request(operation)}"
    enqueue_note(aggregate, message, posting, reference=reference_of_request(operation.idempotency_key))


async def answer_action_request(
    services: Services,
    event: RequestedAction,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
    *,
    digest: str = "",
) -> ActionResponse:
    """Answer a charge, refund or cancelation request (see ``perform_action``).

    ``deadline`` is that of the request, ``digest`` that of its body.
    """
    which = ByTransaction(installation.id, event.transaction.id)
    try:
        aggregate, operation = await perform_action(services, _action_request(event, digest), which, deadline)
    except RefusalError as refusal:
        request_id = digest or event.request_key  # the same delivery gets the same answer
        reference = reference_of_refusal(request_id) if request_id else unique_reference()
        known = await services.payments.find(which)
        page = None if known is None else _payment_page(services, installation, known)
        return ActionResponse.failure(event.kind, psp_reference=reference, message=refusal.message, external_url=page)
    return action_response(aggregate, operation, event.kind, _payment_page(services, installation, aggregate))


def _payment_page(services: Services, installation: OpenInstallation, aggregate: PaymentAggregate) -> str | None:
    return services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)


def _action_request(event: RequestedAction, digest: str) -> ActionRequest:
    if not event.request_keys:
        raise RefusalError(RefusalCode.INVALID_DATA, "Saleor does not say which request this is: nothing was done.")
    refund = event if isinstance(event, TransactionRefundRequested) else None
    return ActionRequest(
        action=event.kind,
        amount=event.action.amount,
        currency=event.action.currency,
        keys=event.request_keys,
        digest=digest,
        granted=None if refund is None else refund.granted_refund,
        order=event.transaction.order,
        reasons={} if refund is None else refund.reasons,
    )
