"""What the gateway is asked for a journaled operation on a payment: everything that the call says is in its row."""

from functools import partial

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, MerchantAccount, Operation
from app.gateway.models import OperationRecord, PaymentRecord
from app.gateway.models.operations import Capture, Refund, SplitRefund, Void
from app.payments.operations.execute import execute
from app.payments.operations.look_up import opened
from app.payments.services import Services
from app.payments.split.planning import split_in
from app.saleor.deadline import Deadline


async def send(
    services: Services, aggregate: PaymentAggregate, operation: Operation, deadline: Deadline, *, answering: bool
) -> PaymentAggregate:
    """Execute a capture, void, refund or cancellation, which is an intent. See ``execute``."""
    call = partial(_call, services, aggregate.payment.account, aggregate, operation)
    return await execute(services, aggregate, operation, call, deadline, answering=answering)


async def _call(
    services: Services, account: MerchantAccount, aggregate: PaymentAggregate, operation: Operation, timeout: float
) -> PaymentRecord | OperationRecord:
    client = opened(services, account)
    order_id, currency = aggregate.payment.order_id, aggregate.payment.currency
    server_url = services.addresses.notifications(account.id)
    split = split_in(operation)
    match operation.kind:
        case Kind.CAPTURE:
            capture = Capture(
                order_id=order_id,
                order_currency=currency,
                charge_amount=operation.amount,
                split=split,
                server_url=server_url,
                products=operation.request.get("products"),
            )
            return await client.capture(capture, timeout=timeout)
        case Kind.VOID:
            void = Void(order_id=order_id, order_currency=currency, server_url=server_url)
            return await client.void(void, timeout=timeout)
        case Kind.REFUND if split is not None:
            shared = SplitRefund(
                order_id=order_id,
                currency=currency,
                refund_amount=operation.amount,
                split=split,
                server_url=server_url,
            )
            return await client.split_refund(shared, timeout=timeout)
        case Kind.REFUND:
            refund = Refund(
                order_id=order_id,
                order_currency=currency,
                refund_amount=operation.amount,
                server_url=server_url,
                products=operation.request.get("products"),
                f_receipt_delivery=operation.request.get("f_receipt_delivery"),
            )
            return await client.refund(refund, timeout=timeout)
        case Kind.CANCEL:
            return await client.cancel(order_id, timeout=timeout)
        case Kind.CREATE | Kind.DISPUTE:
            raise ValueError("a payment is created by `initialize`, once, and nobody here asks for a dispute")
