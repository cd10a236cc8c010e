"""What the gateway's answer to a call makes of the operation that it was made for, and of the payment. Pure.

The caller holds the payment's lock, and commits.

Of a payment page whose address got lost with the answer nobody has the link, so nobody can pay. The payment has failed
as far as its shopper is concerned, who is told at once to try again; that is our own conclusion, and the gateway's word
that somebody has paid all the same still counts (laws of money, 2). The page is closed behind the scenes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import structlog

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, Mode, Operation, State
from app.gateway.errors import GatewayError
from app.gateway.models import Checkout, OperationRecord, PaymentRecord
from app.i18n.messages import gettext_noop
from app.payments.core.apply import Posting, apply, conclude, note
from app.payments.core.call_errors import is_unknown, post_error, tell_staff
from app.payments.core.observation import Shown, gateway_id_of, seen_in
from app.payments.core.page_cancellation import LINK_IS_LOST, LOST_PAGE, cancellation, link_is_missing
from app.payments.core.problems import disagrees
from app.payments.core.references import keep_reference
from app.payments.core.refusal import TRY_AGAIN, shopper_words
from app.payments.operations.answer_window import answered
from app.payments.operations.competing_attempts import compare, covering, is_closed_for_others

log = structlog.get_logger(__name__)

Outcome: TypeAlias = Checkout | PaymentRecord | OperationRecord

_DOES_NOT_FIT = gettext_noop(
    "The gateway's answer does not fit what was asked: nothing is booked before a person has looked"
)
_WITHHELD = gettext_noop(
    "The same is paid or at the bank by another payment: nobody got the link of this page, and it is closed"
)


_GOT_LOST = gettext_noop(
    "The address of the payment page got lost with the gateway's answer. The shopper is asked to try again, and the "
    "page is closed"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call; whether others ``acted`` before it; and what is ``shown`` of the order, if so."""

    outcome: Outcome | GatewayError
    acted: bool = False
    shown: Shown | None = None


def transition(
    aggregate: PaymentAggregate,
    operation: Operation,
    answer: Answer,
    posting: Posting,
    attempts: Sequence[PaymentAggregate] = (),
) -> None:
    """Record the answer to the call of ``operation``. Recorded twice it is recorded once: repeats change nothing.

    ``attempts`` are all attempts to pay the same, oldest first and locked, this one among them.
    """
    account = aggregate.payment.account
    match answer.outcome:
        case GatewayError() as error:
            _without_record(aggregate, operation, error, posting)
        case Checkout() as checkout:
            _open_page(aggregate, checkout, posting)
            _withhold_if_covered(aggregate, attempts, posting, replacing=account.cancel_older)
        case record:
            _name(aggregate, operation, record)
            seen = seen_in(record, aggregate.payment.language)
            apply(aggregate, account.pos_id, [seen] if seen else [], posting)
            if operation.kind is Kind.CREATE:
                _conclude_creation(aggregate, operation, posting)
                compare(attempts, aggregate.payment, posting, replacing=account.cancel_older)
    if operation.kind is not Kind.CREATE:
        if answer.shown is not None:
            apply(aggregate, account.pos_id, answer.shown, posting)
        elif operation.state.final:
            operation.next_poll_at = posting.now if answer.acted else posting.schedule.after_end(posting.now)
    keep_reference(aggregate.payment, operation)
    if operation.kind is not Kind.CREATE and posting.answering is not None:
        answered(aggregate, operation, posting)


def _without_record(aggregate: PaymentAggregate, operation: Operation, error: GatewayError, posting: Posting) -> None:
    """Record a call without a readable answer. Of a page nobody has the link then: its shopper begins anew."""
    creation = operation.kind is Kind.CREATE
    if not (creation and is_unknown(error) and may_be_given_up(aggregate)):
        post_error(aggregate, operation, error, posting)
        return
    log.warning("the link of a payment page is lost", payment=aggregate.payment.order_id, error=str(error))
    tell_staff(aggregate, error, posting.now)
    give_up(aggregate, posting)


def _open_page(aggregate: PaymentAggregate, checkout: Checkout, posting: Posting) -> None:
    """Record the link. The gateway's notification can have come before it: then the state is further along already.

    One that has failed gets no link any more: it may have been given up, because the answer came too late.
    """
    payment, create = aggregate.payment, aggregate.create
    if create.state is State.FAILURE:
        return
    payment.checkout_url = checkout.checkout_url
    payment.qr_url = checkout.qr_url
    if create.state.rank > State.INIT.rank:
        return
    message = f"Waiting for the shopper on the payment page until {payment.expires_at:%Y-%m-%d %H:%M} UTC"
    conclude(aggregate, create, State.INIT, posting, message=message)
    # Saleor reads our answer first. And who pays at once makes the note needless: it is not told then.
    note(aggregate, message, posting, due=posting.now + posting.schedule.answer_window)


def _withhold_if_covered(
    aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate], posting: Posting, *, replacing: bool
) -> None:
    """Have the pages closed that a new one replaces; or this one, if the same was covered while it was opened."""
    payment = aggregate.payment
    if len(attempts) > 1:
        for each in attempts:  # of two that began in the same moment neither has seen the other
            each.payment.has_rivals = True
    compare(attempts, payment, posting, replacing=replacing)
    if not is_closed_for_others(aggregate):
        return
    code = covering(attempts, payment).value
    payment.checkout_url = payment.qr_url = None
    conclude(
        aggregate,
        aggregate.create,
        State.FAILURE,
        posting,
        message=_WITHHELD,
        shopper_message=shopper_words(code, payment.language),
        status_code=code,
        inferred=True,
    )


def _conclude_creation(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """A payment that is over already has no page; of a card payment something must be known, or nothing is booked."""
    if aggregate.payment.mode is Mode.HOSTED:
        give_up(aggregate, posting)
    else:
        conclude(aggregate, operation, State.UNKNOWN, posting, message=_DOES_NOT_FIT)


def _name(aggregate: PaymentAggregate, operation: Operation, record: PaymentRecord | OperationRecord) -> None:
    """Keep the gateway's id of an operation, unless a notification has tied that id to another one meanwhile.

    A record of the payment names an operation only when it is the answer to a card payment.
    """
    of_card = operation.kind is Kind.CREATE and aggregate.payment.mode is Mode.DIRECT
    if operation.operation_id is not None or (isinstance(record, PaymentRecord) and not of_card):
        return
    gateway_id = gateway_id_of(record)
    if all(each.operation_id != gateway_id for each in aggregate.operations):
        operation.operation_id = gateway_id


def may_be_given_up(aggregate: PaymentAggregate) -> bool:
    """Return True for a hosted payment that can still become a page, of which nobody has the link.

    Not if the gateway has said of it what does not agree: then a person must look first.
    """
    waiting = aggregate.create.state in {State.INTENT, State.UNKNOWN, State.INIT}
    hosted = aggregate.payment.mode is Mode.HOSTED
    return hosted and waiting and link_is_missing(aggregate.payment) and not disagrees(aggregate.payment)


def give_up(aggregate: PaymentAggregate, posting: Posting) -> None:
    """Conclude that a payment has failed whose page nobody can open, and have that page closed by the worker.

    To be called when no answer with the link can come any more. Does nothing when the gateway has told more meanwhile.
    """
    if not may_be_given_up(aggregate):
        return
    conclude(
        aggregate,
        aggregate.create,
        State.FAILURE,
        posting,
        message=_GOT_LOST,
        shopper_message=shopper_words(TRY_AGAIN, aggregate.payment.language),
        status_code=TRY_AGAIN,
        inferred=True,
    )
    if aggregate.by_key(LOST_PAGE) is None:
        soon = posting.now + posting.schedule.first_settle  # a slow gateway may only just be opening it
        closing = cancellation(
            aggregate.payment,
            key=LOST_PAGE,
            why=LINK_IS_LOST,
            state=State.WAITING,
            next_poll_at=soon,
            now=posting.now,
        )
        aggregate.operations.append(closing)
