"""Posts gateway calls that failed, without returning a record, to the operation that they were made for."""

from datetime import datetime

import structlog

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, Mode, Operation, State
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
from app.payments.core.apply import conclude
from app.payments.core.page_cancellation import is_retried_until_confirmed, postpone_closing
from app.payments.core.posting import Posting, raise_problem
from app.payments.core.problems import ADDRESS, ADDRESS_DOUBTED, KEYS, KEYS_REFUSED, NOT_THE_GATEWAY
from app.payments.core.refusal import BUSY, STORE_UNAVAILABLE, shopper_message_of
from app.payments.core.saved_cards import is_card_refused, mark_card_refused

log = structlog.get_logger(__name__)

_NOTHING_HAPPENED = gettext_noop("Nothing was charged or changed")
KEYS_NOT_OPENED = gettext_noop("The keys of this merchant account cannot be decrypted. Nothing was charged or changed")
_UNREADABLE = gettext_noop("The gateway gave no readable response: the payment is being looked up")
_NOT_REACHED = gettext_noop("The gateway could not be reached. Nothing was charged or changed: try again")
_KEYS_REFUSED = gettext_noop("The gateway rejects the keys of this merchant account. Nothing was charged or changed")
_BUSY = gettext_noop("The gateway is busy. Nothing was charged or changed: try again in a minute")
_FIELDS_OF_SHOPPERS = ("customer_", "cc_", "wallet")


def is_outcome_unknown(error: GatewayError) -> bool:
    """Return True when the request may have been carried out (laws of money, 2)."""
    nothing_was_done = isinstance(error, RefusedError | NotSentError | KeysNotOpenedError | InvalidRequestError)
    return isinstance(error, DuplicateOrderError) or not nothing_was_done


def report_to_staff(aggregate: PaymentAggregate, error: GatewayError, now: datetime) -> None:
    """Raise a problem for an error that only a person can fix: refused keys, an address that is not the gateway's."""
    if isinstance(error, NotTheGatewayError):
        message = ADDRESS_DOUBTED if error.wrong_address else NOT_THE_GATEWAY
        raise_problem(aggregate, message, now, cause=ADDRESS)
    if isinstance(error, BadCredentialsError):
        raise_problem(aggregate, KEYS_REFUSED, now, cause=KEYS)


def post_error(aggregate: PaymentAggregate, operation: Operation, error: GatewayError, posting: Posting) -> None:
    """Post a failed call to the aggregate (laws of money, 2).

    Refused by the gateway itself, or provably not sent: the operation has failed. Any other error: its outcome is
    unknown, and will be looked up. An order id that the gateway already knows is our own earlier attempt, so it is
    looked up too. The closing of a page that must not be paid never fails by an error: it is retried.
    """
    log.warning("gateway call without a record", operation=operation.id, kind=operation.kind.value, error=str(error))
    report_to_staff(aggregate, error, posting.now)
    if is_retried_until_confirmed(operation):
        if not operation.state.final:
            reason = _UNREADABLE if is_outcome_unknown(error) else _staff_message(error)
            postpone_closing(operation, reason, posting.schedule, posting.now)
        return
    if is_outcome_unknown(error):
        conclude(
            aggregate,
            operation,
            State.UNKNOWN,
            posting,
            message=_UNREADABLE,
        )
        return
    code = _shopper_code(error, aggregate.payment.mode) if operation.kind is Kind.CREATE else None
    conclude(
        aggregate,
        operation,
        State.FAILURE,
        posting,
        message=_staff_message(error),
        shopper_message=shopper_message_of(code, aggregate.payment.language) if code else "",
        status_code=code or error.code,
    )
    if operation.kind is Kind.CREATE and isinstance(error, RefusedError) and is_card_refused(error):
        mark_card_refused(aggregate, posting.now)


def is_state_conflict(outcome: Checkout | PaymentRecord | OperationRecord | GatewayError) -> bool:
    """Return True when the gateway refuses because the payment's state differs from ours: look it up at once."""
    match outcome:
        case NotFoundError() | RefusedError(status_code="4139" | "4150"):
            return True
        case RefusedError(violations=violations):
            return any("amount" in each.field for each in violations)
        case PaymentRecord() | OperationRecord():
            return outcome.status is Status.FAILURE and outcome.status_code in {"4139", "4150"}
        case _:
            return False


def _shopper_code(error: GatewayError, mode: Mode) -> str | None:
    """Return our own code for an error whose gateway code means nothing to a shopper, else None.

    Shoppers are asked to try again only where that may help: not when the gateway refuses the request itself, such as
    an amount below the terminal's minimum. The message for staff contains the gateway's words and code.
    """
    match error:
        case BadCredentialsError() | KeysNotOpenedError():
            return STORE_UNAVAILABLE
        case RateLimitedError():
            return BUSY
        case RefusedError(violations=violations) if violations:
            own = any(violation.field.startswith(_FIELDS_OF_SHOPPERS) for violation in violations)
            return None if own else STORE_UNAVAILABLE
        case RefusedError(status_code=None) if mode is Mode.HOSTED:  # nobody has entered a card yet
            return STORE_UNAVAILABLE
        case _:
            return None


def _staff_message(error: GatewayError) -> str:
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
