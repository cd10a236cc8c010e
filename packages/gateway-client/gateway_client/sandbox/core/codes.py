"""The gateway's status codes, and the status that goes with each.

Source: gateway interface, Errors; the codes that it omits, from the provider's public list. The wording is ours.
"""

from enum import StrEnum


class Status(StrEnum):
    """`status` of a payment or an operation (gateway interface, States and transitions)."""

    INIT = "init"
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


OK = "1000"
AUTHORISED = "1002"
REFUNDED = "1004"
VOIDED = "1009"
PROCESSING = "2119"
OTP_NEEDED = "2102"
CHALLENGE_NEEDED = "2122"
INSUFFICIENT_FUNDS = "4009"
CARD_EXPIRED = "4001"
BAD_CURRENCY = "4124"
BAD_AMOUNT = "4139"
BAD_CARD = "4144"
CHALLENGE_FAILED = "4147"
SESSION_EXPIRED = "4149"
INVALID_OPERATION = "4150"
CANCELLED = "6007"

DESCRIPTIONS = {
    OK: "Transaction successful",
    AUTHORISED: "Funds reserved",
    REFUNDED: "Refund successful",
    VOIDED: "Reverse successful",
    "2001": "Pending",
    "2012": "Under anti-fraud check",
    "2013": "The provider waits for more data",
    OTP_NEEDED: "One-time password needed",
    PROCESSING: "Being processed",
    CHALLENGE_NEEDED: "3DS verification required",
    "2123": "Waiting for the payer to open the checkout page",
    "2124": "Waiting for the payer to continue",
    "2201": "Waiting for clarification",
    "4000": "Data missing or invalid",
    CARD_EXPIRED: "Card expired",
    INSUFFICIENT_FUNDS: "Insufficient funds",
    "4010": "Limit on the number of payments exceeded",
    "4012": "Limit on the sum of payments exceeded",
    "4119": "Order id already used",
    BAD_CURRENCY: "Currency not supported",
    BAD_AMOUNT: "Invalid amount",
    BAD_CARD: "Invalid card data",
    CHALLENGE_FAILED: "3DS verification not completed",
    "4148": "Time ran out",
    SESSION_EXPIRED: "Session expired",
    INVALID_OPERATION: "Invalid operation",
    "4151": "Invalid input fields",
    "4152": "Invalid configuration",
    CANCELLED: "Payment cancelled",
}

PAYER_ACTION_CODES = frozenset({OTP_NEEDED, CHALLENGE_NEEDED, "2123", "2124"})
"""Pending codes that only the payer can resolve."""

SELF_SETTLING_CODES = frozenset({"2001", "2012", PROCESSING})
"""Pending codes that become a success after a while; the others stay until they are settled explicitly."""

LIMITS = {"4010": "payments_per_day", "4012": "amount_per_day"}
"""Codes that carry `limit_info`."""


def status_of(code: str) -> Status:
    """Return the status that a code stands for: 1xxx success, 2xxx pending, all others failure."""
    if code.startswith("1"):
        return Status.SUCCESS
    return Status.PENDING if code.startswith("2") else Status.FAILURE


def description_of(code: str) -> str:
    """Return the text of a code. An unlisted code has the text of a bank's refusal."""
    return DESCRIPTIONS.get(code, "Declined by the bank")
