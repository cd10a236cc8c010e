"""Granted refunds by the rule book: what ties an event to one, and how it is healed (Saleor contract, A.10)."""

from decimal import Decimal
from typing import Any

import pytest

from saleor_app_sdk.testing.records import Event, GrantedRefund, Transaction
from saleor_app_sdk.testing.rules.grants import GrantRefusedError, update_granted_refund_status
from saleor_app_sdk.testing.rules.recording import record_action_response
from saleor_app_sdk.testing.rules.reports import Report, ReportRefusedError, record_report
from saleor_app_sdk.testing.rules.requests import fail_undeliverable_request, request_action, request_granted_refund
from saleor_app_sdk.testing.vocabulary import Action, EventType
from saleor_app_sdk_tests.testing.factories import TOTAL, an_order, frozen_event_clock, paid_transaction

TEN = Decimal(10)


class Granting:
    """An order that is paid, with one granted refund over ten."""

    def __init__(self) -> None:
        self.event_clock = frozen_event_clock()
        order = an_order()
        self.transaction: Transaction = paid_transaction(order, self.event_clock, "CHARGE_SUCCESS", "c-1")
        self.granted = GrantedRefund("g-1", order, TEN, "", shipping_costs_included=False, lines=[],
                                     transaction=self.transaction)  # fmt: skip
        order.granted_refunds.append(self.granted)

    def ask(self) -> Event:
        event = request_granted_refund(self.granted, self.transaction, self.event_clock, idempotency_key="key")
        update_granted_refund_status(self.granted)
        return event

    def answer(self, request: Event, said: Any) -> None:
        record_action_response(self.transaction, request, Action.REFUND, said, self.event_clock)

    def report(self, kind: str, reference: str, amount: Decimal | None = TEN) -> bool:
        """Return whether it was processed already."""
        report = Report(EventType(kind), reference, amount)
        return record_report(self.transaction, report, [self.transaction], self.event_clock)[1]

    @property
    def refunded(self) -> Decimal:
        assert self.transaction.amounts.charged == TOTAL - self.transaction.amounts.refunded
        return self.transaction.amounts.refunded


@pytest.fixture
def granting() -> Granting:
    return Granting()


def success(reference: str) -> dict[str, str]:
    return {"result": "REFUND_SUCCESS", "pspReference": reference}


def failure(reference: str) -> dict[str, str]:
    return {"result": "REFUND_FAILURE", "pspReference": reference, "message": "empty request"}


def test_report_before_the_answer_is_recorded_and_not_tied(granting: Granting) -> None:
    request = granting.ask()

    already = granting.report("REFUND_SUCCESS", "R1")
    granting.answer(request, success("R1"))

    assert not already
    assert (granting.refunded, granting.granted.status) == (TEN, "PENDING")
    assert granting.report("REFUND_SUCCESS", "R1"), "told once more it is a repeat, and ties nothing either"
    assert granting.granted.status == "PENDING"
    with pytest.raises(GrantRefusedError) as refused:
        granting.ask()
    assert refused.value.code == "REFUND_IS_PENDING"


def test_pending_granted_refund_is_healed_by_a_reversal_and_another_request(granting: Granting) -> None:
    first = granting.ask()
    granting.report("REFUND_SUCCESS", "R1")
    granting.answer(first, success("R1"))

    granting.report("REFUND_REVERSE", "R1")
    status, back = str(granting.granted.status), granting.refunded
    granting.answer(granting.ask(), success("R2"))

    assert (status, back) == ("NONE", Decimal(0))
    assert (granting.granted.status, granting.refunded) == ("SUCCESS", TEN)


def test_lost_answer_is_healed_under_the_reference_of_the_failure(granting: Granting) -> None:
    request = granting.ask()
    granting.answer(request, failure("F1"))  # what the app answers to the retry with an empty body
    believed = (request.psp_reference, granting.granted.status)

    granting.report("REFUND_SUCCESS", "F1")

    assert believed == ("F1", "FAILURE")
    assert (granting.granted.status, granting.refunded) == ("SUCCESS", TEN)


def test_lost_answer_that_was_reported_under_another_reference_is_healed_too(granting: Granting) -> None:
    request = granting.ask()
    granting.report("REFUND_SUCCESS", "R1")
    granting.answer(request, failure("F1"))
    believed = (granting.granted.status, granting.refunded)

    granting.report("REFUND_REVERSE", "R1")
    granting.report("REFUND_SUCCESS", "F1")

    assert believed == ("FAILURE", TEN)
    assert (granting.granted.status, granting.refunded) == ("SUCCESS", TEN)


def test_answer_that_is_not_delivered_leaves_the_request_without_a_reference(granting: Granting) -> None:
    request = granting.ask()

    granting.answer(request, None)

    newest = granting.transaction.events[-1]
    assert (newest.type, newest.message, newest.psp_reference) == (
        EventType.REFUND_FAILURE,
        "Failed to delivery request.",
        None,
    )
    assert (request.psp_reference, granting.granted.status) == (None, "FAILURE")


def test_report_under_an_empty_reference_ties_nothing_and_is_not_taken_off_what_is_charged(granting: Granting) -> None:
    granting.answer(granting.ask(), None)

    granting.report("REFUND_SUCCESS", "")

    amounts = granting.transaction.amounts
    assert (granting.granted.status, amounts.refunded, amounts.charged) == ("FAILURE", TEN, TOTAL)


def test_success_that_follows_an_asynchronous_answer_is_tied(granting: Granting) -> None:
    granting.answer(granting.ask(), {"pspReference": "R1"})
    waiting = granting.granted.status

    granting.report("REFUND_SUCCESS", "R1")

    assert (waiting, granting.granted.status, granting.refunded) == ("PENDING", "SUCCESS", TEN)


def test_refund_that_is_no_granted_one_ties_nothing(granting: Granting) -> None:
    asked = request_action(granting.transaction, Action.REFUND, TEN, granting.event_clock, idempotency_key="another")
    granting.answer(granting.ask(), {"pspReference": "R1"})

    granting.answer(asked, success("R2"))

    assert granting.granted.status == "PENDING"


def test_failed_granted_refund_may_be_asked_for_again_and_a_refunded_one_not(granting: Granting) -> None:
    granting.answer(granting.ask(), failure("F1"))
    granting.answer(granting.ask(), success("R2"))

    with pytest.raises(GrantRefusedError) as refused:
        granting.ask()

    assert (refused.value.code, granting.refunded) == ("REFUND_ALREADY_PROCESSED", TEN)


def test_granted_refund_over_nothing_is_asked_for_as_all_that_is_charged(granting: Granting) -> None:
    granting.granted.amount = Decimal(0)
    assert granting.ask().amount == TOTAL


def test_granted_refund_above_what_is_charged_is_not_asked_for(granting: Granting) -> None:
    asked = request_action(
        granting.transaction, Action.REFUND, TOTAL - 5, granting.event_clock, idempotency_key="another"
    )
    granting.answer(asked, success("R1"))

    with pytest.raises(GrantRefusedError) as refused:
        granting.ask()

    assert (refused.value.code, granting.granted.status) == ("AMOUNT_GREATER_THAN_AVAILABLE", "NONE")


def test_conflicting_report_makes_a_granted_refund_a_failure(granting: Granting) -> None:
    granting.answer(granting.ask(), success("R1"))

    with pytest.raises(ReportRefusedError):
        granting.report("REFUND_SUCCESS", "R1", TEN + 1)

    assert (granting.granted.status, granting.refunded) == ("FAILURE", TEN)


def test_request_that_nobody_hears_fails_at_once(granting: Granting) -> None:
    request = granting.ask()

    fail_undeliverable_request(granting.transaction, request, granting.event_clock)

    newest = granting.transaction.events[-1]
    assert newest.message == "No app or plugin is configured to handle requested action."
    assert (newest.type, newest.psp_reference) == (EventType.REFUND_FAILURE, None)
    assert granting.granted.status == "FAILURE"


def test_failure_without_a_reference_leaves_the_request_without_one(granting: Granting) -> None:
    first, second = (
        granting.ask(),
        request_action(granting.transaction, Action.REFUND, TEN, granting.event_clock, idempotency_key="another"),
    )

    granting.answer(first, success("R1"))
    granting.answer(first, {"result": "REFUND_FAILURE"})  # the same webhook once more
    granting.answer(second, {"result": "REFUND_FAILURE"})

    assert (first.psp_reference, second.psp_reference, second.counts) == ("R1", None, False)
