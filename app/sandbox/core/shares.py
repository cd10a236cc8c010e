"""Who got what of a split payment. No sub-merchant ever gives back more than it received."""

from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal
from uuid import UUID

from app.sandbox.core.gateway_state import CENT, GatewayState
from app.sandbox.core.records import Operation, Payment, Share
from app.sandbox.core.refusals import InvalidFieldsError


def check(state: GatewayState, pos_id: UUID, shares: Iterable[Share], amount: Decimal) -> None:
    """Refuse parts that do not make up the whole, or whose sub-merchants are not known, each once. InvalidFieldsError.

    That they make up the whole no page says; every sample does. A point of sale can be told to take less
    (``split_must_sum``), but never more.
    """
    shares = list(shares)
    payees, known = [share.sub_merchant_id for share in shares], state.behaviour(pos_id).sub_merchants
    if len(set(payees)) != len(payees):
        raise InvalidFieldsError([("split", "names a sub-merchant twice")])
    if known is not None and not known.issuperset(payees):
        raise InvalidFieldsError([("split", "names a sub-merchant that is not known")])
    total = total_of(shares)
    if total > amount or (total != amount and state.behaviour(pos_id).split_must_sum):
        raise InvalidFieldsError([("split", f"amounts sum to {total}, not to {amount}")])


def total_of(shares: Iterable[Share]) -> Decimal:
    """What the parts sum to."""
    return sum((share.amount for share in shares), Decimal(0))


def received(state: GatewayState, payment: Payment) -> list[Share]:
    """What the sub-merchants got: with two steps the capture says so, else the payment."""
    if payment.method == "auth":
        return [share for capture in state.living(payment, "capture") for share in capture.shares]
    return as_paid(payment)


def as_paid(payment: Payment) -> list[Share]:
    """The shares of a payment; in proportion where the payer paid another amount than was asked."""
    paid = payment.paid_amount
    if paid == payment.amount or not payment.shares:
        return payment.shares
    parts = [
        share.model_copy(update={"amount": (share.amount * paid / payment.amount).quantize(CENT, ROUND_DOWN)})
        for share in payment.shares
    ]
    if total_of(payment.shares) == payment.amount:
        parts[0].amount += paid - total_of(parts)
    return parts


def pay_in(state: GatewayState, entry: Payment | Operation, shares: Iterable[Share], amount: Decimal) -> Decimal:
    """Give sub-merchants their parts of what was taken; what is left belongs to the merchant."""
    for share in shares:
        state.sub_account(entry.pos_id, share.sub_merchant_id, entry.currency).received += share.amount
        amount -= share.amount
    return amount


def pay_out(state: GatewayState, refund: Operation) -> None:
    """Take their parts of a refund from the sub-merchants."""
    for share in refund.shares:
        state.sub_account(refund.pos_id, share.sub_merchant_id, refund.currency).given_back += share.amount


def left(state: GatewayState, payment: Payment) -> dict[UUID, Decimal]:
    """What each sub-merchant can still give back. Refunds that are pending count as given."""
    sums: dict[UUID, Decimal] = {}
    for share in received(state, payment):
        sums[share.sub_merchant_id] = sums.get(share.sub_merchant_id, Decimal(0)) + share.amount
    for refund in state.living(payment, "refund"):
        for share in refund.shares:
            sums[share.sub_merchant_id] = sums.get(share.sub_merchant_id, Decimal(0)) - share.amount
    return sums


def must_fit(shares: Iterable[Share], limits: dict[UUID, Decimal]) -> None:
    """Raises InvalidFieldsError when a part is larger than what that sub-merchant has."""
    rest = dict(limits)
    for share in shares:
        rest[share.sub_merchant_id] = rest.get(share.sub_merchant_id, Decimal(0)) - share.amount
        if rest[share.sub_merchant_id] < 0:
            raise InvalidFieldsError([("split", f"more than sub-merchant {share.sub_merchant_id} received")])
