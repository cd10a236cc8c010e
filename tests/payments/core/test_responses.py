"""From what is recorded to what Saleor is answered: design, "What Saleor is answered". Pure."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.ids import GatewayOperationId
from app.core.vocabulary import Flow, Kind, Mode, State
from app.rules.references import ensure_reference
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.responses import action_response, session_refusal_response, session_response
from integration_base.exact_json import dumps, loads
from saleor_app_sdk.responses import AvailableAction, TransactionFlow
from saleor_app_sdk.testing.rules.responses import parse_action_response, parse_session_response
from saleor_app_sdk.testing.vocabulary import Action
from tests.payments.aggregates import HUNDRED, NOON, ORDER, an_aggregate, an_operation

SALEORS = [Flow.CHARGE, Flow.AUTHORIZATION]  # of a payout it asks nothing

PAGE = f"https://pay.example.com/payments/{ORDER}"


@pytest.mark.parametrize(
    ("state", "waits", "result"),
    [
        (State.INTENT, False, "ACTION_REQUIRED"),
        (State.UNKNOWN, False, "ACTION_REQUIRED"),
        (State.INIT, False, "ACTION_REQUIRED"),
        (State.PENDING, True, "ACTION_REQUIRED"),
        (State.PENDING, False, "REQUEST"),
        (State.SUCCESS, False, "SUCCESS"),
        (State.FAILURE, False, "FAILURE"),
    ],
)
@pytest.mark.parametrize("flow", SALEORS)
def test_where_a_payment_stands(flow: Flow, state: State, waits: bool, result: str) -> None:
    aggregate = an_aggregate(flow, state)
    aggregate.create.waits_for_shopper = waits
    answer = session_response(aggregate, PAGE)
    assert answer.result == f"{flow.value}_{result}"
    assert (answer.psp_reference, answer.amount, answer.external_url) == (ORDER, HUNDRED, PAGE)
    assert session_response(aggregate, PAGE) == answer  # the same state, the same answer


@given(flow=st.sampled_from(SALEORS), state=st.sampled_from(list(State)), waits=st.booleans(), link=st.booleans())
def test_saleor_takes_every_answer_about_a_session(flow: Flow, state: State, waits: bool, link: bool) -> None:
    aggregate = an_aggregate(flow, state)
    aggregate.create.waits_for_shopper = waits
    aggregate.payment.checkout_url = "https://pay.example/form" if link else None
    answer = parse_session_response(loads(dumps(session_response(aggregate, PAGE).dump())))
    assert answer.psp_reference == ORDER


@given(kind=st.sampled_from([Kind.CAPTURE, Kind.REFUND]), state=st.sampled_from(list(State)))
def test_saleor_takes_every_answer_about_an_action(kind: Kind, state: State) -> None:
    operation = an_operation(kind, state, psp_reference="ours")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, operation)
    action = AvailableAction.CHARGE if kind is Kind.CAPTURE else AvailableAction.REFUND
    said = action_response(aggregate, operation, action, PAGE).dump()
    assert parse_action_response(loads(dumps(said)), Action(action.value)).psp_reference == "ours"
    if not state.final:
        assert said == {"pspReference": "ours"}  # anything more would make the transaction unreadable


def test_a_link_with_its_time() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    aggregate.payment.checkout_url = "https://pay.example/form"
    aggregate.payment.expires_at = NOON + timedelta(hours=1)
    assert session_response(aggregate, PAGE).data == {
        "checkoutUrl": "https://pay.example/form",
        "expiresAt": "2026-11-21T13:00:00Z",
    }


@pytest.mark.parametrize(("language", "word"), [("uk", "Спробуйте"), ("en", "try again"), ("pl", "try again")])
def test_without_a_link_the_storefront_reads_why_in_the_shoppers_language(language: str, word: str) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.UNKNOWN)
    aggregate.payment.language = language
    [error] = session_response(aggregate, PAGE).data["errors"]
    assert error["code"] == "CREATION_UNKNOWN"
    assert word in error["message"]


def test_a_decline_has_the_gateways_code_and_words_for_the_shopper() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
    aggregate.create.status_code, aggregate.create.shopper_message = "4009", "Not enough money."
    assert session_response(aggregate, PAGE).data == {"errors": [{"code": "4009", "message": "Not enough money."}]}


@pytest.mark.law(7, 12)
def test_another_card_at_the_bank_is_answered_without_the_first_ones_decline() -> None:
    """What staff read beside "action required" in Saleor was the reason of the first decline."""
    aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
    aggregate.create.operation_id = GatewayOperationId("first-card")
    aggregate.create.details = {"newer_try": "second-card"}
    aggregate.create.status_code, aggregate.create.message = "4009", "Insufficient funds [4009]"
    aggregate.create.shopper_message = "Not enough money."
    answer = session_response(aggregate, PAGE)
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.message == "A card was declined on the payment page, and another one is at the bank"
    [error] = answer.data["errors"]
    assert (error["code"], error["message"]) == (
        "CREATION_UNKNOWN",
        "Your payment is being processed. Please wait a moment.",
    )


@pytest.mark.parametrize(
    ("said", "reads"), [("Confirm it in your bank's app.", "Confirm it in your bank's app."), ("", "being processed")]
)
def test_shopper_who_pays_directly_reads_what_the_gateway_waits_for(said: str, reads: str) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
    aggregate.payment.mode = Mode.DIRECT
    aggregate.create.waits_for_shopper, aggregate.create.status_code = True, "2123"
    aggregate.create.shopper_message = said
    [error] = session_response(aggregate, PAGE).data["errors"]
    assert error["code"] == "2123"
    assert reads in error["message"]


@pytest.mark.law(8)
def test_what_was_really_paid_is_answered_as_success() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.amount = Decimal("80.00")
    assert session_response(aggregate, PAGE).amount == Decimal("80.00")


def test_what_is_answered_as_success_says_what_is_possible_next() -> None:
    assert session_response(an_aggregate(Flow.AUTHORIZATION, State.SUCCESS), PAGE).actions == (
        AvailableAction.CHARGE,
        AvailableAction.CANCEL,
    )


@pytest.mark.law(9)
def test_an_open_operation_without_a_reference_cannot_be_answered() -> None:
    """It would be answered under one name now and reported under another later."""
    operation = an_operation(Kind.REFUND, State.UNKNOWN)
    with pytest.raises(ValueError, match="reference"):
        action_response(an_aggregate(Flow.CHARGE, State.SUCCESS, operation), operation, AvailableAction.REFUND, PAGE)


@pytest.mark.parametrize("state", list(State))
def test_whatever_a_session_is_answered_has_a_reference(state: State) -> None:
    aggregate = an_aggregate(Flow.CHARGE, state)
    aggregate.create.psp_reference = None
    with pytest.raises(ValueError, match="reference"):
        session_response(aggregate, PAGE)
    ensure_reference(aggregate.payment, aggregate.create)
    assert session_response(aggregate, PAGE).psp_reference == ORDER


def test_a_refusal_is_a_failure_for_saleor_and_an_error_for_the_storefront() -> None:
    refusal = RefusalError(RefusalCode.MISSING_PHONE, "The phone number is missing.", "data.customer.phone")
    answer = session_refusal_response(TransactionFlow.CHARGE, refusal)
    assert answer.result == "CHARGE_FAILURE"
    assert answer.data == {
        "errors": [{"code": "MISSING_PHONE", "message": "The phone number is missing.", "field": "data.customer.phone"}]
    }
