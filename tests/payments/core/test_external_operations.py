"""What others do to a payment is compared with what was left of it."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.rules.external_operations import leaves_rest, payer_fee_on
from app.store.tables import MerchantAccount
from tests.payments.aggregates import an_aggregate, an_operation


@pytest.mark.law(10)
@pytest.mark.parametrize(("released_by", "leaves"), [("gateway:void", True), ("ours", False), (None, False)])
def test_a_rest_is_left_only_by_a_release_of_others(released_by: str | None, *, leaves: bool) -> None:
    """A rest of what is charged in parts is still to be charged."""
    captured = an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("40.00"), keeps_rest=True)
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, captured)
    if released_by is not None:
        release = an_operation(Kind.VOID, State.SUCCESS, Decimal("30.00"), idempotency_key=released_by)
        aggregate.operations.append(release)
    assert leaves_rest(aggregate) is leaves


@pytest.mark.law(8)
@pytest.mark.parametrize(("kind", "fee"), [(Kind.DISPUTE, "2.00"), (Kind.REFUND, "2.00"), (Kind.CAPTURE, "0")])
@pytest.mark.parametrize("charge_id", [None, "a-later-charge"])
def test_the_payers_fee_was_paid_with_the_payment_and_comes_back_with_all_of_it(
    kind: Kind, fee: str, charge_id: str | None
) -> None:
    """Not with a later charge of the subscription: nobody paid one on top of that."""
    theirs = an_operation(kind, State.PENDING, idempotency_key="gateway:one", charge_id=charge_id)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, theirs)
    account = aggregate.payment.account
    assert isinstance(account, MerchantAccount)
    account.payer_fee_percent = Decimal(2)
    assert payer_fee_on(aggregate, theirs) == (Decimal(fee) if charge_id is None else 0)
