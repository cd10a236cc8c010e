"""The request to the gateway for a capture, a void or a refund, from its stored operation alone. Pure."""

from collections.abc import Sequence
from decimal import Decimal
from typing import TypeAlias

from app.core.payment import Operation, Payment
from app.core.vocabulary import Kind
from app.rules.balance import balance
from app.rules.dialects import dialect_of
from app.rules.split.planning import split_items_of
from app.store.tables import MerchantAccount
from gateway_client.dialect import Inclusion
from gateway_client.models.operations import Capture, Refund, SplitRefund, Void
from gateway_client.models.subscriptions import SubscriptionRefund

OperationRequest: TypeAlias = Capture | Void | Refund | SplitRefund | SubscriptionRefund


def operation_request(
    payment: Payment, operation: Operation, account: MerchantAccount, server_url: str
) -> OperationRequest:
    """Return the request for ``operation``; the gateway notifies ``server_url`` of its outcome.

    Raises ValueError for a kind that has no request with a body: a payment is created by its own call, a cancellation
    is its path alone, disputes and later charges are others' work.
    """
    order_id, currency = payment.order_id, payment.currency
    requested, split = operation.requested, split_items_of(operation) or None
    comment, products = requested.comment, requested.products or None
    match operation.kind:
        case Kind.CAPTURE:
            return Capture(
                order_id=order_id,
                order_currency=currency,
                charge_amount=operation.amount,
                split=split,
                server_url=server_url,
                comment=comment,
                products=products,
            )
        case Kind.VOID:
            return Void(order_id=order_id, order_currency=currency, server_url=server_url, comment=comment)
        case Kind.REFUND if operation.charge_id is not None:
            return SubscriptionRefund(
                order_currency=currency, refund_amount=operation.amount, comment=comment, server_url=server_url
            )
        case Kind.REFUND if split is not None:
            return SplitRefund(
                order_id=order_id,
                currency=currency,
                refund_amount=operation.amount,
                split=split,
                server_url=server_url,
                comment=comment,
            )
        case Kind.REFUND:
            return Refund(
                order_id=order_id,
                order_currency=currency,
                refund_amount=None if _is_without_amount(operation, account) else operation.amount,
                server_url=server_url,
                comment=comment,
                products=products,
                f_receipt_delivery=requested.receipt_delivery,
            )
        case _:
            raise ValueError(f"a {operation.kind.value} has no request")


def is_full_refund(payment: Payment, amount: Decimal, others: Sequence[Operation]) -> bool:
    """Return whether a refund takes all of a payment at once, as the gateway counts it (gateway interface, 5).

    False where the gateway may count otherwise: several charges of one authorization, later charges of a subscription,
    which have the same order id, or a fee that the payer bore. ``others`` are all other operations of the payment.
    """
    captures = [operation for operation in others if operation.kind is Kind.CAPTURE]
    is_charged_again = any(operation.kind is Kind.RECURRING and not operation.has_surely_failed for operation in others)
    if len(captures) > 1 or is_charged_again or payment.account.payer_fee_percent is not None:
        return False
    current = balance(payment.flow, others)
    return amount == current.charged == current.refundable  # nothing was given back yet, by anybody


def _is_without_amount(refund: Operation, account: MerchantAccount) -> bool:
    """Return whether a refund of everything is requested without its amount (gateway interface, 5)."""
    return refund.requested.is_full and dialect_of(account).full_refund_amount is Inclusion.NOT_SENT
