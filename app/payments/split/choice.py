"""Staff choose from whom the next refund of a payment is taken, when the rules would take it from somebody else.

The choice is kept with the payment, checked against what each sub-merchant can have left, and used up by the next
refund: that must be of the amount chosen.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from app.db.aggregates import PaymentAggregate
from app.i18n.messages import LazyMessage
from app.payments.core.balance import check_amount
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.split.allocation import Shares
from app.payments.split.planning import check_choice
from app.payments.split.rules import sub_merchant
from app.payments.split.standing import is_split, standing_of


def choose(
    aggregate: PaymentAggregate,
    taken_from: Mapping[str, Decimal],
    now: datetime,
    names: Mapping[str, str] | None = None,
) -> Shares:
    """Choose who gives back how much next; return that. The aggregate must be locked.

    Raises RefusalError, which calls the sub-merchants by the ``names`` that people use.
    """
    _must_be_split(aggregate)
    chosen = readable(taken_from)
    check_choice(chosen, standing_of(aggregate).at_most, aggregate.payment.currency, names)
    aggregate.payment.next_refund_split = {who: str(amount) for who, amount in sorted(chosen.items())}
    aggregate.payment.updated_at = now
    return chosen


def readable(taken_from: Mapping[str, Decimal]) -> Shares:
    """Return a choice with everybody by their UUID. Raises RefusalError when it cannot be meant so. Pure."""
    chosen: dict[str, Decimal] = {}
    for text, amount in taken_from.items():
        money = check_amount(amount)
        try:
            who = sub_merchant(text)
        except ValueError:
            raise RefusalError(
                RefusalCode.INVALID_DATA, LazyMessage("%(text)s is not a sub-merchant.", text=repr(text))
            ) from None
        if who in chosen:
            raise RefusalError(
                RefusalCode.INVALID_DATA, LazyMessage("The sub-merchant %(who)s is given twice.", who=who)
            )
        chosen[who] = money
    if not chosen:
        raise RefusalError(RefusalCode.INVALID_DATA, LazyMessage("Nobody is chosen: say who gives back how much."))
    return chosen


def leave_it_to_the_rules(aggregate: PaymentAggregate, now: datetime) -> None:
    """Take a choice back. The aggregate must be locked. Raises RefusalError when the payment is not split."""
    _must_be_split(aggregate)
    aggregate.payment.next_refund_split = None
    aggregate.payment.updated_at = now


def chosen_in(aggregate: PaymentAggregate) -> Shares | None:
    """Return what was chosen for the next refund; None when it is left to the rules."""
    kept = aggregate.payment.next_refund_split
    return None if kept is None else {who: Decimal(amount) for who, amount in kept.items()}


def _must_be_split(aggregate: PaymentAggregate) -> None:
    if not is_split(aggregate):
        raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage("This payment is not split among sub-merchants."))
