"""The rule book against the real Saleor: what answers to charge, refund and cancel made of a transaction."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from saleor_app_sdk.testing.records import EventClock, Order, Transaction
from saleor_app_sdk.testing.rules.coverage import authorize_status, charge_status, total_authorized, total_charged
from saleor_app_sdk.testing.rules.recording import create_request_event, record_action_response
from saleor_app_sdk.testing.rules.reports import Report, record_report
from saleor_app_sdk.testing.rules.responses import SaleorCrashedError
from saleor_app_sdk.testing.vocabulary import Action, EventType
from saleor_app_sdk_tests.testing.factories import an_order, frozen_event_clock, json_of, paid_transaction
from saleor_app_sdk_tests.testing.recordings import amounts, answer_with_floats, as_saleor_shows, recording

CASES: dict[str, Any] = recording("scenarios/action_answers")


def transactions() -> Iterator[list[str]]:
    """Yield the names of the cases that were played one after the other on one transaction."""
    names: list[str] = []
    for name, case in CASES.items():
        if names and CASES[names[-1]]["tx_psp"] != case["tx_psp"]:
            yield names
            names = []
        names.append(name)
    yield names


def report_between(case: str) -> Report | None:
    """Return what the app reported before the next case, where the recording shows only the effect."""
    reference = CASES[case]["new_events"][0]["pspReference"]
    return {
        "async-psp-only": Report(EventType.CHARGE_SUCCESS, reference, Decimal(100)),
        "async-psp-only-then-failure": Report(EventType.CHARGE_FAILURE, reference),
        "refund-async": Report(EventType.REFUND_SUCCESS, reference, Decimal(100)),
        # A case of the same name was played twice, and the recording keeps the second.
        "amount-less": Report(EventType.CHARGE_SUCCESS, "the first amount-more", Decimal(30)),
    }.get(case)


def begin(case: dict[str, Any], event_clock: EventClock) -> Transaction:
    charged = case["amounts_before"]["chargedAmount"] > 0
    result = "CHARGE_SUCCESS" if charged else "AUTHORIZATION_SUCCESS"
    transaction = paid_transaction(an_order(), event_clock, result, case["tx_psp"])
    assert as_saleor_shows(transaction.amounts) == amounts(case["amounts_before"])
    return transaction


@pytest.mark.parametrize("cases", list(transactions()), ids=lambda cases: f"{cases[0]}..{cases[-1]}")
def test_action_answers_make_what_saleor_made_of_them(cases: list[str]) -> None:
    event_clock = frozen_event_clock()
    transaction = begin(CASES[cases[0]], event_clock)
    for name in cases:
        real = CASES[name]
        assert as_saleor_shows(transaction.amounts) == amounts(real["amounts_before"]), name
        before = list(transaction.events)

        play(name, transaction, event_clock)

        new = [event for event in transaction.events if event not in before]
        assert sorted((e.type, e.psp_reference or "", e.amount, e.message) for e in new) == sorted(
            (e["type"], e["pspReference"], e["amount"]["amount"], e["message"]) for e in real["new_events"]
        ), name
        assert as_saleor_shows(transaction.amounts) == amounts(real["amounts_after"]), name
        assert set(transaction.actions) == set(real["actions_after"]), name
        assert transaction.psp_reference == real["tx_psp"], name
        assert_order(transaction.order, real["order"])
        if report := report_between(name):
            record_report(transaction, report, [transaction], event_clock)


def play(name: str, transaction: Transaction, event_clock: EventClock) -> None:
    [asked] = CASES[name]["request_action"]
    action = Action(asked["actionType"])
    request = create_request_event(transaction, action.request, asked["amount"], event_clock, idempotency_key=name)
    answer = json_of(answer_with_floats("scenarios/action_answers", name), session=False)
    if name == "json-list":
        with pytest.raises(SaleorCrashedError):
            record_action_response(transaction, request, action, answer, event_clock)
    else:
        record_action_response(transaction, request, action, answer, event_clock)


def assert_order(order: Order | None, real: dict[str, Any]) -> None:
    assert order is not None
    assert charge_status(order) == real["chargeStatus"]
    assert authorize_status(order) == real["authorizeStatus"]
    assert total_charged(order) == real["totalCharged"]["amount"]
    assert total_authorized(order) == real["totalAuthorized"]["amount"]


def test_asynchronous_answer_with_actions_poisons_the_transaction_until_a_report_heals_it() -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(an_order(), event_clock, "AUTHORIZATION_SUCCESS", "auth-1")
    request = create_request_event(
        transaction, EventType.CHARGE_REQUEST, Decimal(50), event_clock, idempotency_key="key"
    )

    record_action_response(
        transaction, request, Action.CHARGE, {"pspReference": "a-2", "actions": ["CHARGE"]}, event_clock
    )
    was_unreadable = transaction.unreadable
    record_report(transaction, Report(EventType.INFO, "fix", actions=["REFUND", "CANCEL"]), [transaction], event_clock)
    assert (was_unreadable, transaction.unreadable) == (True, False)
    assert transaction.actions == ["CANCEL", "REFUND"]


def test_reference_of_513_characters_kills_the_task() -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(an_order(), event_clock, "CHARGE_SUCCESS", "ch-1")
    request = create_request_event(
        transaction, EventType.REFUND_REQUEST, Decimal(50), event_clock, idempotency_key="key"
    )
    for answer in ({"pspReference": "p" * 513}, {"result": "REFUND_SUCCESS", "pspReference": "p" * 513}):
        with pytest.raises(SaleorCrashedError):
            record_action_response(transaction, request, Action.REFUND, answer, event_clock)
    assert transaction.events[-1] is request
    assert not request.counts
