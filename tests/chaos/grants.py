"""The law of granted refunds: each is refunded once, and its status in Saleor is its outcome."""

from collections.abc import Mapping

from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from saleor_app_sdk.testing.vocabulary import GrantedRefundStatus
from tests.chaos.harness import Harness


def check_granted_refunds(harness: Harness, aggregates: Mapping[str, PaymentAggregate | None]) -> None:
    """Check that none is left PENDING, none is a FAILURE although the money was returned, and none was returned twice.

    ``aggregates`` are the recorded payments by transaction id.
    """
    for order in harness.saleor.state.orders.values():
        for granted in order.granted_refunds:
            aggregate = aggregates.get(granted.transaction.id) if granted.transaction else None
            ours = (
                [operation for operation in aggregate.operations if operation.granted_refund_id == granted.id]
                if aggregate
                else []
            )
            done = [operation for operation in ours if operation.state is State.SUCCESS]
            assert len(done) <= 1, f"a granted refund was paid out {len(done)} times"
            if any(not operation.state.final for operation in ours):
                continue  # the bank says nothing: it is open everywhere
            status = granted.status
            if done:
                assert status is GrantedRefundStatus.SUCCESS, f"the money went back, and the granted refund is {status}"
            else:
                assert status in {GrantedRefundStatus.NONE, GrantedRefundStatus.FAILURE}, f"nothing is done: {status}"
