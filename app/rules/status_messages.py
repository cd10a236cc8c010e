"""What a shopper reads about the status of a payment, by the gateway's status code (gateway interface, Errors)."""

from collections.abc import Mapping

from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from gateway_client.statuses import TABLE, Status, StatusCode

_DONE = gettext_noop("The payment was successful.")
_WAIT = gettext_noop("The payment is being processed.")
_AGAIN = gettext_noop("The payment did not go through. Please try again.")
_OTHER = gettext_noop("The payment did not go through. Please try another card or payment method.")
_SHOP = gettext_noop("The payment could not be accepted. Please contact the store.")

_BY_CODE: Mapping[str, str] = {
    "1000": _DONE,
    "1002": gettext_noop("The payment is confirmed."),
    "1004": gettext_noop("The money was refunded."),
    "1009": gettext_noop("The held amount was released."),
    "2001": _WAIT,
    "2012": _WAIT,
    "2013": _WAIT,
    "2102": gettext_noop("Please confirm the payment with the code sent to your phone."),
    "2119": _WAIT,
    "2122": gettext_noop("Please confirm the payment with your bank (3-D Secure)."),
    "2123": gettext_noop("Please continue on the payment page."),
    "2124": gettext_noop("Please continue on the page that your payment service opened."),
    "2201": _WAIT,
    "4000": _SHOP,
    "4001": gettext_noop("The card has expired. Please use another card."),
    "4009": gettext_noop("There is not enough money on the card. Please top it up or use another card."),
    "4010": gettext_noop(
        "This card has reached its limit on the number of payments. Please use another card or try again later."
    ),
    "4012": gettext_noop("This card's amount limit is exceeded. Please use another card or try again later."),
    "4119": _AGAIN,
    "4124": _SHOP,
    "4139": _SHOP,
    "4144": gettext_noop("The card data is not correct. Please check it and try again."),
    "4147": gettext_noop("The time to confirm the payment with your bank has run out. Please try again."),
    "4148": _AGAIN,
    "4149": gettext_noop("The payment page has expired. Please try again."),
    "4150": _SHOP,
    "4151": _SHOP,
    "4152": _SHOP,
    "6007": gettext_noop("The payment was cancelled."),
}

# Nothing known rules out another attempt, and a shopper who is wrongly told to give up is a lost order.
_BY_STATUS: Mapping[Status, str] = {
    Status.INIT: gettext_noop("The payment has not been made yet."),
    Status.PENDING: _WAIT,
    Status.SUCCESS: _DONE,
    Status.FAILURE: _OTHER,
}


def english_status_message(row: StatusCode) -> str:
    """Return the sentence for a row of the table; for a code that is not in it, that of the status alone."""
    return _BY_CODE[row.code] if TABLE.get(row.code) is row else _BY_STATUS[row.status]


def status_message(row: StatusCode, language: str) -> str:
    """Return the sentence in ``language``, an IETF tag or Saleor's code; in English if there is no translation."""
    return translation_for(language).gettext(english_status_message(row))
