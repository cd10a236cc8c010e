"""Granted refunds by the rule book: what ties an event to one, and how it is healed (Saleor contract, A.10)."""

from decimal import Decimal
from typing import Any

import pytest

from app.saleor.testing.records import Event, GrantedRefund, Transaction
from app.saleor.testing.rules.grants import GrantRefusedError, settle_granted_refund
from app.saleor.testing.rules.recording import record_action_answer
from app.saleor.testing.rules.reports import Report, ReportRefusedError, record_report
from app.saleor.testing.rules.requests import fail_unheard, request_action, request_granted_refund
from app.saleor.testing.vocabulary import Action, EventType
from tests.saleor_testing.scenes import TOTAL, an_order, paid, the_event_clock

TEN = Decimal(10)


class Scene:
    """An order that is paid, with one granted refund over ten."""

    def __init__(self) -> None:
        self.event_clock = the_event_clock()
        order = an_order()
        self.transaction: Transaction = paid(order, self.event_clock, "CHARGE_SUCCESS", "c-1")
        self.granted = GrantedRefund("g-1", order, TEN, "", shipping_costs_included=False, lines=[],
                                     transaction=self.transaction)  # fmt: skip
        order.granted_refunds.append(self.granted)

    def ask(self) -> Event:
        event = request_granted_refund(self.granted, self.transaction, self.event_clock, idempotency_key="key")
        settle_granted_refund(self.granted)
        return event

    def answer(self, request: Event, said: Any) -> None:
        record_action_answer(self.transaction, request, Action.REFUND, said, self.event_clock)

    def report(self, kind: str, reference: str, amount: Decimal | None = TEN) -> bool:
        """Return whether it was processed already."""
        report = Report(EventType(kind), reference, amount)
        return record_report(self.transaction, report, [self.transaction], self.event_clock)[1]

    @property
    def refunded(self) -> Decimal:
        assert self.transaction.amounts.charged == TOTAL - self.transaction.amounts.refunded
        return self.transaction.amounts.refunded


@pytest.fixture
def scene() -> Scene:
    return Scene()


def success(reference: str) -> dict[str, str]:
    return {"result": "REFUND_SUCCESS", "pspReference": reference}


def failure(reference: str) -> dict[str, str]:
    return {"result": "REFUND_FAILURE", "pspReference": reference, "message": "empty request"}


def test_report_before_the_answer_is_recorded_and_not_tied(scene: Scene) -> None:
    request = scene.ask()

    already = scene.report("REFUND_SUCCESS", "R1")
    scene.answer(request, success("R1"))

    assert not already
    assert (scene.refunded, scene.granted.status) == (TEN, "PENDING")
    assert scene.report("REFUND_SUCCESS", "R1"), "told once more it is a repeat, and ties nothing either"
    assert scene.granted.status == "PENDING"
    with pytest.raises(GrantRefusedError) as refused:
        scene.ask()
    assert refused.value.code == "REFUND_IS_PENDING"


def test_pending_granted_refund_is_healed_by_a_reversal_and_another_request(scene: Scene) -> None:
    first = scene.ask()
    scene.report("REFUND_SUCCESS", "R1")
    scene.answer(first, success("R1"))

    scene.report("REFUND_REVERSE", "R1")
    status, back = str(scene.granted.status), scene.refunded
    scene.answer(scene.ask(), success("R2"))

    assert (status, back) == ("NONE", Decimal(0))
    assert (scene.granted.status, scene.refunded) == ("SUCCESS", TEN)


def test_lost_answer_is_healed_under_the_reference_of_the_failure(scene: Scene) -> None:
    request = scene.ask()
    scene.answer(request, failure("F1"))  # what the app answers to the retry with an empty body
    believed = (request.psp_reference, scene.granted.status)

    scene.report("REFUND_SUCCESS", "F1")

    assert believed == ("F1", "FAILURE")
    assert (scene.granted.status, scene.refunded) == ("SUCCESS", TEN)


def test_lost_answer_that_was_reported_under_another_reference_is_healed_too(scene: Scene) -> None:
    request = scene.ask()
    scene.report("REFUND_SUCCESS", "R1")
    scene.answer(request, failure("F1"))
    believed = (scene.granted.status, scene.refunded)

    scene.report("REFUND_REVERSE", "R1")
    scene.report("REFUND_SUCCESS", "F1")

    assert believed == ("FAILURE", TEN)
    assert (scene.granted.status, scene.refunded) == ("SUCCESS", TEN)


def test_answer_that_is_not_delivered_leaves_the_request_without_a_reference(scene: Scene) -> None:
    request = scene.ask()

    scene.answer(request, None)

    newest = scene.transaction.events[-1]
    assert (newest.type, newest.message, newest.psp_reference) == (
        EventType.REFUND_FAILURE,
        "Failed to delivery request.",
        None,
    )
    assert (request.psp_reference, scene.granted.status) == (None, "FAILURE")


def test_report_under_an_empty_reference_ties_nothing_and_is_not_taken_off_what_is_charged(scene: Scene) -> None:
    scene.answer(scene.ask(), None)

    scene.report("REFUND_SUCCESS", "")

    amounts = scene.transaction.amounts
    assert (scene.granted.status, amounts.refunded, amounts.charged) == ("FAILURE", TEN, TOTAL)


def test_success_that_follows_an_asynchronous_answer_is_tied(scene: Scene) -> None:
    scene.answer(scene.ask(), {"pspReference": "R1"})
    waiting = scene.granted.status

    scene.report("REFUND_SUCCESS", "R1")

    assert (waiting, scene.granted.status, scene.refunded) == ("PENDING", "SUCCESS", TEN)


def test_refund_that_is_no_granted_one_ties_nothing(scene: Scene) -> None:
    asked = request_action(scene.transaction, Action.REFUND, TEN, scene.event_clock, idempotency_key="another")
    scene.answer(scene.ask(), {"pspReference": "R1"})

    scene.answer(asked, success("R2"))

    assert scene.granted.status == "PENDING"


def test_failed_granted_refund_may_be_asked_for_again_and_a_refunded_one_not(scene: Scene) -> None:
    scene.answer(scene.ask(), failure("F1"))
    scene.answer(scene.ask(), success("R2"))

    with pytest.raises(GrantRefusedError) as refused:
        scene.ask()

    assert (refused.value.code, scene.refunded) == ("REFUND_ALREADY_PROCESSED", TEN)


def test_granted_refund_above_what_is_charged_is_not_asked_for(scene: Scene) -> None:
    asked = request_action(scene.transaction, Action.REFUND, TOTAL - 5, scene.event_clock, idempotency_key="another")
    scene.answer(asked, success("R1"))

    with pytest.raises(GrantRefusedError) as refused:
        scene.ask()

    assert (refused.value.code, scene.granted.status) == ("AMOUNT_GREATER_THAN_AVAILABLE", "NONE")


def test_conflicting_report_makes_a_granted_refund_a_failure(scene: Scene) -> None:
    scene.answer(scene.ask(), success("R1"))

    with pytest.raises(ReportRefusedError):
        scene.report("REFUND_SUCCESS", "R1", TEN + 1)

    assert (scene.granted.status, scene.refunded) == ("FAILURE", TEN)


def test_request_that_nobody_hears_fails_at_once(scene: Scene) -> None:
    request = scene.ask()

    fail_unheard(scene.transaction, request, scene.event_clock)

    newest = scene.transaction.events[-1]
    assert newest.message == "No app or plugin is configured to handle requested action."
    assert (newest.type, newest.psp_reference) == (EventType.REFUND_FAILURE, None)
    assert scene.granted.status == "FAILURE"


def test_failure_without_a_reference_leaves_the_request_without_one(scene: Scene) -> None:
    first, second = (
        scene.ask(),
        request_action(scene.transaction, Action.REFUND, TEN, scene.event_clock, idempotency_key="another"),
    )

    scene.answer(first, success("R1"))
    scene.answer(first, {"result": "REFUND_FAILURE"})  # the same webhook once more
    scene.answer(second, {"result": "REFUND_FAILURE"})

    assert (first.psp_reference, second.psp_reference, second.counts) == ("R1", None, False)
