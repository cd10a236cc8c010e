"""What follows from the request of a charge, refund or cancelation: planned and recorded, before it is sent. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from app.core.fact import Fact
from app.core.ids import GatewayOperationId
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.request import RequestDetails
from app.core.text import fit_text
from app.core.vocabulary import CloseReason, Kind, Origin, State
from app.i18n.messages import LazyMessage, Money
from app.rules.action_request import ActionRequest, describe_request
from app.rules.addresses import PaymentPage
from app.rules.balance import ZERO, Balance, balance, check_amount, fraction_message
from app.rules.call_errors import KEYS_NOT_OPENED
from app.rules.cards.card_form import holds_card_number
from app.rules.decision_context import DecisionContext, enqueue_note, raise_problem
from app.rules.decisions.answer_window import (
    find_granted_refund,
    mark_answered,
    record_repeated_request,
    record_request,
)
from app.rules.decisions.rejections import (
    charge_refund_rejection_message,
    rejection_message,
    wrong_cancellation_message,
)
from app.rules.dialects import keeps_rest
from app.rules.issues import Issue, IssueCode
from app.rules.page_cancellation import sentence_for_earlier_version
from app.rules.problems import cause_of_mismatch
from app.rules.references import ensure_reference, reference_of_request
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.operation import is_full_refund
from app.rules.responses import action_response
from app.rules.split.planning import for_capture, for_refund, requested_shares
from saleor_app_sdk.responses import ActionResponse, AvailableAction

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
    charge_id: GatewayOperationId | None = None,
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
    _check_part(amount, possible, current.currency)
    if amount > possible:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, rejection_message(action, amount, current), "amount")
    return Step(_KINDS[action], amount)


def _check_part(amount: Decimal, possible: Decimal, currency: str) -> None:
    """Check an amount of which ``possible`` is left: that may have cents, in spite of its currency."""
    check_amount(amount, "" if fraction_message(possible, currency) else currency)


def _charge_refund_step(charge_id: GatewayOperationId, amount: Decimal, current: Balance) -> Step:
    """Return the refund of a later charge, which is refunded by itself (gateway facts, 6). Raises RefusalError."""
    charge = next((charge for charge in current.recurring if charge.id == charge_id), None)
    if charge is None:
        message = LazyMessage("The subscription of this payment has no such charge.")
        raise RefusalError(RefusalCode.NOT_POSSIBLE, message, "charge")
    if charge.refundable:
        _check_part(amount, charge.refundable, current.currency)
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


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """What was recorded of a request. ``is_new``: just now; it is to be sent then, if it is an intent."""

    aggregate: PaymentAggregate
    operation: Operation
    is_new: bool


@dataclass(frozen=True, slots=True)
class ActionRequested(Fact[RecordedAction]):
    """Saleor or staff request an action. ``decide`` raises RefusalError.

    ``opens_keys`` says whether the keys of a payment's account open: no intent is recorded that could not be sent.
    ``is_retry``: the connection broke during the commit, so that this request may be recorded already.
    """

    request: ActionRequest
    context: DecisionContext
    opens_keys: Callable[[Payment], bool]
    is_retry: bool = False

    def decide(self, aggregate: PaymentAggregate) -> RecordedAction:
        """Record the operation that fulfils the request, once (laws of money, 3 and 4)."""
        operation, is_new = _find_or_create(aggregate, self.request, self.context)
        if is_new:
            if not operation.state.final and not self.opens_keys(aggregate.payment):
                raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage(KEYS_NOT_OPENED))
            aggregate.operations.append(operation)
            operation.shares = requested_shares(operation)
            _flag_cut_grant(aggregate, operation, self.request, self.context)
            _report_to_saleor(aggregate, operation, self.context)
        elif self.is_retry:  # an intent of this very moment is ours, not that of another delivery (laws of money, 4)
            is_new = operation.state is State.INTENT and operation.created_at == self.context.now
        is_sent_now = is_new and operation.state is State.INTENT
        if self.request.by is None and not is_sent_now:
            _prepare_answer(aggregate, operation, self.context)
        return RecordedAction(aggregate, operation, is_new)


@dataclass(frozen=True, slots=True)
class ActionRepeated(Fact[ActionResponse | None]):
    """Saleor's request of an action is answered from the record, because an internal error prevented its answer.

    ``keys`` and ``digest`` name the request. Returns None when nothing is recorded of it, or it is not certain what.
    """

    action: AvailableAction
    keys: Sequence[str]
    digest: str
    page: PaymentPage
    context: DecisionContext

    def decide(self, aggregate: PaymentAggregate) -> ActionResponse | None:
        """Prepare the operation for the answer: it is pending until it is settled, and never failed."""
        operation = aggregate.operation_by_digest(self.digest) if self.digest else None
        if operation is None and len(self.keys) == 1:
            operation = aggregate.operation_by_key(self.keys[0])
        if operation is None:
            return None
        ensure_reference(aggregate.payment, operation)
        mark_answered(aggregate, operation, self.context)
        return action_response(aggregate, operation, self.action, self.page.address(aggregate.payment.order_id))


def _prepare_answer(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Prepare an operation for the answer that Saleor gets now, without a call of the gateway."""
    ensure_reference(aggregate.payment, operation)  # the answer names it
    if operation.state is not State.INTENT:  # an intent is being sent by another webhook right now
        mark_answered(aggregate, operation, context)


def _find_or_create(
    aggregate: PaymentAggregate, request: ActionRequest, context: DecisionContext
) -> tuple[Operation, bool]:
    known, key = _find_recorded(aggregate, request, context)
    if known is not None:
        return known, False
    if request.currency not in {None, aggregate.payment.currency}:
        raise RefusalError(
            RefusalCode.CURRENCY_NOT_SUPPORTED,
            LazyMessage("This payment is in %(currency)s.", currency=aggregate.payment.currency),
        )
    return _new_operation(aggregate, request, key, context), True


def _find_recorded(
    aggregate: PaymentAggregate, request: ActionRequest, context: DecisionContext
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
            record_repeated_request(aggregate, granted, new_key, request.digest, context)
            _flag_changed_grant(aggregate, granted, request.amount, context)
        return granted, granted.idempotency_key
    if new_key is not None:
        return None, new_key
    known = aggregate.operation_by_key(request.keys[0])
    assert known is not None  # noqa: S101 - else its key were new
    if not request.is_repeated_by(known):
        message = LazyMessage(
            "This was already requested before, with different details: over %(sum)s. See what became of that before "
            "you request more.",
            sum=Money(known.amount or aggregate.payment.amount, known.currency),  # a page is closed, over the whole
        )
        raise RefusalError(RefusalCode.NOT_POSSIBLE, message)
    return known, known.idempotency_key


def _flag_changed_grant(
    aggregate: PaymentAggregate, refund: Operation, amount: Decimal, context: DecisionContext
) -> None:
    """Put to staff a granted refund that was edited after it had been requested: Saleor takes it for failed then."""
    made = refund.requested.amount
    if made is None or made == amount:
        return
    currency = aggregate.payment.currency
    issue = Issue(IssueCode.GRANT_CHANGED, asked=Money(amount, currency), sum=Money(made, currency))
    raise_problem(aggregate, issue, context.now, cause=cause_of_mismatch(issue, None, refund.granted_refund_id or ""))


def _check_grant(request: ActionRequest, current: Balance) -> None:
    """Refuse more than was granted. Raises RefusalError.

    Of a granted refund over nothing, as of a gift that was sent back, Saleor requests all that was charged.
    """
    granted = None if request.granted is None else request.granted.amount
    if granted is None or request.amount <= granted.amount:
        return
    message = LazyMessage(
        "Saleor requested %(sum)s, but the granted refund is over %(granted)s: nothing was refunded. Enter the amount "
        "to refund in the granted refund, and request it again.",
        sum=current.sum(request.amount),
        granted=current.sum(granted.amount),
    )
    raise RefusalError(RefusalCode.NOT_POSSIBLE, message, "amount")


def _flag_cut_grant(
    aggregate: PaymentAggregate, refund: Operation, request: ActionRequest, context: DecisionContext
) -> None:
    """Put to staff a granted refund of which Saleor requests a part, as the payment has no more, and then no more."""
    granted = None if request.granted is None else request.granted.amount
    if granted is None or granted.amount <= refund.amount or refund.state.final:
        return
    currency = aggregate.payment.currency
    issue = Issue(
        IssueCode.GRANT_CUT,
        sum=Money(refund.amount, currency),
        granted=Money(granted.amount, currency),
        rest=Money(granted.amount - refund.amount, currency),
    )
    raise_problem(aggregate, issue, context.now, cause=cause_of_mismatch(issue, None, refund.granted_refund_id or ""))


def _new_operation(
    aggregate: PaymentAggregate, request: ActionRequest, key: str, context: DecisionContext
) -> Operation:
    """Return a new operation: an intent, one that has to wait, or one that the state of the payment rules out.

    The last is recorded as a failure if Saleor requests it: when the same request is repeated, the payment may have
    another state; but Saleor has been told that it failed, and staff may have acted on that. For staff in the app
    nothing is recorded, and RefusalError is raised.
    """
    now = context.now
    current = balance(aggregate.payment.flow, aggregate.operations)
    # It must not overtake a waiting operation either, in the moment before the worker sends that one.
    waits = current.in_flight or any(operation.state is State.WAITING for operation in aggregate.operations)
    state, message = (State.WAITING if waits else State.INTENT), None
    details = RequestDetails()
    try:
        _check_grant(request, current)
        step = step_for(
            request.action, request.amount, current, required_kind=request.required_kind, charge_id=request.charge_id
        )
        if request.charge_id is None:  # a later charge has neither shares nor products of its own
            details = _division(aggregate, step, request)
            is_full = step.kind is Kind.REFUND and is_full_refund(aggregate.payment, step.amount, aggregate.operations)
            details = replace(details, is_full=is_full)
    except RefusalError as refusal:
        if refusal.code is not RefusalCode.NOT_POSSIBLE or request.by is not None:
            raise
        amount = ZERO if request.action is AvailableAction.CANCEL else request.amount
        step, state, message = Step(_KINDS[request.action], amount), State.FAILURE, refusal.message
    close_reason = CloseReason.BY_STAFF if request.by is not None and step.kind is Kind.CANCEL else None
    if close_reason is not None:
        details = replace(details, closing_sentence=sentence_for_earlier_version(close_reason))
    elif reason := request.reasons.get(key, "").strip():
        details = replace(details, comment=_gateway_comment(reason))
    operation = Operation(
        kind=step.kind,
        idempotency_key=key,
        state=state,
        amount=step.amount,
        currency=aggregate.payment.currency,
        request=replace(details, amount=step.amount, is_rest=request.is_rest).write(
            aggregate.payment.order_id, aggregate.payment.currency
        ),
        origin=Origin.SALEOR if request.by is None else Origin.STAFF,
        close_reason=close_reason,
        asked_by_saleor=request.by is None,
        keeps_rest=step.kind is Kind.CAPTURE and keeps_rest(aggregate.payment.account),
        asked_by=request.by,
        granted_refund_id=None if request.granted is None else request.granted.id,
        charge_id=request.charge_id,
        message=message,
        next_poll_at=context.schedule.intent_deadline(now) if state is State.INTENT else None,
        created_at=now,
        updated_at=now,
    )
    if request.by is None:
        record_request(operation, key, request.digest, context)
    return operation


def _division(aggregate: PaymentAggregate, step: Step, request: ActionRequest) -> RequestDetails:
    """Return what a capture or refund requests for its shares and its receipt. Raises RefusalError."""
    match step.kind:
        case Kind.CAPTURE:
            return for_capture(aggregate, step.amount)
        case Kind.REFUND:
            return for_refund(aggregate, step.amount, request)
        case _:
            return RequestDetails()


def _gateway_comment(reason: str) -> str:
    """Return a reason as the gateway's comment (gateway interface, 3 to 6), without anything like a card number."""
    return _CARD_IN_REASON if holds_card_number(reason) else fit_text(reason, _LONGEST_COMMENT)


def _report_to_saleor(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Report at once an operation that Saleor did not request: it must not offer what is already being done."""
    if operation.requester is not Origin.STAFF:
        return
    message = f"Staff requested in the app to {describe_request(operation)}"
    enqueue_note(aggregate, message, context, reference=reference_of_request(operation.idempotency_key))
