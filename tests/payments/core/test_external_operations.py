"""What others do to a payment is compared with what was left of it."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.rules.external_operations import payer_fee_on
from app.store.tables import MerchantAccount
from tests.payments.aggregates import an_aggregate, an_operation


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
