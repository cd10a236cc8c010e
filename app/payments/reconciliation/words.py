"""What staff read of a difference between the gateway's books and ours: what each says, and what to do. Pure."""

from app.db.tables import DiscrepancyKind
from app.i18n.messages import LazyMessage, Money, gettext_noop
from app.payments.core.labels import NAMES, STATES
from app.payments.reconciliation.compare import Difference


def words_of(difference: Difference) -> LazyMessage:
    """Return what is said of a difference that is put to people."""
    entry, ours = difference.entry, difference.operation
    if entry is None:
        return _not_in_the_books(difference)
    what, said = NAMES[entry.kind], Money(entry.amount, entry.currency)
    if ours is not None and difference.kind is DiscrepancyKind.AMOUNT:
        return LazyMessage(
            "The gateway's books have a %(what)s of %(said)s where ours have %(ours)s. Compare this payment with the "
            "merchant portal.",
            what=what,
            said=said,
            ours=Money(ours.amount, ours.currency),
        )
    if ours is not None and difference.kind is DiscrepancyKind.STATE:
        return LazyMessage(
            "By the gateway's books the %(what)s of %(said)s %(theirs)s, by ours it %(ours)s. Compare this payment "
            "with the merchant portal.",
            what=what,
            said=said,
            theirs=STATES[entry.state],
            ours=STATES[ours.state],
        )
    return LazyMessage(_OTHERS.get(difference.kind, _NOT_IN_THE_ANSWER), what=what, said=said)


_OTHERS = {
    DiscrepancyKind.RECEIVER: gettext_noop(
        "The gateway's books divide the %(what)s of %(said)s among other sub-merchants, or otherwise, than was asked. "
        "Compare this payment with the merchant portal."
    ),
    DiscrepancyKind.UNTOLD: gettext_noop(
        "Saleor does not know of the %(what)s of %(said)s that the gateway's books have. Compare this payment with the "
        "order in Saleor."
    ),
    DiscrepancyKind.CURRENCY: gettext_noop(
        "The gateway's books have a %(what)s of %(said)s, in another currency than the payment. Compare it with the "
        "merchant portal."
    ),
}
_NOT_IN_THE_ANSWER = gettext_noop(
    "The gateway's books have a %(what)s of %(said)s that its answer about this payment does not show. Compare the "
    "payment with the merchant portal."
)


def _not_in_the_books(difference: Difference) -> LazyMessage:
    ours = difference.operation
    if ours is None:
        return LazyMessage(
            "The gateway's books have a line about this payment that the app cannot read. Compare it with the merchant "
            "portal."
        )
    return LazyMessage(
        "The gateway's books have no trace of the %(what)s of %(sum)s, which has succeeded by ours. Compare this "
        "payment with the merchant portal.",
        what=NAMES[ours.kind],
        sum=Money(ours.amount, ours.currency),
    )
