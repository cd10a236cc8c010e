"""What staff are shown of a difference between the gateway's books and ours: both values, and what to do. Pure."""

from collections.abc import Mapping

from app.core.vocabulary import Flow
from app.flows.reconciliation.compare import Difference
from app.i18n.messages import Money
from app.rules.issues import Issue, IssueCode
from app.rules.labels import what_of
from app.store.tables import DiscrepancyKind

_CODES: Mapping[DiscrepancyKind, IssueCode] = {
    DiscrepancyKind.RECEIVER: IssueCode.RECORDED_RECEIVER,
    DiscrepancyKind.UNTOLD: IssueCode.RECORD_NOT_IN_SALEOR,
    DiscrepancyKind.CURRENCY: IssueCode.RECORDED_CURRENCY,
}


def issue_of(difference: Difference, flow: Flow) -> Issue:
    """Return the issue of a difference of a payment, created for ``flow``, that is escalated to staff."""
    entry, ours = difference.entry, difference.operation
    if entry is None:
        if ours is None:
            return Issue(IssueCode.RECORD_UNREADABLE)
        return Issue(IssueCode.RECORD_MISSING, what=what_of(flow, ours.kind), sum=Money(ours.amount, ours.currency))
    what, amount = what_of(flow, entry.kind), Money(entry.amount, entry.currency)
    if ours is not None and difference.kind is DiscrepancyKind.AMOUNT:
        recorded = Money(ours.amount, ours.currency)
        return Issue(IssueCode.RECORDED_AMOUNT, what=what, said=amount, ours=recorded)
    if ours is not None and difference.kind is DiscrepancyKind.STATE:
        return Issue(IssueCode.RECORDED_STATE, what=what, said=amount, theirs=entry.state, ours=ours.state)
    return Issue(_CODES.get(difference.kind, IssueCode.RECORD_NOT_SHOWN), what=what, said=amount)
