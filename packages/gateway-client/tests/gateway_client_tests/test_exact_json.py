"""Amounts keep their digits on the way to the gateway and back."""

from decimal import Decimal

from hypothesis import given

from gateway_client.models import Refund
from gateway_client_tests.strategies import amounts
from integration_base import exact_json


@given(amounts)
def test_an_amount_keeps_every_digit_on_its_way(amount: Decimal) -> None:
    members = Refund(order_id="1", order_currency="UAH", refund_amount=amount).to_wire()
    written = exact_json.dumps(members)
    assert f'"refund_amount":{amount}' in written
    assert str(exact_json.loads(written)["refund_amount"]) == str(amount)


def test_a_tenth_and_two_tenths_are_three_tenths() -> None:
    assert exact_json.dumps(Decimal("0.1") + Decimal("0.2")) == "0.3"
    one, other = exact_json.loads("[0.1, 0.2]")
    assert one + other == Decimal("0.3")
    # What floats would have made of it.
    assert exact_json.loads("0.1") != 0.1
