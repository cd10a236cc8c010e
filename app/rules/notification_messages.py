"""What came of a notification, in words."""

from app.core.notification import Outcome, OutcomeCode
from app.i18n.messages import LazyMessage, Verbatim, gettext_noop

_MESSAGES = {
    OutcomeCode.TO_REVIEW: gettext_noop("for review: %(facts)s"),
    OutcomeCode.NOTHING_TO_DO: gettext_noop("nothing to do for %(facts)s"),
    OutcomeCode.UNMATCHED: gettext_noop("no payment of ours has this order"),
    OutcomeCode.OF_ANOTHER_SHOP: gettext_noop("the order is another shop's"),
    OutcomeCode.UNREADABLE: gettext_noop("signed by the gateway, but it cannot be read"),
    OutcomeCode.NOT_DECRYPTED: gettext_noop("no key decrypts it"),
    OutcomeCode.ERASED: gettext_noop("its content is no longer stored"),
}


def outcome_message(outcome: Outcome) -> LazyMessage | Verbatim:
    """Return what came of a notification, as staff and operators read it: without a message, its facts as they are."""
    facts, message = Verbatim(" ".join(outcome.facts)), None
    if outcome.code is not None:
        message = _MESSAGES.get(outcome.code)
    return facts if message is None else LazyMessage(message, facts=facts)
