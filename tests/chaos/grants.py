"""The law of granted refunds: each is refunded once, and Saleor says of each what has become of it."""

from collections.abc import Mapping

from app.db.aggregates import PaymentAggregate
from app.db.tables import State
from app.saleor.testing.vocabulary import GrantedRefundStatus
from tests.chaos.harness import Harness


def granted_refunds_are_settled(harness: Harness, aggregates: Mapping[str, PaymentAggregate | None]) -> None:
    """None is left PENDING, none is a FAILURE although the money went back, and none went back twice.

    ``aggregates`` are what is recorded of transactions, by their ids.
    """
    for order in harness.saleor.state.orders.values():
        for granted in order.granted_refunds:
            aggregate = aggregates.get(granted.transaction.id) if granted.transaction else None
            ours = [each for each in aggregate.operations if each.granted_refund_id == granted.id] if aggregate else []
            done = [each for each in ours if each.state is State.SUCCESS]
            assert len(done) <= 1, f"a granted refund was paid out {len(done)} times"
            if any(not each.state.final for each in ours):
                continue  # the bank says nothing: it is open everywhere
            status = granted.status
            if done:
                assert status is GrantedRefundStatus.SUCCESS, f"the money went back, and the granted refund is {status}"
            else:
                assert status in {GrantedRefundStatus.NONE, GrantedRefundStatus.FAILURE}, f"nothing is done: {status}"
