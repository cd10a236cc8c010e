"""Everything that may need a person: one name for each, stored with what it is about, shown to staff, and counted.

Their words are in ``reports.alerts.texts``: a title, what it means for the money, and what to do.

====================  ===========================================================  ==================================
alert                 raised while                                                 closed when
====================  ===========================================================  ==================================
``INSTALLATION``      Saleor has given a token that it does not accept yet         the app is activated
``UNAUTHORISED``      Saleor denies the app access                                 it grants access again
``UNOPENED``          no secret key of ours opens an account's keys                the key is back in the key file
``KEYS``              the gateway refuses an account's keys                        it accepts them
``ADDRESS``           something else responds at an account's address              the gateway responds there
``TURNED_AWAY``       in a channel shoppers are refused, and none gets through    one gets through, or acknowledged
``UNDELIVERED``       Saleor has not accepted an event for a while                 it accepts them
``REFUSED``           Saleor refuses an event for good                             it accepts it, or acknowledged
``DISPUTE``           a payer disputes a payment, or has won                       it has ended, and is acknowledged
``MISMATCH``          the gateway's record does not match the request              it has ended, and is acknowledged
``DIFFERENCE``        our books and the gateway's differ                           they agree, or acknowledged
``NOT_OWED``          money came for a cancelled order, for none, or too much      given back, or acknowledged
``NOT_PAID``          an order relies on a failed payment, or its total rose       paid or cancelled, or acknowledged
``PAID_TWICE``        several payments pay for the same                            enough is given back, or acknowledged
``CHARGED_ON``        a deleted customer's subscription, or a test one, goes on    it is cancelled, or acknowledged
``WAITING``           an outcome is not known for a day                            it is known
``SEALED``            no key of ours opens a notification                          the key is back, or acknowledged
``FAILED``            a notification cannot be processed for a while               it is processed, or acknowledged
``UNREADABLE``        the gateway has signed something that we cannot read         acknowledged
``UNMATCHED``         the gateway notifies of an order that we do not know         it is found later, or acknowledged
``UNKNOWN_ORDERS``    the gateway's books have paid orders that we do not know     acknowledged
``NOT_COMPARED``      the books of a night or a gap could not be compared          they can be
====================  ===========================================================  ==================================
"""

from enum import StrEnum


class AlertKind(StrEnum):
    """What an alert is about, the most urgent first."""

    INSTALLATION = "installation"
    UNAUTHORISED = "unauthorised"
    UNOPENED = "unopened"
    KEYS = "keys"
    ADDRESS = "address"
    TURNED_AWAY = "turned-away"
    UNDELIVERED = "undelivered"
    REFUSED = "refused"
    DISPUTE = "dispute"
    MISMATCH = "mismatch"
    DIFFERENCE = "difference"
    NOT_OWED = "not owed"
    NOT_PAID = "not paid"
    PAID_TWICE = "paid twice"
    CHARGED_ON = "charged on"
    WAITING = "waiting"
    SEALED = "sealed"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    UNMATCHED = "unmatched"
    UNKNOWN_ORDERS = "unknown-orders"
    NOT_COMPARED = "not-compared"


PAYMENT_ALERTS = (
    AlertKind.REFUSED,
    AlertKind.DISPUTE,
    AlertKind.MISMATCH,
    AlertKind.DIFFERENCE,
    AlertKind.NOT_OWED,
    AlertKind.NOT_PAID,
    AlertKind.PAID_TWICE,
    AlertKind.CHARGED_ON,
    AlertKind.WAITING,
)
"""Alerts in which each payment is a separate task."""

ACCOUNT_ALERTS = (AlertKind.UNOPENED, AlertKind.KEYS, AlertKind.ADDRESS, AlertKind.NOT_COMPARED)
"""Alerts in which the merchant account is the task, however many payments they affect."""

NOTIFICATION_ALERTS = (AlertKind.SEALED, AlertKind.FAILED, AlertKind.UNREADABLE, AlertKind.UNMATCHED)
"""Alerts about notifications, stored with them."""

PROBLEM_KINDS = (*PAYMENT_ALERTS, AlertKind.KEYS, AlertKind.ADDRESS, AlertKind.SEALED)
"""What a problem of a payment may be about."""
