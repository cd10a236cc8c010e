"""The error for a request that is refused before anything is recorded or called, with a message on what to correct.

The storefront gets a code, and a message for its shopper.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import ParamSpec, TypeVar

from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for


class RefusalCode(StrEnum):
    """The reason of a refusal. The storefront reads it in ``data.errors[].code``; codes never change their meaning."""

    INVALID_DATA = "INVALID_DATA"
    CARD_DATA_REFUSED = "CARD_DATA_REFUSED"
    CARDS_NOT_ENABLED = "CARDS_NOT_ENABLED"
    CARD_UNREADABLE = "CARD_UNREADABLE"
    SEAL_OUTDATED = "SEAL_OUTDATED"
    INVALID_CARD = "INVALID_CARD"
    SAVED_CARD_UNUSABLE = "SAVED_CARD_UNUSABLE"
    WALLET_NOT_ENABLED = "WALLET_NOT_ENABLED"
    WALLET_UNAVAILABLE = "WALLET_UNAVAILABLE"
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
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    INVALID_AMOUNT = "INVALID_AMOUNT"
    AMOUNT_NOT_ACCEPTED = "AMOUNT_NOT_ACCEPTED"
    AMOUNT_TOO_HIGH = "AMOUNT_TOO_HIGH"
    ALREADY_PAID = "ALREADY_PAID"
    PAYMENT_IN_PROGRESS = "PAYMENT_IN_PROGRESS"
    PRODUCTS_DO_NOT_SUM = "PRODUCTS_DO_NOT_SUM"
    UNKNOWN_PAYMENT = "UNKNOWN_PAYMENT"
    NOT_POSSIBLE = "NOT_POSSIBLE"
    SPLIT_NOT_POSSIBLE = "SPLIT_NOT_POSSIBLE"


@dataclass(eq=False)  # Python sets an exception's traceback while it propagates, so it cannot be frozen
class RefusalError(Exception):
    """Raised where a request is refused, turned into an answer where the request was received.

    ``message`` is read by shoppers, staff and storefront developers alike: it contains no secret and no address of
    ours. ``field`` is where the storefront can pass the missing value, for example ``data.customer.phone``.
    ``shopper_message`` is set when only the shopper can correct the request: a message in the shopper's language, which
    the storefront gets instead. ``amount_to_pay`` is set when too much is requested: the amount that is left to pay. A
    refusal for several reasons has ``reasons``; the rest of it is about the first.
    """

    code: RefusalCode
    message: str
    field: str | None = None
    shopper_message: str | None = None
    amount_to_pay: Decimal | None = None
    reasons: tuple["RefusalError", ...] = ()

    def __str__(self) -> str:
        return self.message


def combine(refusals: Sequence[RefusalError]) -> RefusalError:
    """Return one refusal for all reasons, of which there is at least one."""
    reasons = tuple(reason for refusal in refusals for reason in refusal.reasons or (refusal,))
    if len(reasons) == 1:
        return reasons[0]
    first = reasons[0]
    return replace(first, message=" ".join(reason.message for reason in reasons), reasons=reasons)


_P = ParamSpec("_P")
_T = TypeVar("_T")


class Refusals:
    """The reasons to refuse one request, collected so that whoever corrects it reads them all at once."""

    def __init__(self) -> None:
        self._found: list[RefusalError] = []

    def collect(self, check: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        """Return what ``check`` returns; None if it refuses."""
        try:
            return check(*args, **kwargs)
        except RefusalError as refusal:
            self._found.append(refusal)
            return None

    def combined(self) -> RefusalError:
        """Return one refusal for all that was found, which is at least one."""
        return combine(self._found)

    def raise_if_any(self) -> None:
        """Raise RefusalError with all reasons, if there are any."""
        if self._found:
            raise self.combined()


DECLINED = "DECLINED"
TRY_AGAIN = "TRY_AGAIN"
BUSY = "BUSY"
STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
AMOUNT_NOT_ACCEPTED = "AMOUNT_NOT_ACCEPTED"
DETAILS_NOT_ACCEPTED = "DETAILS_NOT_ACCEPTED"
GATEWAY_REFUSALS = frozenset({TRY_AGAIN, BUSY, STORE_UNAVAILABLE, AMOUNT_NOT_ACCEPTED, DETAILS_NOT_ACCEPTED})
"""The codes of payments that the gateway did not create: their shoppers did not get through."""

_SHOPPER_MESSAGES = {
    DECLINED: gettext_noop("The payment did not go through. Please try again."),
    BUSY: gettext_noop("The payment service is busy, and nothing was charged. Please try again in a minute."),
    STORE_UNAVAILABLE: gettext_noop(
        "The store cannot take this payment at the moment, and nothing was charged. Please contact the store."
    ),
    AMOUNT_NOT_ACCEPTED: gettext_noop(
        "The store cannot take this payment for this amount, and nothing was charged. Please choose another way to "
        "pay, or contact the store."
    ),
    DETAILS_NOT_ACCEPTED: gettext_noop(
        "The payment service does not accept some of your details, and nothing was charged. Please check them, or "
        "choose another way to pay."
    ),
    "SAVED_CARD_UNUSABLE": gettext_noop("This saved card cannot be used. Please pay with another card."),
    "AMOUNT_TOO_HIGH": gettext_noop(
        "Less is left to pay than this amount, and nothing was charged. Please reload the page and try again."
    ),
    "ALREADY_PAID": gettext_noop("This has already been paid. Please do not pay again."),
    "PAYMENT_IN_PROGRESS": gettext_noop(
        "Your bank is processing your payment. Please wait a moment, and do not pay again."
    ),
    TRY_AGAIN: gettext_noop("The payment page could not be opened, and nothing was charged. Please try again."),
}


def shopper_message_of(code: str | None, language: str) -> str:
    """Return the message for the shopper for one of our codes; by default, that the payment did not go through."""
    return translation_for(language).gettext(english_shopper_message(code))


def english_shopper_message(code: str | None) -> str:
    """Return the message for the shopper in English, from which it is translated."""
    return _SHOPPER_MESSAGES.get(code or DECLINED, _SHOPPER_MESSAGES[DECLINED])
