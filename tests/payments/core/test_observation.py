"""From the gateway's records to what the mapper judges. Pure."""

from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.rules.mapper import Observation
from app.rules.observation import observation_from_record
from gateway_client.models import read_record
from tests.payments.fake_gateway import POS_ID, operation, payment


def saw(record: dict[str, Any], language: str = "en") -> Observation:
    seen = observation_from_record(read_record(record), language)
    assert seen is not None
    return seen


@pytest.mark.parametrize(("method", "flow"), [("purchase", Flow.CHARGE), ("auth", Flow.AUTHORIZATION)])
def test_a_payment(method: str, flow: Flow) -> None:
    seen = saw(payment("order-1", method=method))
    assert (seen.kind, seen.flow, seen.state) == (Kind.CREATE, flow, State.SUCCESS)
    assert (seen.amount, seen.currency, seen.pos_id, seen.order_id) == (Decimal("569.50"), "UAH", POS_ID, "order-1")
    assert seen.gateway_id == "payment-of-order-1"
    assert seen.paid is None


@pytest.mark.parametrize("method", ["capture", "void", "refund"])
def test_what_is_done_to_a_payment(method: str) -> None:
    seen = saw(operation(method, "order-1", "10.00", operation_id="operation-1"))
    assert (seen.kind.value, seen.flow, seen.gateway_id) == (method, None, "operation-1")


def test_a_dispute_is_one_whether_it_names_an_operation_or_only_the_payment() -> None:
    """The interface shows no record of one."""
    of_payment = saw(payment("order-1", method="dispute", payment_id="payment-1", processed_amount="7.00"))
    assert (of_payment.kind, of_payment.flow, of_payment.gateway_id, of_payment.paid) == (
        Kind.DISPUTE, None, "payment-1", None,
    )  # fmt: skip
    of_operation = saw(payment("order-1", method="dispute", operation_id="operation-1"))
    assert (of_operation.kind, of_operation.gateway_id) == (Kind.DISPUTE, "operation-1")


@pytest.mark.law(16)
def test_a_later_charge_by_its_own_name_is_no_operation_on_the_payment() -> None:
    seen = saw(payment("order-1", method="recurrent"))
    assert (seen.kind, seen.flow, seen.payment_id) == (Kind.RECURRING, None, None)


@pytest.mark.law(8)
@pytest.mark.parametrize("method", ["p2p", "lookup", "something-new"])
def test_what_no_payment_of_ours_has_is_not_taken_for_the_payment(method: str) -> None:
    assert observation_from_record(read_record(payment("order-1", method=method)), "en") is None


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("init", State.INIT),
        ("pending", State.PENDING),
        ("success", State.SUCCESS),
        ("failure", State.FAILURE),
        ("processing", State.PENDING),
        ("never heard of", State.PENDING),  # a word that nobody documented decides nothing
    ],
)
def test_how_far_it_is(status: str, state: State) -> None:
    assert saw(payment("order-1", status)).state is state


@pytest.mark.parametrize(
    ("record", "waits"),
    [
        ({"status_code": "2122"}, True),
        ({"status_code": "2102"}, True),
        ({"status_code": "2001"}, False),
        ({"status_code": "2001", "user_action_required": True}, True),
        ({"status_code": "2012", "user_action_required": False}, False),
    ],
)
def test_whether_it_is_the_shoppers_turn(record: dict[str, Any], waits: bool) -> None:
    assert saw(payment("order-1", "pending", **record)).waits_for_shopper is waits


def test_what_the_shopper_really_paid() -> None:
    seen = saw(payment("order-1", processed_amount=Decimal("500.00"), processed_currency="UAH"))
    assert (seen.amount, seen.paid, seen.paid_currency) == (Decimal("569.50"), Decimal("500.00"), "UAH")


def test_words_for_staff_and_words_for_the_shopper() -> None:
    seen = saw(payment("order-1", "failure", status_code="4009"), "uk")
    assert seen.message == "Insufficient funds [4009]"
    assert seen.shopper_message.startswith("На картці недостатньо коштів")
