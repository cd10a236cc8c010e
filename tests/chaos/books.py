"""The nightly reconciliation finds nothing where a story ended as it should: it raises no false alarms."""

from collections.abc import Sequence
from datetime import UTC, datetime

from app.core.payment import PaymentAggregate
from app.flows.reconciliation.compare import Period, differences_of_unknown_order, find_differences
from app.flows.reconciliation.entries import BookLine, entries_of
from app.store.tables import DiscrepancyKind
from gateway_client.sandbox.core.codes import Status
from gateway_client.sandbox.core.records import Operation, Payment, Share

_EVER = Period(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


def check_books(
    aggregate: PaymentAggregate, payments: Sequence[Payment], operations: Sequence[Operation], *, only_ours: bool
) -> None:
    """Compare a payment with the lines that the gateway's register would have for it.

    Not ``only_ours``: somebody else has acted too. Their operation, if taken for ours, may be split differently.
    """
    lines = [line for entry in payments for line in _lines(entry)]
    lines += [line for entry in operations for line in _lines(entry)]
    ours = [line for line in lines if line.order_id == aggregate.payment.order_id]
    others = [line for line in lines if line not in ours]
    assert not differences_of_unknown_order(entries_of(others)), "an order at the gateway that is nobody's"
    found = [
        difference
        for difference in find_differences(aggregate, entries_of(ours), _EVER)
        if only_ours or difference.kind is not DiscrepancyKind.RECEIVER
    ]
    assert not found, f"the comparison of the books finds {[difference.kind.value for difference in found]}: {found}"


def _lines(entry: Payment | Operation) -> list[BookLine]:
    if entry.status is Status.INIT:
        return []
    return [_line(entry, share) for share in entry.shares] or [_line(entry, None)]


def _line(entry: Payment | Operation, share: Share | None) -> BookLine:
    return BookLine(
        order_id=entry.order_id,
        payment_id=str(entry.payment_id),
        method=entry.method,
        status=entry.status.value,
        at=entry.created_at,
        original_amount=entry.paid_amount if isinstance(entry, Payment) else entry.amount,
        currency=entry.currency,
        receiver=None if share is None else str(share.sub_merchant_id),
        receiver_amount=None if share is None else share.amount,
    )
