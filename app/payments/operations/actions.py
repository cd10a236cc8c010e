"""Staff ask to charge, refund or cancel: planned under the payment's lock, recorded, then sent.

There are two doors at which they ask, Saleor's (``requested``) and our own (``staff.actions``), and one way from there.
"""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import structlog

from app.db.aggregates import ByTransaction, PaymentAggregate, Which
from app.db.columns import fitting
from app.db.errors import CommitUnknownError
from app.db.installations import OpenInstallation
from app.db.repository import PaymentNotFoundError
from app.db.tables import Kind, MerchantAccount, Operation, State
from app.gateway.errors import KeysNotOpenedError
from app.i18n.messages import LazyMessage
from app.outbound import Deadline
from app.payments.cards.card_form import holds_card_number
from app.payments.core.action_request import ActionRequest, staff_request
from app.payments.core.answers import action_answer
from app.payments.core.apply import Posting, note
from app.payments.core.balance import ZERO, Balance, balance, check_amount
from app.payments.core.call_errors import KEYS_NOT_OPENED
from app.payments.core.page_cancellation import BY_STAFF
from app.payments.core.references import keep_reference, reference_of_refusal, reference_of_request
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.operations.answer_window import answered, ask_again, asked_by, refund_of
from app.payments.operations.execute import send
from app.payments.operations.look_up import opened
from app.payments.operations.rejections import why_charge_not_refunded, why_not, why_not_strictly
from app.payments.services import Services
from app.payments.split.fiscal_products import said_again
from app.payments.split.planning import shares_said, split_of_step
from app.saleor.answers import ActionAnswer, AvailableAction, unique_reference
from app.saleor.errors import StillUnderwayError
from app.saleor.events import RequestedAction, TransactionRefundRequested

log = structlog.get_logger(__name__)

_KINDS = {
    AvailableAction.CHARGE: Kind.CAPTURE,
    AvailableAction.REFUND: Kind.REFUND,
    AvailableAction.CANCEL: Kind.CANCEL,
}


_NOTHING_FOR_SALEOR = {
    AvailableAction.CHARGE: LazyMessage("The amount is zero: for Saleor nothing is left to charge."),
    AvailableAction.REFUND: LazyMessage("The amount is zero: for Saleor nothing is left to refund."),
}


_LONGEST_COMMENT = 2048  # characters (gateway interface, 3)
_CARD_IN_REASON = "(left out: it held what can be a card number)"
_NO_PAYMENT = LazyMessage("There is no such payment.")
_NOT_OURS = LazyMessage("This payment was not made with this app: nothing was done.")


@dataclass(frozen=True, slots=True)
class Step:
    """The one operation at the gateway that does what was asked, and its amount."""

    kind: Kind
    amount: Decimal


def step_for(
    action: AvailableAction,
    amount: Decimal,
    now: Balance,
    *,
    strictly: Kind | None = None,
    charge_id: str | None = None,
) -> Step:
    """Return what to do at the gateway, ``strictly`` of that kind. Raises RefusalError, in words for staff. Pure.

    ``charge_id``: a refund is of that later charge of the subscription (see ``Operation``).
    Rules: gateway interface, States and transitions; a reservation is taken once and voided only as a whole (gateway
    facts, 6).
    """
    if action is AvailableAction.CANCEL:
        return _cancellation(now, strictly)
    if charge_id is not None:
        return _refund_of_charge(charge_id, amount, now)
    possible = now.capturable if action is AvailableAction.CHARGE else now.refundable
    if amount <= 0:  # Saleor asks so when it believes that nothing is left (Saleor contract, A.2)
        words = _NOTHING_FOR_SALEOR[action] if possible else None
        raise RefusalError(RefusalCode.INVALID_AMOUNT, words or why_not(action, amount, now), "amount")
    check_amount(amount)
    if amount > possible:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, why_not(action, amount, now), "amount")
    return Step(_KINDS[action], amount)


def _refund_of_charge(charge_id: str, amount: Decimal, now: Balance) -> Step:
    """A later charge is given back by itself (gateway facts, 6)."""
    charge = next((each for each in now.recurring if each.id == charge_id), None)
    if charge is None:
        words = LazyMessage("The subscription of this payment has no such charge.")
        raise RefusalError(RefusalCode.NOT_POSSIBLE, words, "charge")
    if charge.refundable:
        check_amount(amount)
    if amount > charge.refundable or not charge.refundable:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, why_charge_not_refunded(amount, charge, now), "amount")
    return Step(Kind.REFUND, amount)


def _cancellation(now: Balance, strictly: Kind | None) -> Step:
    if not now.capturable and not now.unpaid:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, why_not(AvailableAction.CANCEL, ZERO, now))
    step = Step(Kind.VOID, now.capturable) if now.capturable else Step(Kind.CANCEL, ZERO)
    if strictly not in {None, step.kind}:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, why_not_strictly(strictly, now))
    return step


async def act(
    services: Services, asked: ActionRequest, which: Which, deadline: Deadline | None = None
) -> tuple[PaymentAggregate, Operation]:
    """Do what is asked of a payment; return the operation that came of it, with its payment. Raises RefusalError.

    The same question gets the same answer and calls nobody (laws of money, 4). While another operation of the payment
    is open, this one is accepted, and sent when its turn comes (3). ``deadline`` is the request's; None: it begins now.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    added: list[Operation] = []

    def record(aggregate: PaymentAggregate) -> tuple[PaymentAggregate, Operation]:
        return aggregate, _recorded(services, aggregate, asked, added)

    # What is not recorded in time is not done at all: it must not begin after it was answered as failed.
    async with asyncio.timeout(deadline.left):
        try:
            aggregate, operation = await services.payments.update(which, record)
        except PaymentNotFoundError:
            raise RefusalError(RefusalCode.UNKNOWN_PAYMENT, _NO_PAYMENT if asked.by else _NOT_OURS) from None
        except CommitUnknownError as error:
            log.warning("nobody knows whether an intent is committed: it is read, or recorded again", error=str(error))
            aggregate, operation = await services.payments.update(which, record)
    ours = any(each.created_at == operation.created_at for each in added)
    if not ours or operation.state is not State.INTENT:
        return aggregate, operation
    try:
        aggregate = await send(services, aggregate, operation, deadline, answering=asked.by is None)
    except Exception as error:
        if asked.by is not None:
            raise
        # The call may have left, and its intent is committed: it is looked up. Saleor must not hear that it failed.
        log.exception("outcome not recorded", operation=operation.id)
        raise StillUnderwayError("the outcome of what was sent could not be recorded") from error
    return aggregate, aggregate.by_id(operation.id)


def _recorded(
    services: Services, aggregate: PaymentAggregate, asked: ActionRequest, added: list[Operation]
) -> Operation:
    """Return the recorded operation that answers to what is asked; one that is new is in ``added``, too."""
    posting = services.posting()
    operation, fresh = _find_or_add(services, aggregate, asked, posting)
    if fresh:
        aggregate.assign(operation, shares_said(operation))
        _tell_saleor(aggregate, operation, posting)
        added.append(operation)
    if asked.by is None and not (added and operation.state is State.INTENT):
        keep_reference(aggregate.payment, operation)  # who is answered now is told the reference that it keeps
        if operation.state is not State.INTENT:  # else another webhook is asking the gateway for it right now
            answered(aggregate, operation, posting)
    return operation


def _find_or_add(
    services: Services, aggregate: PaymentAggregate, asked: ActionRequest, posting: Posting
) -> tuple[Operation, bool]:
    known, key = _known(aggregate, asked, posting)
    if known is not None:
        return known, False
    if asked.currency not in {None, aggregate.payment.currency}:
        raise RefusalError(
            RefusalCode.CURRENCY_NOT_SUPPORTED,
            LazyMessage("This payment is in %(currency)s.", currency=aggregate.payment.currency),
        )
    operation = _added(aggregate, asked, key, posting)
    if not operation.state.final:
        _check_keys(services, aggregate.payment.account)
    aggregate.operations.append(operation)
    return operation, True


def _known(aggregate: PaymentAggregate, asked: ActionRequest, posting: Posting) -> tuple[Operation | None, str]:
    """Return the operation that answers to a question, and the key of the question; None: nobody has asked it before.

    Of several requests of Saleor's that this one can be, it is one that is not recorded yet. A granted refund is known
    by its id, whatever key or amount it comes with: it is paid out once.
    """
    repeated = aggregate.by_digest(asked.digest) if asked.digest else None
    if repeated is not None:
        return repeated, repeated.idempotency_key
    fresh = next((key for key in asked.keys if aggregate.by_key(key) is None), None)
    made = None if asked.granted is None else refund_of(aggregate, asked.granted.id)
    if made is not None:
        if fresh is not None:
            ask_again(aggregate, made, fresh, asked.digest, posting)
        return made, made.idempotency_key
    if fresh is not None:
        return None, fresh
    known = aggregate.by_key(asked.keys[0])
    if known is None or not asked.is_repeated_by(known):
        raise RefusalError(
            RefusalCode.NOT_POSSIBLE, LazyMessage("This was sent before, and asked for something else then.")
        )
    return known, known.idempotency_key


def _check_keys(services: Services, account: MerchantAccount) -> None:
    """Refuse what could not be sent before it is an intent: nobody would know when it can be."""
    try:
        opened(services, account)
    except KeysNotOpenedError:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage(KEYS_NOT_OPENED)) from None


def _added(aggregate: PaymentAggregate, asked: ActionRequest, key: str, posting: Posting) -> Operation:
    """Return a new operation: the intent, one that has to wait, or one that is refused by how the payment stands.

    Such a refusal is recorded too, if it is Saleor that asks. When the same question comes again, the payment may stand
    otherwise; but Saleor has been told that it failed, and staff may have acted on that. To staff at our own door it is
    only said.
    """
    now = posting.now
    standing = balance(aggregate.payment.flow, aggregate.operations)
    # Nor does it overtake what waits, in the moment before the worker sends that.
    waits = standing.in_flight or any(each.state is State.WAITING for each in aggregate.operations)
    state, message = (State.WAITING if waits else State.INTENT), None
    more: dict[str, Any] = {}
    try:
        step = step_for(asked.action, asked.amount, standing, strictly=asked.strictly, charge_id=asked.charge_id)
        if asked.charge_id is None:  # a later charge has neither shares nor products of its own
            more = split_of_step(aggregate, step.kind, step.amount, asked, aggregate.payment.account)
            more = more or said_again(aggregate, step.kind, step.amount, asked.granted)
    except RefusalError as refusal:
        if refusal.code is not RefusalCode.NOT_POSSIBLE or asked.by is not None:
            raise
        amount = ZERO if asked.action is AvailableAction.CANCEL else asked.amount
        step, state, message = Step(_KINDS[asked.action], amount), State.FAILURE, refusal.message
    if asked.by is not None and step.kind is Kind.CANCEL:
        more["why"] = BY_STAFF
    elif step.kind is not Kind.CANCEL and (reason := asked.reasons.get(key, "").strip()):
        more["comment"] = _comment(reason)
    operation = Operation(
        payment_id=aggregate.create.payment_id,
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
        asked_by_saleor=asked.by is None,
        asked_by=asked.by,
        granted_refund_id=None if asked.granted is None else asked.granted.id,
        charge_id=asked.charge_id,
        message=message,
        next_poll_at=posting.schedule.after_intent(now) if state is State.INTENT else None,
        created_at=now,
        updated_at=now,
    )
    if asked.by is None:
        asked_by(operation, key, asked.digest, posting)
    return operation


def _comment(reason: str) -> str:
    """Return what the gateway is told of a reason (gateway interface, 3 to 6); never a number that can be a card's."""
    return _CARD_IN_REASON if holds_card_number(reason) else fitting(reason, _LONGEST_COMMENT)


def _tell_saleor(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """Let Saleor know at once of what it has not asked for: it must not offer what is being done already."""
    if operation.asked_by is None:
        return
    words = f"Staff asked in the app to {staff_request(operation)}"
    note(aggregate, words, posting, reference=reference_of_request(operation.idempotency_key))


async def requested(
    services: Services,
    event: RequestedAction,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
    *,
    digest: str = "",
) -> ActionAnswer:
    """Answer a charge, refund or cancelation request (see ``act``).

    ``deadline`` is the request's, ``digest`` that of its body.
    """
    which = ByTransaction(installation.id, event.transaction.id)
    try:
        aggregate, operation = await act(services, _asked(event, digest), which, deadline)
    except RefusalError as refusal:
        question = digest or event.request_key  # the same delivery gets the same answer
        reference = reference_of_refusal(question) if question else unique_reference()
        known = await services.payments.find(which)
        page = None if known is None else _page(services, installation, known)
        return ActionAnswer.failure(event.kind, psp_reference=reference, message=refusal.message, external_url=page)
    return action_answer(aggregate, operation, event.kind, _page(services, installation, aggregate))


def _page(services: Services, installation: OpenInstallation, aggregate: PaymentAggregate) -> str | None:
    return services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)


def _asked(event: RequestedAction, digest: str) -> ActionRequest:
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
