"""The rule book against the real Saleor: what transactionEventReport made of a transaction."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from saleor_app_sdk.testing.records import EventClock, Transaction
from saleor_app_sdk.testing.rules.reports import Report, ReportRefusedError, record_report
from saleor_app_sdk.testing.vocabulary import EventType
from saleor_app_sdk_tests.testing.factories import TOTAL, frozen_event_clock, new_checkout, paid_transaction
from saleor_app_sdk_tests.testing.recordings import amounts, as_saleor_shows, recording

# Refused before the mutation runs (variables, token, id): test_graphql tells those.
ELSEWHERE = {"amount-neg", "time-bad", "no-token", "staff-token"}
CASES: dict[str, Any] = {
    name: case for name, case in recording("scenarios/event_report").items() if name not in ELSEWHERE and "args" in case
}


def transaction_id(case: dict[str, Any]) -> str | None:
    transaction = case["result"]["data"]["transactionEventReport"]["transaction"]
    return transaction["id"] if transaction else None


def transactions() -> Iterator[list[str]]:
    """Yield the names of the cases that were played one after the other on one transaction."""
    names: list[str] = []
    current = None
    for name, case in CASES.items():
        told = transaction_id(case)
        if names and told and told != current:
            yield names
            names = []
        current = told or current
        names.append(name)
    yield names


def begin(case: dict[str, Any], event_clock: EventClock) -> Transaction:
    result = "CHARGE_ACTION_REQUIRED"
    if case["before"]["authorizedAmount"] > 0:
        result = "AUTHORIZATION_SUCCESS"
    elif case["before"]["chargedAmount"] > 0:
        result = "CHARGE_SUCCESS"
    reference = case["result"]["data"]["transactionEventReport"]["transaction"]["pspReference"]
    return paid_transaction(new_checkout(), event_clock, result, reference)


def report_of(case: dict[str, Any]) -> Report:
    kind, reference, amount = case["args"]
    extra = case["kwargs"]
    time = datetime.fromisoformat(extra["time"]) if "time" in extra else None
    return Report(
        EventType(kind),
        reference,
        None if amount is None else Decimal(str(amount)),
        time=time.replace(tzinfo=UTC) if time else None,
        message=extra.get("message"),
        external_url=extra.get("externalUrl"),
        actions=extra.get("actions"),
        metadata={item["key"]: item["value"] for item in extra.get("metadata", [])},
    )


def book(transaction: Transaction, report: Report, event_clock: EventClock) -> dict[str, Any]:
    """Return what the mutation would say, in the recording's words."""
    try:
        event, already = record_report(transaction, report, [transaction], event_clock)
    except ReportRefusedError as refused:
        error = {"field": refused.field, "code": refused.code, "message": str(refused)}
        return {"alreadyProcessed": None, "transactionEvent": None, "errors": [error]}
    return {
        "alreadyProcessed": already,
        "transactionEvent": (event.type, event.psp_reference, event.amount, event.message, event.external_url),
        "errors": [],
    }


def said_by_saleor(case: dict[str, Any]) -> dict[str, Any]:
    told = case["result"]["data"]["transactionEventReport"]
    event = told["transactionEvent"]
    return {
        "alreadyProcessed": told["alreadyProcessed"],
        "transactionEvent": event and seen(event),
        "errors": told["errors"],
    }


def seen(event: dict[str, Any]) -> tuple[Any, ...]:
    return event["type"], event["pspReference"], event["amount"]["amount"], event["message"], event["externalUrl"]


@pytest.mark.parametrize("cases", list(transactions()), ids=lambda cases: f"{cases[0]}..{cases[-1]}")
def test_reports_make_what_saleor_made_of_them(cases: list[str]) -> None:
    event_clock = frozen_event_clock()
    transaction = begin(CASES[cases[0]], event_clock)
    for name in cases:
        real = CASES[name]
        assert as_saleor_shows(transaction.amounts) == amounts(real["before"]), name
        before = list(transaction.events)

        said = book(transaction, report_of(real), event_clock)

        assert said == said_by_saleor(real), name
        new = [event for event in transaction.events if event not in before]
        assert [(e.type, e.psp_reference, e.amount, e.message, e.external_url) for e in new] == [
            seen(event) for event in real["new_events"]
        ], name
        assert as_saleor_shows(transaction.amounts) == amounts(real["after"]), name
        if told := real["result"]["data"]["transactionEventReport"]["transaction"]:
            assert transaction.psp_reference == told["pspReference"], name
            assert set(transaction.actions) == set(told["actions"]), name


def test_metadata_is_saved_with_news_and_forgotten_with_a_repetition() -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_ACTION_REQUIRED", "p-1")

    record_report(
        transaction, Report(EventType.CHARGE_SUCCESS, "p-1", TOTAL, metadata={"card": "4111"}), [], event_clock
    )
    record_report(
        transaction, Report(EventType.CHARGE_SUCCESS, "p-1", TOTAL, metadata={"card": "5555"}), [], event_clock
    )

    assert transaction.metadata == {"card": "4111"}


def test_payment_method_is_updated_even_by_a_repetition() -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_SUCCESS", "p-1")
    card = {"card": {"name": "Visa", "lastDigits": "1111", "expYear": 2030}}

    _, already = record_report(
        transaction, Report(EventType.CHARGE_SUCCESS, "p-1", TOTAL, method_details=card), [], event_clock
    )

    assert already
    assert transaction.payment_method_details == {
        "type": "CARD",
        "name": "Visa",
        "lastDigits": "1111",
        "expYear": 2030,
    }


@pytest.mark.parametrize("fields", [{"lastDigits": "41111"}, {"expYear": 30}, {"expMonth": 13}, {"brand": "b" * 41}])
def test_payment_method_outside_its_limits_is_refused(fields: dict[str, Any]) -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_SUCCESS", "p-1")
    report = Report(EventType.INFO, "i", method_details={"card": {"name": "Visa", **fields}})

    with pytest.raises(ReportRefusedError) as refused:
        record_report(transaction, report, [], event_clock)

    assert (refused.value.code, refused.value.field) == ("INVALID", next(iter(fields)))
    assert transaction.payment_method_details is None


def test_late_success_counts_in_full_after_a_failure() -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_FAILURE", "p-1")

    record_report(transaction, Report(EventType.CHARGE_SUCCESS, "p-1", TOTAL), [], event_clock)

    assert transaction.amounts.charged == TOTAL


def test_pending_charge_stays_beside_a_success_under_another_reference() -> None:
    event_clock = frozen_event_clock()
    transaction = paid_transaction(new_checkout(), event_clock, "CHARGE_REQUEST", "p-1")

    record_report(transaction, Report(EventType.CHARGE_SUCCESS, "p-2", TOTAL), [], event_clock)

    assert (transaction.amounts.charged, transaction.amounts.charge_pending) == (TOTAL, TOTAL)
