"""The rule book against the real Saleor: what an answer to initialize made of a transaction."""

from decimal import Decimal
from typing import Any

import pytest

from saleor_app_sdk.testing.records import Checkout, EventClock, Transaction
from saleor_app_sdk.testing.rules.coverage import authorize_status, charge_status
from saleor_app_sdk.testing.rules.recording import create_request_event, final_event, record_session_response
from saleor_app_sdk.testing.rules.reports import Report, record_report
from saleor_app_sdk.testing.rules.responses import SaleorCrashedError
from saleor_app_sdk.testing.vocabulary import EventType
from saleor_app_sdk_tests.testing.factories import TOTAL, frozen_event_clock, json_of, new_checkout, new_transaction
from saleor_app_sdk_tests.testing.recordings import amounts, answer_with_floats, as_saleor_shows, recording

CASES = recording("scenarios/init_answers")
CRASHES = [name for name, case in CASES.items() if case["graphql_errors"]]
ANSWERED = [name for name in CASES if name not in CRASHES]


def opened() -> tuple[Checkout, Transaction, EventClock, Any]:
    event_clock = frozen_event_clock()
    checkout = new_checkout()
    transaction = new_transaction(checkout, event_clock)
    request = create_request_event(transaction, EventType.CHARGE_REQUEST, TOTAL, event_clock, idempotency_key="key")
    return checkout, transaction, event_clock, request


@pytest.mark.parametrize("case", ANSWERED)
def test_session_answer_makes_what_saleor_made_of_it(case: str) -> None:
    real = CASES[case]
    checkout, transaction, event_clock, request = opened()

    event, data = record_session_response(
        transaction,
        request,
        json_of(answer_with_floats("scenarios/init_answers", case), session=True),
        event_clock,
    )

    real_event = real["mutation"]["transactionEvent"]
    assert event.type == real_event["type"]
    assert (event.psp_reference or "") == real_event["pspReference"]
    assert event.amount.quantize(Decimal("0.01")) == Decimal(real_event["amount"]["amount"]).quantize(Decimal("0.01"))
    assert event.message == real_event["message"]
    assert event.external_url == real_event["externalUrl"]
    assert data == real["mutation"]["data"]
    assert (transaction.psp_reference or "") == real["mutation"]["transaction"]["pspReference"]
    assert set(transaction.actions) == set(real["mutation"]["transaction"]["actions"])

    newest_first = sorted(transaction.events, key=lambda event: event.created_at, reverse=True)
    assert [(e.type, e.psp_reference or "", e.message) for e in newest_first] == [
        (kind, reference, message) for kind, reference, _, message in real["events_after_init"]
    ]
    assert as_saleor_shows(transaction.amounts) == amounts(real["amounts"])
    assert charge_status(checkout) == real["tx"]["checkout"]["chargeStatus"]
    assert authorize_status(checkout) == real["tx"]["checkout"]["authorizeStatus"]
    # A final answer keeps transactionProcess from calling the app again.
    assert (final_event(transaction) is None) == real["process_called_app"]


@pytest.mark.parametrize("case", CRASHES)
def test_session_answer_that_brought_saleor_down(case: str) -> None:
    _, transaction, event_clock, request = opened()
    answer = json_of(answer_with_floats("scenarios/init_answers", case), session=True)

    with pytest.raises(SaleorCrashedError) as crash:
        record_session_response(transaction, request, answer, event_clock)

    assert crash.value.code == CASES[case]["graphql_errors"][0]["extensions"]["exception"]["code"]
    assert transaction.events == [request]


@pytest.mark.parametrize("case", ["pmd-card", "pmd-other"])
def test_payment_method_is_kept(case: str) -> None:
    _, transaction, event_clock, request = opened()
    answer = json_of(answer_with_floats("scenarios/init_answers", case), session=True)

    record_session_response(transaction, request, answer, event_clock)

    real = {name: value for name, value in CASES[case]["tx"]["pmd"].items() if name != "__typename"}
    assert transaction.payment_method_details is not None
    assert real.items() <= transaction.payment_method_details.items()


def test_the_same_failure_without_reference_is_swallowed() -> None:
    _, transaction, event_clock, request = opened()
    declined = {"result": "CHARGE_FAILURE", "message": "declined"}

    first, _ = record_session_response(transaction, request, declined, event_clock)
    second, _ = record_session_response(transaction, request, {**declined, "message": "declined again"}, event_clock)

    assert second is first
    assert [event.message for event in transaction.events] == ["", "declined"]


@pytest.mark.parametrize(
    ("first", "then"), [("CHARGE_FAILURE", "CHARGE_SUCCESS"), ("CHARGE_REQUEST", "CHARGE_FAILURE")]
)
def test_session_has_ended_with_the_first_outcome_whatever_is_reported_later(first: str, then: str) -> None:
    """``transactionProcess`` goes through the events by their primary keys, and returns the first final one."""
    _, transaction, event_clock, request = opened()
    answered, _ = record_session_response(transaction, request, {"result": first, "pspReference": "p"}, event_clock)

    record_report(transaction, Report(EventType(then), "p", TOTAL), [transaction], event_clock)

    assert final_event(transaction) is answered
    assert transaction.amounts.charged == (TOTAL if then == "CHARGE_SUCCESS" else 0)
