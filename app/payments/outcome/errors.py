"""What a call that did not return a record means for the operation that it was made for."""

import structlog

from app.gateway.errors import (
    BadCredentials,
    DuplicateOrder,
    GatewayError,
    InvalidRequest,
    NotSent,
    OutcomeUnknown,
    RateLimited,
    Refused,
)
from app.ledger.sheets import Sheet
from app.ledger.tables import Operation, State
from app.payments.outcome.apply import Posting, conclude, raise_problem
from app.payments.outcome.problems import KEYS, KEYS_REFUSED
from app.payments.said import marked

log = structlog.get_logger(__name__)

_NOTHING_HAPPENED = marked("Nothing was charged or changed")
_UNREADABLE = marked("The gateway gave no readable answer: we are looking the payment up")
_NOT_REACHED = marked("The gateway could not be reached. Nothing was charged or changed: try again")
_KEYS_REFUSED = marked("The gateway refuses the keys of this merchant account. Nothing was charged or changed")
_BUSY = marked("The gateway is busy. Nothing was charged or changed: try again in a minute")


def post_error(sheet: Sheet, operation: Operation, error: GatewayError, posting: Posting) -> None:
    """Post a failed call to the sheet (laws of money, 2).

    Refused or provably not sent: the operation has failed. Anything else: it is unknown, and will be looked up. An
    order id that the gateway knows already is our own earlier attempt, so it is looked up too.
    """
    log.warning("gateway call without a record", operation=operation.id, kind=operation.kind.value, error=str(error))
    if isinstance(error, OutcomeUnknown | DuplicateOrder):
        conclude(
            sheet,
            operation,
            State.UNKNOWN,
            posting,
            message=_UNREADABLE,
        )
        return
    if isinstance(error, BadCredentials):
        raise_problem(sheet, KEYS_REFUSED, posting.now, cause=KEYS)
    conclude(
        sheet,
        operation,
        State.FAILURE,
        posting,
        message=_for_staff(error),
        status_code=error.code,
    )


def _for_staff(error: GatewayError) -> str:
    code = f" [{error.code}]" if error.code else ""
    match error:
        case NotSent():
            return _NOT_REACHED
        case BadCredentials():
            return f"{_KEYS_REFUSED}{code}"
        case RateLimited():
            return f"{_BUSY}{code}"
        case Refused(violations=violations) if violations:
            fields = "; ".join(f"{each.field}: {each.text}" for each in violations)
            return f"The gateway refused the request ({fields}). {_NOTHING_HAPPENED}{code}"
        case Refused() | InvalidRequest():
            return f"The gateway refused the request: {error.message.rstrip('.')}. {_NOTHING_HAPPENED}{code}"
        case _:
            return f"{_NOTHING_HAPPENED}{code}"
