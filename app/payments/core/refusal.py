"""A question that is refused before anything is recorded or called: what is wrong, in words for whoever can mend it."""

from dataclasses import dataclass
from enum import StrEnum


class RefusalCode(StrEnum):
    """Why. The storefront reads these in ``data.errors[].code``; they never change their meaning."""

    INVALID_DATA = "INVALID_DATA"
    CARD_DATA_REFUSED = "CARD_DATA_REFUSED"
    CARDS_NOT_ENABLED = "CARDS_NOT_ENABLED"
    CARD_UNREADABLE = "CARD_UNREADABLE"
    SEAL_OUTDATED = "SEAL_OUTDATED"
    INVALID_CARD = "INVALID_CARD"
    INVALID_RETURN_URL = "INVALID_RETURN_URL"
    MISSING_EMAIL = "MISSING_EMAIL"
    MISSING_PHONE = "MISSING_PHONE"
    MISSING_NAME = "MISSING_NAME"
    MISSING_BIRTHDAY = "MISSING_BIRTHDAY"
    MISSING_TAX_ID = "MISSING_TAX_ID"
    MISSING_IP = "MISSING_IP"
    CHANNEL_NOT_MAPPED = "CHANNEL_NOT_MAPPED"
    ACCOUNT_DISABLED = "ACCOUNT_DISABLED"
    CURRENCY_NOT_SUPPORTED = "CURRENCY_NOT_SUPPORTED"
    INVALID_AMOUNT = "INVALID_AMOUNT"
    ALREADY_PAID = "ALREADY_PAID"
    PAYMENT_IN_PROGRESS = "PAYMENT_IN_PROGRESS"
    PRODUCTS_DO_NOT_SUM = "PRODUCTS_DO_NOT_SUM"
    UNKNOWN_PAYMENT = "UNKNOWN_PAYMENT"
    NOT_POSSIBLE = "NOT_POSSIBLE"
    SPLIT_NOT_POSSIBLE = "SPLIT_NOT_POSSIBLE"


@dataclass(eq=False)  # an exception is written to (its traceback) wherever it passes, so it cannot be frozen
class RefusalError(Exception):
    """Raised where the question is refused, answered where it came in.

    ``message`` is read by shoppers, staff and storefront developers alike: it names no secret and no address of ours.
    ``field`` is where the storefront can pass what is missing, for example ``data.customer.phone``. ``shopper`` is
    given when only the shopper can mend it: words in the shopper's language, which the storefront gets instead.
    """

    code: RefusalCode
    message: str
    field: str | None = None
    shopper: str | None = None

    def __str__(self) -> str:
        return self.message
