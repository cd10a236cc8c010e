"""Messages for staff about differences between the gateway's books and ours: both values, and what to do. Pure."""

from app.db.tables import DiscrepancyKind
from app.i18n.messages import LazyMessage, Money, gettext_noop
from app.payments.core.labels import NAMES, STATES
from app.payments.reconciliation.compare import Difference


def difference_message(difference: Difference) -> LazyMessage:
    """Return the message for a difference that is escalated to staff."""
    entry, ours = difference.entry, difference.operation
    if entry is None:
        return _missing_from_books_message(difference)
    what, amount = NAMES[entry.kind], Money(entry.amount, entry.currency)
    if ours is not None and difference.kind is DiscrepancyKind.AMOUNT:
        return LazyMessage(
            "The gateway's records have a %(what)s of %(said)s where ours have %(ours)s. Compare this payment "
            "with the merchant portal.",
            what=what,
            said=amount,
            ours=Money(ours.amount, ours.currency),
        )
    if ours is not None and difference.kind is DiscrepancyKind.STATE:
        return LazyMessage(
            "According to the gateway's records, the %(what)s of %(said)s %(theirs)s; according to ours, it "
            "%(ours)s. Compare this payment with the merchant portal.",
            what=what,
            said=amount,
            theirs=STATES[entry.state],
            ours=STATES[ours.state],
        )
    return LazyMessage(_MESSAGES.get(difference.kind, _NOT_IN_RESPONSE), what=what, said=amount)


_MESSAGES = {
    DiscrepancyKind.RECEIVER: gettext_noop(
        "The gateway's records divide the %(what)s of %(said)s among other sub-merchants, or in another way, "
        "than was requested. Compare this payment with the merchant portal."
    ),
    DiscrepancyKind.UNTOLD: gettext_noop(
        "Saleor does not know of the %(what)s of %(said)s in the gateway's records. Compare this payment with "
        "the order in Saleor."
    ),
    DiscrepancyKind.CURRENCY: gettext_noop(
        "The gateway's records have a %(what)s of %(said)s in a currency other than the payment's. Compare it "
        "with the merchant portal."
    ),
}
_NOT_IN_RESPONSE = gettext_noop(
    "The gateway's records have a %(what)s of %(said)s that its response about this payment does not show. "
    "Compare the payment with the merchant portal."
)


def _missing_from_books_message(difference: Difference) -> LazyMessage:
    ours = difference.operation
    if ours is None:
        return LazyMessage(
            "The gateway's records have a line about this payment that the app cannot read. Compare it with the "
            "merchant portal."
        )
    return LazyMessage(
        "The gateway's records have no trace of the %(what)s of %(sum)s, which succeeded according to ours. "
        "Compare this payment with the merchant portal.",
        what=NAMES[ours.kind],
        sum=Money(ours.amount, ours.currency),
    )
