"""Staff's choice of the sub-merchants that pay for the next refund, which overrides the split rules.

The choice is stored with the payment, checked against the amount that each sub-merchant can have left, and used up by
the next refund, which must be of the chosen amount. If that fails, the choice is for the one after it.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Origin, State
from app.i18n.messages import LazyMessage
from app.rules.balance import check_amount
from app.rules.refusal import RefusalCode, RefusalError, Refusals
from app.rules.split.allocation import Shares
from app.rules.split.planning import check_choice
from app.rules.split.rules import parse_sub_merchant
from app.rules.split.standing import is_split, standing_of


def choose_next_refund_split(
    aggregate: PaymentAggregate,
    taken_from: Mapping[str, Decimal],
    now: datetime,
    names: Mapping[str, str] | None = None,
) -> Shares:
    """Store and return the shares chosen for the next refund. The aggregate must be locked.

    Raises RefusalError, whose message uses the display ``names`` of the sub-merchants.
    """
    _check_is_split(aggregate)
    chosen = parse_choice(taken_from)
    check_choice(chosen, standing_of(aggregate).at_most, aggregate.payment.currency, names)
    aggregate.payment.next_refund_split = _as_stored(chosen)
    aggregate.payment.updated_at = now
    return chosen


def update_choice(aggregate: PaymentAggregate, refund: Operation, before: State) -> None:
    """Let a choice that a refund of Saleor's has used up count again once that has failed; no more if it is made.

    Who was chosen directly, with a refund in the app, is asked for again there. The aggregate must be locked.
    """
    payment, used = aggregate.payment, refund.requested.chosen_shares
    if not used or refund.requester is not Origin.SALEOR:
        return
    chosen = _as_stored(used)
    if before is not State.FAILURE and refund.has_surely_failed:
        payment.next_refund_split = payment.next_refund_split or chosen
    elif before is State.FAILURE and refund.state is State.SUCCESS and payment.next_refund_split == chosen:
        payment.next_refund_split = None


def parse_choice(taken_from: Mapping[str, Decimal]) -> Shares:
    """Return a choice by canonical sub-merchant UUID. Pure.

    Raises RefusalError with all reasons, whose ``field`` is the sub-merchant as given.
    """
    chosen: dict[str, Decimal] = {}
    refusals = Refusals()
    for text, amount in taken_from.items():
        refusals.collect(_add_share, chosen, text, amount)
    refusals.raise_if_any()
    if not chosen:
        raise RefusalError(
            RefusalCode.INVALID_DATA, LazyMessage("No sub-merchant is chosen: enter who pays back how much.")
        )
    return chosen


def _add_share(chosen: dict[str, Decimal], text: str, amount: Decimal) -> None:
    try:
        who, money = parse_sub_merchant(text), check_amount(amount)
    except ValueError:
        message = LazyMessage("%(text)s is not a sub-merchant.", text=repr(text))
        raise RefusalError(RefusalCode.INVALID_DATA, message, text) from None
    except RefusalError as refusal:
        raise replace(refusal, field=text) from None
    if who in chosen:
        message = LazyMessage("The sub-merchant %(who)s is given twice.", who=who)
        raise RefusalError(RefusalCode.INVALID_DATA, message, text)
    chosen[who] = money


def _as_stored(shares: Mapping[str, Decimal]) -> dict[str, str]:
    return {who: str(amount) for who, amount in sorted(shares.items())}


def clear_choice(aggregate: PaymentAggregate, now: datetime) -> None:
    """Clear the choice. The aggregate must be locked. Raises RefusalError when the payment is not split."""
    _check_is_split(aggregate)
    aggregate.payment.next_refund_split = None
    aggregate.payment.updated_at = now


def _check_is_split(aggregate: PaymentAggregate) -> None:
    if not is_split(aggregate):
        raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage("This payment is not split among sub-merchants."))
