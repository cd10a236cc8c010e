"""Staff choose from whom the next refund of a payment is taken, when the rules would take it from somebody else.

The choice is kept with the payment, checked against what each sub-merchant can have left, and used up by the next
refund: that must be of the amount chosen.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from app.ledger.sheets import Sheet
from app.payments.plan.terms import check_amount
from app.payments.refusal import Refusal, RefusalCode
from app.payments.said import Said
from app.payments.split.distribute import Shares
from app.payments.split.planning import check_choice
from app.payments.split.rules import sub_merchant
from app.payments.split.standing import is_split, standing_of


def choose(
    sheet: Sheet, taken_from: Mapping[str, Decimal], now: datetime, names: Mapping[str, str] | None = None
) -> Shares:
    """Choose who gives back how much next; return that. The sheet must be locked.

    Raises Refusal, which calls the sub-merchants by the ``names`` that people use.
    """
    _must_be_split(sheet)
    chosen = readable(taken_from)
    check_choice(chosen, standing_of(sheet).at_most, sheet.payment.currency, names)
    sheet.payment.next_refund_split = {who: str(amount) for who, amount in sorted(chosen.items())}
    sheet.payment.updated_at = now
    return chosen


def readable(taken_from: Mapping[str, Decimal]) -> Shares:
    """Return a choice with everybody by their UUID. Raises Refusal when it cannot be meant so. Pure."""
    chosen: dict[str, Decimal] = {}
    for text, amount in taken_from.items():
        check_amount(amount)
        try:
            who = sub_merchant(text)
        except ValueError:
            raise Refusal(RefusalCode.INVALID_DATA, Said("%(text)s is not a sub-merchant.", text=repr(text))) from None
        if who in chosen:
            raise Refusal(RefusalCode.INVALID_DATA, Said("The sub-merchant %(who)s is given twice.", who=who))
        chosen[who] = amount.quantize(Decimal("0.01"))
    if not chosen:
        raise Refusal(RefusalCode.INVALID_DATA, Said("Nobody is chosen: say who gives back how much."))
    return chosen


def leave_it_to_the_rules(sheet: Sheet, now: datetime) -> None:
    """Take a choice back. The sheet must be locked. Raises Refusal when the payment is not split."""
    _must_be_split(sheet)
    sheet.payment.next_refund_split = None
    sheet.payment.updated_at = now


def chosen_in(sheet: Sheet) -> Shares | None:
    """Return what was chosen for the next refund; None when it is left to the rules."""
    kept = sheet.payment.next_refund_split
    return None if kept is None else {who: Decimal(amount) for who, amount in kept.items()}


def _must_be_split(sheet: Sheet) -> None:
    if not is_split(sheet):
        raise Refusal(RefusalCode.NOT_POSSIBLE, Said("This payment is not split among sub-merchants."))
