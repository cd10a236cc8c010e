"""What a call that did not return a record means for the operation that it was made for."""

from datetime import datetime

import structlog

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, Operation, State
from app.gateway.errors import (
    BadCredentialsError,
    DuplicateOrderError,
    GatewayError,
    InvalidRequestError,
    KeysNotOpenedError,
    NotFoundError,
    NotSentError,
    NotTheGatewayError,
    RateLimitedError,
    RefusedError,
)
from app.gateway.models import Checkout, OperationRecord, PaymentRecord, Status
from app.i18n.messages import gettext_noop
from app.payments.core.apply import Posting, conclude, raise_problem
from app.payments.core.page_cancellation import is_pursued, try_again_later
from app.payments.core.problems import ADDRESS, ADDRESS_DOUBTED, KEYS, KEYS_REFUSED, NOT_THE_GATEWAY
from app.payments.core.refusal import BUSY, STORE_UNAVAILABLE, shopper_words
from app.payments.core.saved_cards import is_refused, refuse_card

log = structlog.get_logger(__name__)

_NOTHING_HAPPENED = gettext_noop("Nothing was charged or changed")
KEYS_NOT_OPENED = gettext_noop("The keys of this merchant account cannot be opened. Nothing was charged or changed")
_UNREADABLE = gettext_noop("The gateway gave no readable answer: we are looking the payment up")
_NOT_REACHED = gettext_noop("The gateway could not be reached. Nothing was charged or changed: try again")
_KEYS_REFUSED = gettext_noop("The gateway refuses the keys of this merchant account. Nothing was charged or changed")
_BUSY = gettext_noop("The gateway is busy. Nothing was charged or changed: try again in a minute")


def is_unknown(error: GatewayError) -> bool:
    """Return True when what was asked may have been done (laws of money, 2)."""
    nothing_was_done = isinstance(error, RefusedError | NotSentError | KeysNotOpenedError | InvalidRequestError)
    return isinstance(error, DuplicateOrderError) or not nothing_was_done


def tell_staff(aggregate: PaymentAggregate, error: GatewayError, now: datetime) -> None:
    """Make what only a person can mend a problem: keys that are refused, an address that is not the gateway's."""
    if isinstance(error, NotTheGatewayError):
        words = ADDRESS_DOUBTED if error.wrong_address else NOT_THE_GATEWAY
        raise_problem(aggregate, words, now, cause=ADDRESS)
    if isinstance(error, BadCredentialsError):
        raise_problem(aggregate, KEYS_REFUSED, now, cause=KEYS)


def post_error(aggregate: PaymentAggregate, operation: Operation, error: GatewayError, posting: Posting) -> None:
    """Post a failed call to the aggregate (laws of money, 2).

    Refused by the gateway itself, or provably not sent: the operation has failed. Anything else: it is unknown, and
    will be looked up. An order id that the gateway knows already is our own earlier attempt, so it is looked up too.
    The closing of a page that must not be paid never fails by an error: the gateway is asked again.
    """
    log.warning("gateway call without a record", operation=operation.id, kind=operation.kind.value, error=str(error))
    tell_staff(aggregate, error, posting.now)
    if is_pursued(operation):
        if not operation.state.final:
            why = _UNREADABLE if is_unknown(error) else _for_staff(error)
            try_again_later(operation, why, posting.schedule, posting.now)
        return
    if is_unknown(error):
        conclude(
            aggregate,
            operation,
            State.UNKNOWN,
            posting,
            message=_UNREADABLE,
        )
        return
    told = _told_to_the_shopper(error) if operation.kind is Kind.CREATE else None
    conclude(
        aggregate,
        operation,
        State.FAILURE,
        posting,
        message=_for_staff(error),
        shopper_message=shopper_words(told, aggregate.payment.language) if told else "",
        status_code=told or error.code,
    )
    if operation.kind is Kind.CREATE and isinstance(error, RefusedError) and is_refused(error):
        refuse_card(aggregate, posting.now)


def others_have_acted(outcome: Checkout | PaymentRecord | OperationRecord | GatewayError) -> bool:
    """Return whether the gateway refuses because the payment stands otherwise than we believe: look at it at once."""
    match outcome:
        case NotFoundError() | RefusedError(status_code="4139" | "4150"):
            return True
        case RefusedError(violations=violations):
            return any("amount" in each.field for each in violations)
        case PaymentRecord() | OperationRecord():
            return outcome.status is Status.FAILURE and outcome.status_code in {"4139", "4150"}
        case _:
            return False


def _told_to_the_shopper(error: GatewayError) -> str | None:
    """Return a code of ours where the gateway's says nothing to a shopper; its own stands in the words for staff."""
    match error:
        case BadCredentialsError():
            return STORE_UNAVAILABLE
        case RateLimitedError():
            return BUSY
        case _:
            return None


def _for_staff(error: GatewayError) -> str:
    code = f" [{error.code}]" if error.code else ""
    match error:
        case NotSentError():
            return _NOT_REACHED
        case KeysNotOpenedError():
            return KEYS_NOT_OPENED
        case BadCredentialsError():
            return f"{_KEYS_REFUSED}{code}"
        case RateLimitedError():
            return f"{_BUSY}{code}"
        case RefusedError(violations=violations) if violations:
            fields = "; ".join(f"{each.field}: {each.text}" for each in violations)
            return f"The gateway refused the request: {error.message.rstrip('.')} ({fields}). {_NOTHING_HAPPENED}{code}"
        case _:
            return f"The gateway refused the request: {error.message.rstrip('.')}. {_NOTHING_HAPPENED}{code}"
