"""What the gateway is asked for a journaled operation on a payment: everything that the call says is in its row."""

from functools import partial

from app.gateway.models import OperationRecord, PaymentRecord
from app.gateway.models.operations import Capture, Refund, SplitRefund, Void
from app.ledger.sheets import Sheet
from app.ledger.tables import Kind, MerchantAccount, Operation
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.look_up import opened
from app.payments.operations.execute import execute
from app.payments.split.planning import split_in


async def send(desk: Desk, sheet: Sheet, operation: Operation, deadline: Deadline, *, answering: bool) -> Sheet:
    """Execute a capture, void, refund or cancellation, which is an intent. See ``execute``."""
    call = partial(_call, desk, sheet.payment.account, sheet, operation)
    return await execute(desk, sheet, operation, call, deadline, answering=answering)


async def _call(
    desk: Desk, account: MerchantAccount, sheet: Sheet, operation: Operation, timeout: float
) -> PaymentRecord | OperationRecord:
    client = opened(desk, account)
    order_id, currency = sheet.payment.order_id, sheet.payment.currency
    server_url = desk.addresses.notifications(account.id)
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
