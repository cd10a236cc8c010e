"""Laws of the rule book that hold whatever an app answers and reports."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from saleor_app_sdk.testing.records import EventClock, Transaction
from saleor_app_sdk.testing.rules.recording import create_request_event, record_action_response, record_session_response
from saleor_app_sdk.testing.rules.reports import Report, ReportRefusedError, record_report
from saleor_app_sdk.testing.rules.responses import SaleorCrashedError
from saleor_app_sdk.testing.vocabulary import Action, EventType
from saleor_app_sdk_tests.testing.factories import (
    TOTAL,
    frozen_event_clock,
    new_checkout,
    new_transaction,
    paid_transaction,
)

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
amounts = st.decimals(min_value=0, max_value=1000, places=2)
references = st.sampled_from(["a", "b", "c"])
reports = st.builds(
    Report,
    type=st.sampled_from([kind for kind in EventType if kind.outcome not in {"REVERSE", "BACK"}]),
    psp_reference=references,
    amount=amounts,
    time=st.none() | st.integers(0, 10_000).map(lambda seconds: NOON + timedelta(seconds=seconds)),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
answers = json_values | st.fixed_dictionaries(
    {},
    optional={
        "result": st.sampled_from(list(EventType)) | json_values,
        "pspReference": references | json_values,
        "amount": amounts.map(float) | json_values,
        "time": st.just("2026-11-21T10:00:00Z") | json_values,
        "externalUrl": st.just("https://psp.test/1") | json_values,
        "message": json_values,
        "actions": st.just(["REFUND"]) | json_values,
        "paymentMethodDetails": json_values,
    },
)


def tell(transaction: Transaction, report: Report, event_clock: EventClock) -> bool | None:
    try:
        return record_report(transaction, report, [transaction], event_clock)[1]
    except ReportRefusedError:
        return None


@given(st.lists(reports, max_size=12), st.data())
def test_a_report_told_twice_counts_once(told: list[Report], data: st.DataObject) -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_ACTION_REQUIRED", "a")
    for report in told:
        tell(transaction, report, event_clock)
    repeatable = [report for report in told if report.type.outcome not in {"ACTION_REQUIRED", ""}]
    if not repeatable:
        return
    report = data.draw(st.sampled_from(repeatable))
    first = tell(transaction, report, event_clock)
    before = transaction.amounts

    again = tell(transaction, report, event_clock)

    assert again is (None if first is None else True)
    assert transaction.amounts == before


@given(st.lists(reports, max_size=12))
def test_authorized_never_shows_below_zero_and_charges_conserve_money(told: list[Report]) -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_ACTION_REQUIRED", "a")
    for report in told:
        tell(transaction, report, event_clock)

    held = transaction.amounts
    assert held.authorized >= 0
    assert held.authorize_pending >= 0
    # What was charged in all is what is still charged, or went back, or is on its way back.
    charges = {event.psp_reference: event for event in transaction.events if event.type is EventType.CHARGE_SUCCESS}
    failed = {
        e.psp_reference: e.created_at for e in transaction.events if e.type is EventType.CHARGE_FAILURE and e.counts
    }
    earned = sum(
        (e.amount for ref, e in charges.items() if ref not in failed or e.created_at > failed[ref]), Decimal(0)
    )
    assert held.charged + held.refunded + held.refund_pending == earned


@example({"result": "x" * 600})
@example({"result": EventType.AUTHORIZATION_SUCCESS, "amount": 10**25})
@given(answers)
def test_whatever_a_session_is_answered_money_moves_only_by_a_good_answer(answer: Any) -> None:
    event_clock = frozen_event_clock()
    transaction = new_transaction(new_checkout(), event_clock)
    request = create_request_event(transaction, EventType.CHARGE_REQUEST, TOTAL, event_clock, idempotency_key="key")

    try:
        event, _ = record_session_response(transaction, request, answer, event_clock)
    except SaleorCrashedError:
        assert transaction.events == [request]
        return

    moved = transaction.amounts != type(transaction.amounts)()
    if moved:
        assert isinstance(answer, dict)
        assert event.type == answer["result"]
        assert event.psp_reference == answer["pspReference"]
    assert event in transaction.events
    assert len(event.message) <= 512


@given(answers, st.sampled_from(list(Action)), amounts)
def test_whatever_an_action_is_answered_there_is_an_end_or_a_crash(
    answer: Any, action: Action, amount: Decimal
) -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_SUCCESS", "paid")
    request = create_request_event(transaction, action.request, amount, event_clock, idempotency_key="key")
    before = transaction.amounts

    try:
        record_action_response(transaction, request, action, answer, event_clock)
    except SaleorCrashedError:
        assert transaction.amounts == before
        return

    last = transaction.events[-1]
    assert last.type.family == action
    if last.type.outcome == "FAILURE":
        assert transaction.amounts == before
