"""What the gateway's answer to a call makes of the operation that it was made for, and of the payment. Pure.

The caller holds the payment's lock, and commits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import structlog

from app.gateway.errors import GatewayError
from app.gateway.models import Checkout, OperationRecord, PaymentRecord
from app.ledger.sheets import Sheet
from app.ledger.tables import Kind, Mode, Operation, State
from app.payments.begin.attempts import compare, covering, is_closed_for_others
from app.payments.change.answering import answered
from app.payments.outcome.apply import Posting, apply, conclude, note
from app.payments.outcome.errors import is_unknown, post_error, tell_staff
from app.payments.outcome.lost_page import give_up, may_be_given_up
from app.payments.outcome.references import keep_reference
from app.payments.outcome.seen import Shown, gateway_id_of, seen_in
from app.payments.outcome.shopper_words import shopper_words
from app.payments.said import marked

log = structlog.get_logger(__name__)

Outcome: TypeAlias = Checkout | PaymentRecord | OperationRecord

_DOES_NOT_FIT = marked("The gateway's answer does not fit what was asked: nothing is booked before a person has looked")
_WITHHELD = marked(
    "The same is paid or at the bank by another payment: nobody got the link of this page, and it is closed"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call; whether others ``acted`` before it; and what is ``shown`` of the order, if so."""

    outcome: Outcome | GatewayError
    acted: bool = False
    shown: Shown | None = None


def transition(
    sheet: Sheet, operation: Operation, answer: Answer, posting: Posting, attempts: Sequence[Sheet] = ()
) -> None:
    """Record the answer to the call of ``operation``. Recorded twice it is recorded once: repeats change nothing.

    ``attempts`` are all attempts to pay the same, oldest first and locked, this one among them.
    """
    account = sheet.payment.account
    match answer.outcome:
        case GatewayError() as error:
            _without_record(sheet, operation, error, posting)
        case Checkout() as checkout:
            _open_page(sheet, checkout, posting)
            _withhold_if_covered(sheet, attempts, posting, replacing=account.cancel_older)
        case record:
            _name(sheet, operation, record)
            seen = seen_in(record, sheet.payment.language)
            apply(sheet, account.pos_id, [seen] if seen else [], posting)
            if operation.kind is Kind.CREATE:
                _conclude_creation(sheet, operation, posting)
                compare(attempts, sheet.payment, posting, replacing=account.cancel_older)
    if operation.kind is not Kind.CREATE:
        if answer.shown is not None:
            apply(sheet, account.pos_id, answer.shown, posting)
        elif operation.state.final:
            operation.next_look_at = posting.now if answer.acted else posting.schedule.after_end(posting.now)
    keep_reference(sheet.payment, operation)
    if operation.kind is not Kind.CREATE and posting.answering is not None:
        answered(sheet, operation, posting)


def _without_record(sheet: Sheet, operation: Operation, error: GatewayError, posting: Posting) -> None:
    """Record a call without a readable answer. Of a page nobody has the link then: its shopper begins anew."""
    creation = operation.kind is Kind.CREATE
    if not (creation and is_unknown(error) and may_be_given_up(sheet)):
        post_error(sheet, operation, error, posting)
        return
    log.warning("the link of a payment page is lost", order_id=sheet.payment.order_id, error=str(error))
    tell_staff(sheet, error, posting.now)
    give_up(sheet, posting)


def _open_page(sheet: Sheet, checkout: Checkout, posting: Posting) -> None:
    """Record the link. The gateway's notification can have come before it: then the state is further along already.

    One that has failed gets no link any more: it may have been given up, because the answer came too late.
    """
    payment, create = sheet.payment, sheet.create
    if create.state is State.FAILURE:
        return
    payment.checkout_url = checkout.checkout_url
    payment.qr_url = checkout.qr_url
    if create.state.rank > State.INIT.rank:
        return
    message = f"Waiting for the shopper on the payment page until {payment.expires_at:%Y-%m-%d %H:%M} UTC"
    conclude(sheet, create, State.INIT, posting, message=message)
    # Saleor reads our answer first. And who pays at once makes the note needless: it is not told then.
    note(sheet, message, posting, due=posting.now + posting.schedule.answer_window)


def _withhold_if_covered(sheet: Sheet, attempts: Sequence[Sheet], posting: Posting, *, replacing: bool) -> None:
    """Have the pages closed that a new one replaces; or this one, if the same was covered while it was opened."""
    payment = sheet.payment
    if len(attempts) > 1:
        for each in attempts:  # of two that began in the same moment neither has seen the other
            each.payment.has_rivals = True
    compare(attempts, payment, posting, replacing=replacing)
    if not is_closed_for_others(sheet):
        return
    code = covering(attempts, payment).value
    payment.checkout_url = payment.qr_url = None
    conclude(
        sheet,
        sheet.create,
        State.FAILURE,
        posting,
        message=_WITHHELD,
        shopper_message=shopper_words(code, payment.language),
        status_code=code,
        inferred=True,
    )


def _conclude_creation(sheet: Sheet, operation: Operation, posting: Posting) -> None:
    """A payment that is over already has no page; of a card payment something must be known, or nothing is booked."""
    if sheet.payment.mode is Mode.HOSTED:
        give_up(sheet, posting)
    else:
        conclude(sheet, operation, State.UNKNOWN, posting, message=_DOES_NOT_FIT)


def _name(sheet: Sheet, operation: Operation, record: PaymentRecord | OperationRecord) -> None:
    """Keep the gateway's id of an operation, unless a notification has tied that id to another one meanwhile.

    A record of the payment names an operation only when it is the answer to a card payment.
    """
    of_card = operation.kind is Kind.CREATE and sheet.payment.mode is Mode.DIRECT
    if operation.operation_id is not None or (isinstance(record, PaymentRecord) and not of_card):
        return
    gateway_id = gateway_id_of(record)
    if all(each.operation_id != gateway_id for each in sheet.operations):
        operation.operation_id = gateway_id
