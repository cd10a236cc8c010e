"""What follows from the outcome of a gateway call, for its operation and for the payment. Pure.

If the link of a payment page is lost with the gateway's answer, no one has the link, so no one can pay. The payment is
then concluded as failed, and the shopper is asked at once to try again. That conclusion is ours: a later report of the
gateway that the payment was made after all still counts (laws of money, 2). The page is closed in the background.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.core.fact import AttemptFact
from app.core.ids import OperationRowId
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import CloseReason, Kind, Mode, State
from app.i18n.messages import gettext_noop
from app.rules.apply import apply, conclude
from app.rules.call_errors import (
    can_wait_again,
    confirm_address,
    is_outcome_unknown,
    post_error,
    report_to_staff,
    wait_again,
)
from app.rules.decision_context import DecisionContext, enqueue_note
from app.rules.decisions.answer_window import mark_answered
from app.rules.decisions.competing_attempts import close_competing_pages, refusal_code
from app.rules.observation import Observations, gateway_id_of, is_ours, observation_from_record
from app.rules.page_cancellation import LOST_PAGE, have_page_closed, is_closing_for
from app.rules.problems import has_mismatch
from app.rules.references import as_known, ensure_reference
from app.rules.refusal import TRY_AGAIN, shopper_message_of
from app.rules.schedule import look_up_order_after, make_due
from app.rules.whole_order import apply_whole_order
from gateway_client.errors import GatewayError
from gateway_client.models import Checkout, OperationRecord, PaymentRecord, Status

Outcome: TypeAlias = Checkout | PaymentRecord | OperationRecord

_ANSWER_MISMATCH_MESSAGE = gettext_noop(
    "The gateway's response does not match the request: nothing is booked until a person has checked it"
)
_PAGE_WITHHELD_MESSAGE = gettext_noop(
    "Another payment for the same checkout or order is paid or at the bank: nobody received the link to this "
    "page, and it is being closed"
)


_LINK_LOST_MESSAGE = gettext_noop(
    "The address of the payment page was lost with the gateway's response. The shopper is asked to try again, "
    "and the page is being closed"
)


@dataclass(frozen=True, slots=True)
class CallReturned(AttemptFact[PaymentAggregate]):
    """The outcome of a gateway call for the operation with that row id, or its error. Returns the payment.

    ``others_acted``: others changed the payment before the call. ``observations`` is the whole order as the gateway
    shows it in that case, None if it was not looked up. ``waited``: the operation had waited for its turn, so
    nobody waits for this outcome; what provably was not done waits for another turn.

    Idempotent: recording the same outcome again changes nothing.
    """

    operation_id: OperationRowId
    outcome: Outcome | GatewayError
    context: DecisionContext
    others_acted: bool = False
    observations: Observations | None = None
    waited: bool = False

    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> PaymentAggregate:
        """Record the outcome; a new page can close other pages for the same debt, or be withheld."""
        account, context = aggregate.payment.account, self.context
        operation = aggregate.operation_by_id(self.operation_id)
        match self.outcome:
            case GatewayError() as error:
                self._record_error(aggregate, operation, error)
            case Checkout() as checkout:
                _record_link(aggregate, checkout, context)
                _withhold_if_covered(aggregate, attempts, context, replacing=account.cancel_older)
            case record:
                _store_gateway_id(aggregate, operation, record)
                seen = observation_from_record(record, aggregate.payment.language)
                apply(aggregate, [seen] if seen else [], context)
                if operation.kind is Kind.CREATE:
                    _conclude_creation(aggregate, operation, context)
                    close_competing_pages(attempts, aggregate.payment, context, replacing=account.cancel_older)
        if operation.kind is not Kind.CREATE:
            self._schedule_look_up(aggregate, operation)
        confirm_address(aggregate, context)
        ensure_reference(aggregate.payment, operation)
        if operation.kind is not Kind.CREATE and context.answered_operation_id is not None:
            mark_answered(aggregate, operation, context)
        return aggregate

    def _record_error(self, aggregate: PaymentAggregate, operation: Operation, error: GatewayError) -> None:
        """Record a call without a readable answer. If that loses the link of a page, its shopper must start again."""
        creation, context = operation.kind is Kind.CREATE, self.context
        if creation and is_outcome_unknown(error) and can_abandon_page(aggregate):
            report_to_staff(aggregate, error, context.now)
            abandon_page(aggregate, context)
        elif self.waited and can_wait_again(operation, error, context):
            wait_again(operation, error, context)
        else:
            post_error(aggregate, operation, error, context)

    def _schedule_look_up(self, aggregate: PaymentAggregate, operation: Operation) -> None:
        """Have the whole order looked up after an operation that has ended, unless that was done just now."""
        context = self.context
        if self.observations is not None:
            apply_whole_order(aggregate, self.observations, context)
        elif operation.state.final:
            if self.others_acted:
                make_due(operation, context.now)
            else:
                look_up_order_after(operation, context.schedule, context.now)


def _record_link(aggregate: PaymentAggregate, checkout: Checkout, context: DecisionContext) -> None:
    """Record the link of a page. If a notification has overtaken the answer, the payment keeps its later state.

    A failed payment gets no link any more: it may have been abandoned because the answer came too late.
    """
    payment, create = aggregate.payment, aggregate.create
    if create.state is State.FAILURE:
        return
    payment.checkout_url = checkout.checkout_url
    payment.qr_url = checkout.qr_url
    if create.state.rank > State.INIT.rank:
        return
    message = f"Waiting for the shopper on the payment page until {payment.expires_at:%Y-%m-%d %H:%M} UTC"
    conclude(aggregate, create, State.INIT, context, message=message)
    # Due after Saleor has read our answer. If the shopper pays before that, the note is superseded and never sent.
    enqueue_note(aggregate, message, context, due=context.now + context.schedule.answer_window)


def _withhold_if_covered(
    aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate], context: DecisionContext, *, replacing: bool
) -> None:
    """Close the pages that a new one replaces, or withhold this one if its debt was covered while it was opening."""
    payment = aggregate.payment
    if len(attempts) > 1:
        for attempt in attempts:  # two that began at the same moment have not seen each other
            attempt.payment.has_rivals = True
    close_competing_pages(attempts, payment, context, replacing=replacing)
    if not is_closing_for(aggregate, CloseReason.COVERED):
        return
    code = refusal_code(attempts, payment).value
    payment.checkout_url = payment.qr_url = None
    conclude(
        aggregate,
        aggregate.create,
        State.FAILURE,
        context,
        message=_PAGE_WITHHELD_MESSAGE,
        shopper_message=shopper_message_of(code, payment.language),
        status_code=code,
        inferred=True,
    )


def _conclude_creation(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Conclude a creation that was answered with a record: a hosted payment is over then, and has no page.

    A card payment about which the record settles nothing becomes UNKNOWN, and nothing is booked.
    """
    if aggregate.payment.mode is Mode.HOSTED:
        abandon_page(aggregate, context)
    else:
        conclude(aggregate, operation, State.UNKNOWN, context, message=_ANSWER_MISMATCH_MESSAGE)


def _store_gateway_id(
    aggregate: PaymentAggregate, operation: Operation, record: PaymentRecord | OperationRecord
) -> None:
    """Store the gateway's id of an operation, unless a notification has already tied that id to another one.

    A payment record identifies the operation only when it answers a card payment. If we have requested the other one
    too, the operation has perhaps been carried out: look-ups cannot tell the two apart.
    """
    of_card = operation.kind is Kind.CREATE and aggregate.payment.mode is Mode.DIRECT
    if operation.operation_id is not None or (isinstance(record, PaymentRecord) and not of_card):
        return
    gateway_id = as_known(aggregate, gateway_id_of(record))
    others = [other for other in aggregate.operations if other.operation_id == gateway_id]
    if not others:
        operation.operation_id = gateway_id
    elif any(other.kind is operation.kind and is_ours(other) for other in others) and not operation.state.final:
        operation.contradicted = record.status is not Status.FAILURE


def can_abandon_page(aggregate: PaymentAggregate) -> bool:
    """Return True for a hosted payment whose page can still open although no one has its link.

    False if the gateway's records do not match the payment: then a person must check first.
    """
    waiting = aggregate.create.state in {State.INTENT, State.UNKNOWN, State.INIT}
    hosted = aggregate.payment.mode is Mode.HOSTED
    return hosted and waiting and aggregate.payment.is_link_missing and not has_mismatch(aggregate.payment)


def abandon_page(aggregate: PaymentAggregate, context: DecisionContext) -> None:
    """Conclude that a payment failed whose page no one can open, and let the worker close that page.

    Call it once no answer with the link can arrive any more. Does nothing if the gateway has reported more since then.
    """
    if not can_abandon_page(aggregate):
        return
    conclude(
        aggregate,
        aggregate.create,
        State.FAILURE,
        context,
        message=_LINK_LOST_MESSAGE,
        shopper_message=shopper_message_of(TRY_AGAIN, aggregate.payment.language),
        status_code=TRY_AGAIN,
        inferred=True,
    )
    soon = context.now + context.schedule.first_settle  # a slow gateway may still be opening it
    have_page_closed(aggregate, key=LOST_PAGE, reason=CloseReason.LINK_LOST, due=soon, now=context.now)
