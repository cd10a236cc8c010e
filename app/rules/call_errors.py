"""Posts gateway calls that failed, without returning a record, to the operation that they were made for."""

from collections.abc import Set
from datetime import datetime, timedelta

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Kind, State
from app.i18n.messages import LazyMessage, Verbatim, gettext_noop
from app.i18n.translation import translation_for
from app.rules.apply import conclude
from app.rules.decision_context import DecisionContext, raise_problem
from app.rules.details import Details, update_details
from app.rules.issues import Issue, IssueCode
from app.rules.page_cancellation import is_retried_until_confirmed, postpone_closing
from app.rules.problems import ADDRESS, KEYS, has_problem, has_unended_problem
from app.rules.refusal import AMOUNT_NOT_ACCEPTED, BUSY, DETAILS_NOT_ACCEPTED, STORE_UNAVAILABLE, shopper_message_of
from app.rules.saved_cards import is_card_refused, mark_card_refused
from app.rules.schedule import look_up_order_after, postpone_call
from app.rules.status_messages import status_message
from gateway_client.errors import (
    BadCredentialsError,
    DuplicateOrderError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    NotSentError,
    NotTheGatewayError,
    RateLimitedError,
    RefusedError,
)
from gateway_client.models import Checkout, OperationRecord, PaymentRecord, Status
from gateway_client.statuses import TABLE, WRONG_AMOUNT, WRONG_STATE, explain

_AMOUNT_FIELDS = frozenset({"amount", "currency"})
_SHOPPERS_FIELDS = frozenset(
    {"cc_number", "exp_month", "exp_year", "card_cvv", "customer_fname", "customer_lname", "customer_patronym"}
    | {"customer_email", "customer_phone", "customer_country", "customer_birthday", "customer_tax_id"}
)
_CONFLICT_CODES = frozenset({WRONG_AMOUNT, WRONG_STATE})
_NOTHING_HAPPENED = gettext_noop("Nothing was charged or changed")
KEYS_NOT_OPENED = gettext_noop("The keys of this merchant account cannot be decrypted. Nothing was charged or changed")
_UNREADABLE = gettext_noop("The gateway gave no readable response: the outcome is being looked up")
_NOT_REACHED = gettext_noop("The gateway could not be reached. Nothing was charged or changed: try again")
_KEYS_REFUSED = gettext_noop("The gateway rejects the keys of this merchant account. Nothing was charged or changed")
_REFUNDED_ELSEWHERE = gettext_noop(
    "This granted refund was requested for the payment %(order)s before, and is or may be refunded there: nothing was "
    "refunded again."
)
_BUSY = gettext_noop("The gateway is busy. Nothing was charged or changed: try again in a minute")
_BUSY_FOR_LONGER = gettext_noop("The gateway is busy for a while. Nothing was charged or changed: try again later")
_BUSY_FOR_SHOPPERS = gettext_noop(
    "The payment service is busy for a while, and nothing was charged. Please try again later."
)
_A_MINUTE = timedelta(minutes=1)


class KeysNotOpenedError(GatewayError):
    """None of this machine's secret keys opens the account's keys. Nothing was sent, and nothing can be."""


class RefundedElsewhereError(GatewayError):
    """The granted refund was taken from the payment of another order, or may be. Nothing was sent."""

    def __init__(self, order_id: str) -> None:
        super().__init__(LazyMessage(_REFUNDED_ELSEWHERE, order=order_id), order_id=order_id)


_NOTHING_WAS_DONE = (RefusedError, NotSentError, KeysNotOpenedError, RefundedElsewhereError, InvalidRequestError)


def is_outcome_unknown(error: GatewayError) -> bool:
    """Return True when the request may have been carried out (laws of money, 2)."""
    nothing_was_done = isinstance(error, _NOTHING_WAS_DONE)
    return isinstance(error, DuplicateOrderError) or not nothing_was_done


def report_to_staff(aggregate: PaymentAggregate, error: GatewayError, now: datetime) -> None:
    """Raise a problem for an error that only a person can fix: refused keys, an address that is not the gateway's."""
    if isinstance(error, NotTheGatewayError) and not has_unended_problem(aggregate.payment, ADDRESS):
        code = IssueCode.WRONG_ADDRESS if error.wrong_address else IssueCode.NOT_THE_GATEWAY
        said = {"said": Verbatim(error.said)} if error.said else {}
        raise_problem(aggregate, Issue(code, **said), now, cause=ADDRESS)
    if isinstance(error, BadCredentialsError):
        raise_problem(aggregate, Issue(IssueCode.KEYS_REFUSED), now, cause=KEYS)


def confirm_address(aggregate: PaymentAggregate, context: DecisionContext) -> None:
    """Have the order looked up where something else has answered in the gateway's place and nothing else is due.

    The outcome is known, by a notification or by a look-up that was quicker. One more look-up shows whether the gateway
    answers at that address again, so that the problem is cleared by itself (laws of money, 13).
    """
    is_due = any(operation.next_poll_at is not None for operation in aggregate.operations)
    if has_problem(aggregate.payment, ADDRESS) and not is_due:
        look_up_order_after(aggregate.create, context.schedule, context.now)


def post_error(
    aggregate: PaymentAggregate, operation: Operation, error: GatewayError, context: DecisionContext
) -> None:
    """Post a failed call to the aggregate (laws of money, 2).

    Refused by the gateway itself, or provably not sent: the operation has failed. Any other error: its outcome is
    unknown, and will be looked up. An order id that the gateway already knows is our own earlier attempt, so it is
    looked up too. The closing of a page that must not be paid never fails by an error: it is retried.
    """
    report_to_staff(aggregate, error, context.now)
    if is_retried_until_confirmed(operation):
        if not operation.state.final:
            reason = _unknown_message(error) if is_outcome_unknown(error) else _staff_message(error)
            postpone_closing(operation, reason, context.schedule, context.now)
        return
    if is_outcome_unknown(error):
        conclude(aggregate, operation, State.UNKNOWN, context, message=_unknown_message(error))
        return
    code = shopper_code_of(error) if operation.kind is Kind.CREATE else None
    if isinstance(error, RateLimitedError) and error.pause is not None:
        stated = Details(retry_after=context.now + timedelta(seconds=error.pause))
        update_details(operation, stated, behind=operation.state.final)
    conclude(
        aggregate,
        operation,
        State.FAILURE,
        context,
        message=_staff_message(error),
        shopper_message=_shopper_message(error, code, aggregate.payment.language) if code else "",
        status_code=code or _code_of(error),
    )
    if operation.kind is Kind.CREATE and isinstance(error, RefusedError) and is_card_refused(error):
        mark_card_refused(aggregate, context.now)


def can_wait_again(operation: Operation, error: GatewayError, context: DecisionContext) -> bool:
    """Return whether an operation that had waited for its turn waits for another one, as it was not carried out.

    The gateway takes no requests now, or cannot be reached. After a day of that it has failed, and staff are told.
    The day begins with its first turn: how long it waited for the operation before it says nothing of the gateway.
    """
    is_passing = isinstance(error, RateLimitedError | NotSentError) and not is_retried_until_confirmed(operation)
    # A notification or look-up may know more.
    is_still_open = operation.state is State.INTENT
    is_over = context.schedule.is_overdue(_turned_away_since(operation, context), context.now)
    return is_passing and is_still_open and not is_over


def wait_again(operation: Operation, error: GatewayError, context: DecisionContext) -> None:
    """Let an operation wait for another turn; not before the moment that the gateway has stated, if it has."""
    pause = timedelta(seconds=error.pause) if isinstance(error, RateLimitedError) and error.pause is not None else None
    since = _turned_away_since(operation, context)
    postpone_call(operation, pause, context.schedule, context.now, since=since)
    stated = None if pause is None else operation.next_poll_at
    operation.details = Details(retry_after=stated, turned_away_at=since).to_row()


def _turned_away_since(operation: Operation, context: DecisionContext) -> datetime:
    return Details.from_row(operation.details).turned_away_at or context.now


def is_state_conflict(outcome: Checkout | PaymentRecord | OperationRecord | GatewayError) -> bool:
    """Return True when the gateway refuses because the payment's state differs from ours: look it up at once."""
    match outcome:
        case NotFoundError():
            return True
        case RefusedError(status_code=str(code)) if code in _CONFLICT_CODES:
            return True
        case RefusedError(violations=violations):
            return any("amount" in violation.field for violation in violations)
        case PaymentRecord() | OperationRecord():
            return outcome.status is Status.FAILURE and outcome.status_code in _CONFLICT_CODES
        case _:
            return False


def shopper_code_of(error: GatewayError) -> str | None:
    """Return the code of the failure of a creation: the gateway's, if its table explains it to shoppers, else our own.

    Only what may work at the next attempt says so. None: the gateway refuses a saved card, which has words of its own.
    The message for staff contains the gateway's code.
    """
    match error:
        case RateLimitedError() | NotSentError():
            return BUSY
        case BadCredentialsError():
            return STORE_UNAVAILABLE
        case RefusedError(status_code=str(code)) if explain(Status.FAILURE, code) is TABLE.get(code):
            return code
        case RefusedError() if is_card_refused(error):
            return None
        case RefusedError(violations=violations) if violations:
            return _code_of_fields({violation.field for violation in violations})
        case _:
            return STORE_UNAVAILABLE


def _code_of(error: GatewayError) -> str | None:
    """Return the code that explains an error: of the table of status codes where the gateway names one."""
    return (error.status_code if isinstance(error, RefusedError) else None) or error.code


def _code_of_fields(fields: Set[str]) -> str:
    """Return the code of a refusal that names fields: whoever can change all of them is told."""
    others = fields - _SHOPPERS_FIELDS
    if not others:
        return DETAILS_NOT_ACCEPTED
    return AMOUNT_NOT_ACCEPTED if others <= _AMOUNT_FIELDS else STORE_UNAVAILABLE


def is_busy_for_longer(error: GatewayError) -> bool:
    """Return True when the gateway wants no requests for more than a minute."""
    return isinstance(error, RateLimitedError) and error.pause is not None and error.pause > _A_MINUTE.total_seconds()


def _shopper_message(error: GatewayError, code: str, language: str) -> str:
    if is_busy_for_longer(error):
        return translation_for(language).gettext(_BUSY_FOR_SHOPPERS)
    return status_message(TABLE[code], language) if code in TABLE else shopper_message_of(code, language)


def _unknown_message(error: GatewayError) -> str:
    return f"{_UNREADABLE} (“{error.said}”)" if error.said else _UNREADABLE


def message_of_passing(error: GatewayError) -> str | None:
    """Return the message for staff of an error that passes by itself: nothing was done; None: it is another error."""
    match error:
        case NotSentError():
            return _NOT_REACHED
        case RateLimitedError():
            return _BUSY_FOR_LONGER if is_busy_for_longer(error) else _BUSY
        case _:
            return None


def reason_of(error: GatewayError) -> str:
    """Return why the gateway refuses, in its own words, with those about single fields."""
    reason = error.message.rstrip(".")
    violations = error.violations if isinstance(error, RefusedError) else ()
    if not violations:
        return reason
    fields = "; ".join(f"{violation.field}: {violation.text}" for violation in violations)
    return f"{reason} ({fields})"


def _staff_message(error: GatewayError) -> str:
    code = f" [{error.code}]" if error.code else ""
    passing = message_of_passing(error)
    if passing is not None:
        return f"{passing}{code}"
    match error:
        case KeysNotOpenedError():
            return KEYS_NOT_OPENED
        case RefundedElsewhereError():
            return error.message
        case BadCredentialsError():
            return f"{_KEYS_REFUSED}{code}"
        case _:
            return f"The gateway refused the request: {reason_of(error)}. {_NOTHING_HAPPENED}{code}"
