"""Statuses and status codes, and what to tell the shopper and the staff about each.

Source: gateway interface (States and transitions; Errors) and, for the codes that it does not list, the public
status table of the provider. The status decides; a code only explains. A code that is not in the table, or that
contradicts the status it came with, is explained by the status alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Status(StrEnum):
    """How far an operation is. ``SUCCESS`` and ``FAILURE`` are final."""

    INIT = "init"
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"

    @property
    def final(self) -> bool:
        return self in (Status.SUCCESS, Status.FAILURE)


class Kind(StrEnum):
    """What a status code asks of us."""

    DONE = "done"  # the operation succeeded
    WAIT = "wait"  # in progress: look again later
    SHOPPER = "shopper"  # the shopper has to do something
    STAFF = "staff"  # it moves only when somebody contacts the provider
    RETRY = "retry"  # declined, another attempt can succeed (always with a new order id)
    FINAL = "final"  # declined, another attempt of the same kind cannot succeed
    CANCELLED = "cancelled"  # ended before it was paid


@dataclass(frozen=True, slots=True)
class StatusCode:
    """One row of the table: words for the shopper in English and Ukrainian, words for staff, and the kind."""

    code: str
    status: Status
    kind: Kind
    en: str
    uk: str
    staff: str

    def shopper(self, language: str) -> str:
        """The words for the shopper in ``language`` (an IETF tag or Saleor's code; English unless Ukrainian)."""
        primary = language.replace("_", "-").split("-", 1)[0].lower()
        return self.uk if primary == "uk" else self.en


# Words that older versions of the interface and its SDKs use. "antifraud" may stand for a check in progress as well
# as for a refusal by it; read as pending it costs a look-up, read as failure it could cost a payment.
OLD_WORDS: Mapping[str, Status] = MappingProxyType(
    {
        "processing": Status.PENDING,
        "waiting": Status.PENDING,
        "antifraud": Status.PENDING,
        "rejected": Status.FAILURE,
        "unsuccessful": Status.FAILURE,
    }
)


def read_status(word: str) -> Status:
    """The status that ``word`` means. A word that nobody documents decides nothing: it is read as pending."""
    lowered = word.strip().lower()
    for status in Status:
        if status.value == lowered:
            return status
    return OLD_WORDS.get(lowered, Status.PENDING)


_DONE_EN, _DONE_UK = "The payment was successful.", "Оплату здійснено успішно."
_WAIT_EN, _WAIT_UK = "The payment is being processed.", "Платіж обробляється."
_AGAIN_EN = "The payment did not go through. Please try again."
_AGAIN_UK = "Оплата не пройшла. Будь ласка, спробуйте ще раз."
_OTHER_EN = "The payment did not go through. Please try another card or payment method."
_OTHER_UK = "Оплата не пройшла. Будь ласка, спробуйте іншу картку або інший спосіб оплати."
_SHOP_EN = "The payment could not be accepted. Please contact the store."
_SHOP_UK = "Платіж не може бути прийнято. Будь ласка, зверніться до магазину."

_ROWS = (
    StatusCode("1000", Status.SUCCESS, Kind.DONE, _DONE_EN, _DONE_UK, "Successful."),
    StatusCode(
        "1002",
        Status.SUCCESS,
        Kind.DONE,
        "The payment is confirmed.",
        "Платіж підтверджено.",
        "The amount is held on the payer's account.",
    ),
    StatusCode("1004", Status.SUCCESS, Kind.DONE, "The money was refunded.", "Кошти повернено.", "Refunded."),
    StatusCode(
        "1009",
        Status.SUCCESS,
        Kind.DONE,
        "The reservation was released.",
        "Резервування коштів скасовано.",
        "Voided: the hold was released in full.",
    ),
    StatusCode("2001", Status.PENDING, Kind.WAIT, _WAIT_EN, _WAIT_UK, "Pending."),
    StatusCode("2012", Status.PENDING, Kind.WAIT, _WAIT_EN, _WAIT_UK, "In the anti-fraud check."),
    StatusCode(
        "2013",
        Status.PENDING,
        Kind.STAFF,
        _WAIT_EN,
        _WAIT_UK,
        "The provider waits for additional data. Contact the provider's support.",
    ),
    StatusCode(
        "2102",
        Status.PENDING,
        Kind.SHOPPER,
        "Please confirm the payment with the code sent to your phone.",
        "Будь ласка, підтвердьте платіж кодом, надісланим на ваш телефон.",
        "The payer has to enter a one-time password.",
    ),
    StatusCode("2119", Status.PENDING, Kind.WAIT, _WAIT_EN, _WAIT_UK, "Being processed."),
    StatusCode(
        "2122",
        Status.PENDING,
        Kind.SHOPPER,
        "Please confirm the payment with your bank (3-D Secure).",
        "Будь ласка, підтвердьте платіж у вашому банку (3-D Secure).",
        "The payer has to pass 3-D Secure.",
    ),
    StatusCode(
        "2123",
        Status.PENDING,
        Kind.SHOPPER,
        "Please continue on the payment page.",
        "Будь ласка, продовжте на сторінці оплати.",
        "The payer has to be redirected to the checkout page.",
    ),
    StatusCode(
        "2124",
        Status.PENDING,
        Kind.SHOPPER,
        "Please continue on the page that your payment service opened.",
        "Будь ласка, продовжте на сторінці, яку відкрила платіжна служба.",
        "The payer has to be redirected to continue.",
    ),
    StatusCode(
        "2201",
        Status.PENDING,
        Kind.WAIT,
        _WAIT_EN,
        _WAIT_UK,
        "Waiting for clarification. If it stays so, contact the provider's support.",
    ),
    StatusCode("4000", Status.FAILURE, Kind.FINAL, _SHOP_EN, _SHOP_UK, "Data of the request is missing or invalid."),
    StatusCode(
        "4001",
        Status.FAILURE,
        Kind.RETRY,
        "The card has expired. Please use another card.",
        "Термін дії картки закінчився. Будь ласка, використайте іншу картку.",
        "The card has expired.",
    ),
    StatusCode(
        "4009",
        Status.FAILURE,
        Kind.RETRY,
        "There is not enough money on the card. Please top it up or use another card.",
        "На картці недостатньо коштів. Будь ласка, поповніть її або використайте іншу картку.",
        "Insufficient funds.",
    ),
    StatusCode(
        "4010",
        Status.FAILURE,
        Kind.RETRY,
        "This card's limit on the number of payments is reached. Please use another card or try later.",
        "Вичерпано ліміт кількості платежів цією карткою. Використайте іншу картку або спробуйте пізніше.",
        "The limit on the number of payments is exceeded.",
    ),
    StatusCode(
        "4012",
        Status.FAILURE,
        Kind.RETRY,
        "This card's limit on the amount is exceeded. Please use another card or try later.",
        "Перевищено ліміт суми для цієї картки. Використайте іншу картку або спробуйте пізніше.",
        "The limit on the amount is exceeded.",
    ),
    StatusCode(
        "4119",
        Status.FAILURE,
        Kind.RETRY,
        _AGAIN_EN,
        _AGAIN_UK,
        "This order id was used before. Another attempt needs a new one.",
    ),
    StatusCode("4124", Status.FAILURE, Kind.FINAL, _SHOP_EN, _SHOP_UK, "The currency is not enabled for this account."),
    StatusCode(
        "4139",
        Status.FAILURE,
        Kind.FINAL,
        _SHOP_EN,
        _SHOP_UK,
        "The amount is not allowed: outside of the account's limits, or above what is left.",
    ),
    StatusCode(
        "4144",
        Status.FAILURE,
        Kind.RETRY,
        "The card data is not correct. Please check it and try again.",
        "Дані картки неправильні. Будь ласка, перевірте їх і спробуйте ще раз.",
        "Invalid card data.",
    ),
    StatusCode(
        "4147",
        Status.FAILURE,
        Kind.RETRY,
        "The time for confirming with your bank ran out. Please try again.",
        "Час на підтвердження в банку вичерпано. Будь ласка, спробуйте ще раз.",
        "3-D Secure was not passed in time.",
    ),
    StatusCode("4148", Status.FAILURE, Kind.RETRY, _AGAIN_EN, _AGAIN_UK, "Timed out."),
    StatusCode(
        "4149",
        Status.FAILURE,
        Kind.RETRY,
        "The payment page has expired. Please try again.",
        "Час дії платіжної сторінки вичерпано. Будь ласка, спробуйте ще раз.",
        "The payment session expired.",
    ),
    StatusCode(
        "4150",
        Status.FAILURE,
        Kind.FINAL,
        _SHOP_EN,
        _SHOP_UK,
        "The operation is not possible in the present state of the payment.",
    ),
    StatusCode("4151", Status.FAILURE, Kind.FINAL, _SHOP_EN, _SHOP_UK, "Fields of the request are invalid."),
    StatusCode(
        "4152",
        Status.FAILURE,
        Kind.FINAL,
        _SHOP_EN,
        _SHOP_UK,
        "The account is not configured for this. Contact the provider's support.",
    ),
    StatusCode(
        "6007",
        Status.FAILURE,
        Kind.CANCELLED,
        "The payment was cancelled.",
        "Платіж скасовано.",
        "Cancelled before it was paid.",
    ),
)

TABLE: Mapping[str, StatusCode] = MappingProxyType({row.code: row for row in _ROWS})

_BY_STATUS = {
    Status.INIT: (
        Kind.WAIT,
        "The payment has not been made yet.",
        "Платіж ще не здійснено.",
        "Created, not yet attempted.",
    ),
    Status.PENDING: (Kind.WAIT, _WAIT_EN, _WAIT_UK, "Pending."),
    Status.SUCCESS: (Kind.DONE, _DONE_EN, _DONE_UK, "Successful."),
    # Nothing known forbids another attempt, and a shopper who is told to give up wrongly is a lost order.
    Status.FAILURE: (Kind.RETRY, _OTHER_EN, _OTHER_UK, "Declined."),
}


def explain(status: Status, code: str | None) -> StatusCode:
    """The row for ``code``; if it is unknown or contradicts ``status``, a row made of the status alone."""
    row = TABLE.get(code or "")
    if row is not None and row.status is status:
        return row
    kind, en, uk, staff = _BY_STATUS[status]
    return StatusCode(code=code or "", status=status, kind=kind, en=en, uk=uk, staff=staff)
