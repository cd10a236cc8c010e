"""Statuses and status codes, with what each calls for and a reason for staff.

Source: gateway interface (States and transitions; Errors) and, for the codes that it does not list, the provider's
public status table. The status decides; a code only explains. For a code that is not in the table, or that contradicts
its status, the explanation is that of the status alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from integration_base.messages import gettext_noop


class Status(StrEnum):
    """The status of an operation. ``SUCCESS`` and ``FAILURE`` are final."""

    INIT = "init"
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"

    @property
    def final(self) -> bool:
        return self in (Status.SUCCESS, Status.FAILURE)


class CodeKind(StrEnum):
    """The action that a status code calls for."""

    DONE = "done"  # the operation succeeded
    WAIT = "wait"  # in progress: poll again later
    SHOPPER = "shopper"  # the shopper has to act
    STAFF = "staff"  # blocked until staff contact the provider
    RETRY = "retry"  # declined, another attempt can succeed (always with a new order id)
    FINAL = "final"  # declined, another attempt of the same kind cannot succeed
    CANCELLED = "cancelled"  # ended before it was paid


@dataclass(frozen=True, slots=True)
class StatusCode:
    """One row of the table; ``reason`` is for staff and logs, in English, without a full stop at its end."""

    code: str
    status: Status
    kind: CodeKind
    reason: str


# Statuses of older versions of the interface and its SDKs. "antifraud" may mean a check in progress as well as a
# rejection by it: taken as pending it costs a look-up, taken as a failure it could cost a payment.
LEGACY_STATUSES: Mapping[str, Status] = MappingProxyType(
    {
        "processing": Status.PENDING,
        "waiting": Status.PENDING,
        "antifraud": Status.PENDING,
        "rejected": Status.FAILURE,
        "unsuccessful": Status.FAILURE,
    }
)


def find_status(word: str) -> Status | None:
    """Return the status that ``word`` means, however it is capitalized; None for an undocumented word."""
    lowered = word.strip().lower()
    return next((status for status in Status if status.value == lowered), None) or LEGACY_STATUSES.get(lowered)


def read_status(word: str) -> Status:
    """Return the status that ``word`` means. An undocumented word decides nothing: it counts as pending."""
    return find_status(word) or Status.PENDING


WRONG_AMOUNT, WRONG_STATE = "4139", "4150"
"""Codes of a refusal because of what is left of a payment, or of the state that it is in."""

_ROWS = (
    StatusCode("1000", Status.SUCCESS, CodeKind.DONE, gettext_noop("Successful")),
    StatusCode("1002", Status.SUCCESS, CodeKind.DONE, gettext_noop("The amount is held on the payer's account")),
    StatusCode("1004", Status.SUCCESS, CodeKind.DONE, gettext_noop("Refunded")),
    StatusCode("1009", Status.SUCCESS, CodeKind.DONE, gettext_noop("Voided: the hold was released in full")),
    StatusCode("2001", Status.PENDING, CodeKind.WAIT, gettext_noop("Pending")),
    StatusCode("2012", Status.PENDING, CodeKind.WAIT, gettext_noop("Under anti-fraud review")),
    StatusCode(
        "2013",
        Status.PENDING,
        CodeKind.STAFF,
        gettext_noop("The provider is waiting for additional data. Contact the provider's support"),
    ),
    StatusCode("2102", Status.PENDING, CodeKind.SHOPPER, gettext_noop("The payer has to enter a one-time password")),
    StatusCode("2119", Status.PENDING, CodeKind.WAIT, gettext_noop("Being processed")),
    StatusCode("2122", Status.PENDING, CodeKind.SHOPPER, gettext_noop("The payer has to complete 3-D Secure")),
    StatusCode(
        "2123", Status.PENDING, CodeKind.SHOPPER, gettext_noop("The payer has to be redirected to the checkout page")
    ),
    StatusCode("2124", Status.PENDING, CodeKind.SHOPPER, gettext_noop("The payer has to be redirected to continue")),
    StatusCode(
        "2201",
        Status.PENDING,
        CodeKind.WAIT,
        gettext_noop("Waiting for clarification. If this does not change, contact the provider's support"),
    ),
    StatusCode("4000", Status.FAILURE, CodeKind.FINAL, gettext_noop("Request data is missing or invalid")),
    StatusCode("4001", Status.FAILURE, CodeKind.RETRY, gettext_noop("The card has expired")),
    StatusCode("4009", Status.FAILURE, CodeKind.RETRY, gettext_noop("Insufficient funds")),
    StatusCode("4010", Status.FAILURE, CodeKind.RETRY, gettext_noop("The limit on the number of payments is exceeded")),
    StatusCode("4012", Status.FAILURE, CodeKind.RETRY, gettext_noop("The limit on the amount is exceeded")),
    StatusCode(
        "4119",
        Status.FAILURE,
        CodeKind.RETRY,
        gettext_noop("This order id was used before. Another attempt needs a new one"),
    ),
    StatusCode("4124", Status.FAILURE, CodeKind.FINAL, gettext_noop("The currency is not enabled for this account")),
    StatusCode(
        WRONG_AMOUNT,
        Status.FAILURE,
        CodeKind.FINAL,
        gettext_noop("The amount is not allowed: outside the account's limits, or more than what is left"),
    ),
    StatusCode("4144", Status.FAILURE, CodeKind.RETRY, gettext_noop("Invalid card data")),
    StatusCode("4147", Status.FAILURE, CodeKind.RETRY, gettext_noop("3-D Secure was not completed in time")),
    StatusCode("4148", Status.FAILURE, CodeKind.RETRY, gettext_noop("Timed out")),
    StatusCode("4149", Status.FAILURE, CodeKind.RETRY, gettext_noop("The payment session expired")),
    StatusCode(
        WRONG_STATE,
        Status.FAILURE,
        CodeKind.FINAL,
        gettext_noop("The operation is not possible in the current state of the payment"),
    ),
    StatusCode("4151", Status.FAILURE, CodeKind.FINAL, gettext_noop("Request fields are invalid")),
    StatusCode(
        "4152",
        Status.FAILURE,
        CodeKind.FINAL,
        gettext_noop("The account is not configured for this. Contact the provider's support"),
    ),
    StatusCode("6007", Status.FAILURE, CodeKind.CANCELLED, gettext_noop("Cancelled before it was paid")),
)

TABLE: Mapping[str, StatusCode] = MappingProxyType({row.code: row for row in _ROWS})

_BY_STATUS = {
    Status.INIT: (
        CodeKind.WAIT,
        gettext_noop("Created, not yet attempted"),
    ),
    Status.PENDING: (CodeKind.WAIT, gettext_noop("Pending")),
    Status.SUCCESS: (CodeKind.DONE, gettext_noop("Successful")),
    # Nothing known rules out another attempt, and a shopper who is wrongly told to give up is a lost order.
    Status.FAILURE: (CodeKind.RETRY, gettext_noop("Declined")),
}


def explain(status: Status, code: str | None) -> StatusCode:
    """Return the row for ``code``; if it is unknown or contradicts ``status``, a row built from the status alone."""
    row = TABLE.get(code or "")
    if row is not None and row.status is status:
        return row
    return StatusCode(code or "", status, *_BY_STATUS[status])
