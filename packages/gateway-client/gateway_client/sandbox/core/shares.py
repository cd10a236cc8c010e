"""The shares of sub-merchants in split payments. No sub-merchant ever gives back more than it received."""

from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal
from uuid import UUID

from gateway_client.sandbox.core.gateway_state import CENT, GatewayState
from gateway_client.sandbox.core.records import Operation, Payment, Share
from gateway_client.sandbox.core.refusals import InvalidFieldsError


def check(state: GatewayState, pos_id: UUID, shares: Iterable[Share], amount: Decimal) -> None:
    """Check that shares sum to the amount, and name known sub-merchants, each once. Raises InvalidFieldsError.

    No page says that they must sum to the amount; they do in every sample. An option of the point of sale
    (``split_must_sum``) allows less, but never more.
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
    """Return the sum of the shares."""
    return sum((share.amount for share in shares), Decimal(0))


def received_shares(state: GatewayState, payment: Payment) -> list[Share]:
    """Return what the sub-merchants received: the shares of the capture in a two-step payment, else the payment's."""
    if payment.method == "auth":
        return [share for capture in state.active_operations(payment, "capture") for share in capture.shares]
    return paid_shares(payment)


def paid_shares(payment: Payment) -> list[Share]:
    """Return the shares of a payment; in proportion if the payer paid another amount than requested."""
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


def credit_sub_merchants(
    state: GatewayState, entry: Payment | Operation, shares: Iterable[Share], amount: Decimal
) -> Decimal:
    """Credit sub-merchants their shares of the amount taken; return the rest, which belongs to the merchant."""
    for share in shares:
        state.sub_account(entry.pos_id, share.sub_merchant_id, entry.currency).received += share.amount
        amount -= share.amount
    return amount


def debit_sub_merchants(state: GatewayState, refund: Operation) -> None:
    """Debit the sub-merchants their shares of a refund."""
    for share in refund.shares:
        state.sub_account(refund.pos_id, share.sub_merchant_id, refund.currency).given_back += share.amount


def refundable_amounts(state: GatewayState, payment: Payment) -> dict[UUID, Decimal]:
    """Return the amount that each sub-merchant can still give back. Pending refunds count as given back."""
    sums: dict[UUID, Decimal] = {}
    for share in received_shares(state, payment):
        sums[share.sub_merchant_id] = sums.get(share.sub_merchant_id, Decimal(0)) + share.amount
    for refund in state.active_operations(payment, "refund"):
        for share in refund.shares:
            sums[share.sub_merchant_id] = sums.get(share.sub_merchant_id, Decimal(0)) - share.amount
    return sums


def check_within_limits(shares: Iterable[Share], limits: dict[UUID, Decimal]) -> None:
    """Check that no share is larger than what its sub-merchant has. Raises InvalidFieldsError."""
    remaining = dict(limits)
    for share in shares:
        remaining[share.sub_merchant_id] = remaining.get(share.sub_merchant_id, Decimal(0)) - share.amount
        if remaining[share.sub_merchant_id] < 0:
            raise InvalidFieldsError([("split", f"more than sub-merchant {share.sub_merchant_id} received")])
