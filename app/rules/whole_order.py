"""Posts the whole order as the gateway shows it: what none of its records says alone is put to staff here. Pure."""

from app.core.payment import PaymentAggregate
from app.rules.apply import apply
from app.rules.decision_context import DecisionContext, flag_unexplained, raise_problem
from app.rules.external_operations import flag_overdrawn_by_others, flag_partial_release
from app.rules.issues import Issue, IssueCode
from app.rules.newer_try import end_newer_try
from app.rules.observation import Observations
from app.rules.problems import UNREADABLE, clear_problem
from app.rules.releases import doubt_refused_release, release_unkept_rest


def apply_whole_order(aggregate: PaymentAggregate, shown: Observations, context: DecisionContext) -> None:
    """Post everything that the gateway has of an order (see ``apply``).

    Raises problems while it shows unreadable records, for unexplained or overdrawn money, and for a reservation that
    it treats otherwise than we do.
    """
    apply(aggregate, shown, context)
    end_newer_try(aggregate, shown)
    flag_overdrawn_by_others(aggregate, context.now)
    flag_partial_release(aggregate, context.now)
    release_unkept_rest(aggregate, shown, context)
    doubt_refused_release(aggregate, shown, context)
    for money in shown.unexplained:
        flag_unexplained(aggregate, money, context.now)
    if not shown.unreadable:
        clear_problem(aggregate.payment, UNREADABLE, context.now)
    else:
        raise_problem(aggregate, Issue(IssueCode.UNREADABLE_RECORDS), context.now, cause=UNREADABLE)
