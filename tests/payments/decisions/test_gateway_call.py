"""What follows from the answer to a gateway call, for the id of its operation: on paper."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.ids import PaymentRowId
from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.vocabulary import CloseReason, Flow, Kind, Mode, State
from app.rules.decisions.gateway_call import CallReturned
from app.rules.details import Details
from gateway_client.errors import GatewayError, NotSentError, OutcomeUnknownError, RateLimitedError, RefusedError
from gateway_client.models import Checkout, read_record
from tests.payments.aggregates import NOON, ORDER, POS, an_aggregate, an_operation, decision_context
from tests.payments.fake_gateway import operation as operation_record
from tests.payments.fake_gateway import payment

FORTY = Decimal("40.00")


def answer(aggregate: PaymentAggregate, operation: Operation, record: dict[str, Any]) -> None:
    """Record that the call for that operation was answered with this."""
    context = decision_context(answering=operation.id)
    CallReturned(row_id_of(operation), read_record({**record, "pos_id": POS}), context).decide(aggregate, [])


@pytest.mark.law(9, 10)
def test_a_refund_that_a_notification_has_named_keeps_that_name_when_the_answer_has_another() -> None:
    """What the answer names is another refund, and counts, too."""
    refund = an_operation(Kind.REFUND, State.PENDING, FORTY, operation_id="notified")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    aggregate.create.operation_id = payment(ORDER)["payment_id"]
    answer(aggregate, refund, operation_record("refund", ORDER, FORTY, "pending", operation_id="answered"))
    assert [known.operation_id for known in aggregate.operations[1:]] == ["notified", "answered"]


@pytest.mark.law(8, 9)
@pytest.mark.parametrize(("named_before", "name"), [(None, "answered"), ("answered", None)])
def test_a_refund_whose_answer_does_not_match_has_its_name_unless_another_has_it(
    named_before: str | None, name: str | None
) -> None:
    """A person finds it at the gateway by its name; two operations never share one."""
    before = an_operation(Kind.REFUND, State.SUCCESS, FORTY, operation_id=named_before)
    refund = an_operation(Kind.REFUND, State.INTENT, FORTY)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, before, refund)
    aggregate.create.operation_id = payment(ORDER)["payment_id"]
    answer(aggregate, refund, operation_record("refund", ORDER, "41.00", operation_id="answered"))
    assert refund.operation_id == name
    assert not refund.state.final


@pytest.mark.law(8, 9)
@pytest.mark.parametrize(("mode", "is_named"), [(Mode.DIRECT, True), (Mode.HOSTED, False)])
def test_a_record_that_does_not_match_names_a_card_payment_and_no_page(mode: Mode, *, is_named: bool) -> None:
    """A card payment is one call and one record; on a page, another card may be tried and be the payment."""
    aggregate = an_aggregate(Flow.CHARGE, State.INTENT)
    aggregate.payment.mode = mode
    record = payment(ORDER, amount="99.00")
    answer(aggregate, aggregate.create, record)
    assert aggregate.create.operation_id == (record["payment_id"] if is_named else None)
    assert aggregate.payment.has_problems
    assert not aggregate.create.state.final


@pytest.mark.law(1, 2)
def test_a_page_that_was_answered_with_a_record_has_no_link_and_is_closed() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INTENT)
    answer(aggregate, aggregate.create, payment(ORDER, "init", "100.00"))
    assert (aggregate.create.state, aggregate.create.inferred) == (State.FAILURE, True)
    assert [operation.close_reason for operation in aggregate.operations[1:]] == [CloseReason.LINK_LOST]


@pytest.mark.law(12)
def test_two_pages_that_were_begun_at_the_same_moment_know_of_each_other_once_one_is_open() -> None:
    """Neither has seen the other begin, and whichever is paid must have the other closed."""
    first, second = (an_aggregate(Flow.CHARGE, State.INTENT) for _ in range(2))
    second.payment.id, second.payment.expires_at = PaymentRowId(2), NOON
    page = Checkout.from_form("https://gateway.example/form")
    CallReturned(row_id_of(second.create), page, decision_context()).decide(second, [first, second])
    assert (first.payment.has_rivals, second.payment.has_rivals) == (True, True)


class TestWaited:
    """The call of an operation that had waited for its turn has failed: nobody waits for this outcome."""

    BUSY = RateLimitedError("Too many requests", pause=600.0, http_status=429)

    @pytest.mark.law(2)
    @pytest.mark.parametrize(
        ("error", "state"),
        [
            (BUSY, State.WAITING),
            (NotSentError("no connection"), State.WAITING),
            (RefusedError("no", http_status=400), State.FAILURE),
            (OutcomeUnknownError("nothing came back"), State.UNKNOWN),
        ],
        ids=["busy", "not sent", "refused", "unknown"],
    )
    def test_what_provably_was_not_done_for_now_waits_for_another_turn(self, error: GatewayError, state: State) -> None:
        refund = an_operation(Kind.REFUND, State.INTENT, FORTY)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
        CallReturned(row_id_of(refund), error, decision_context(), waited=True).decide(aggregate, [])
        assert refund.state is state
        assert [event.type for event in aggregate.events] == (["REFUND_FAILURE"] if state is State.FAILURE else [])

    @pytest.mark.law(7)
    @pytest.mark.parametrize("state", [State.UNKNOWN, State.PENDING, State.SUCCESS])
    def test_what_the_gateway_or_a_look_up_has_shown_meanwhile_stays(self, state: State) -> None:
        refund = an_operation(Kind.REFUND, state, FORTY, operation_id="notified")
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
        CallReturned(row_id_of(refund), self.BUSY, decision_context(), waited=True).decide(aggregate, [])
        assert refund.state is not State.WAITING

    @pytest.mark.parametrize(
        ("pause", "waited", "seconds"),
        [
            (600.0, timedelta(0), 600),
            (0.0, timedelta(0), 60),
            (None, timedelta(0), 60),
            (None, timedelta(minutes=5), 300),
            (None, timedelta(hours=5), 3600),
            (600.0, timedelta(hours=5), 600),
            (None, -timedelta(days=1), 60),
        ],
    )
    def test_pause_before_the_next_turn_is_the_gateways_or_grows(
        self, pause: float | None, waited: timedelta, seconds: int
    ) -> None:
        """It is reckoned from its first turn, not from its request; that of the last one was by a clock ahead."""
        turned_away = Details(turned_away_at=NOON - waited).to_row() if waited else {}
        requested = NOON - timedelta(days=3)
        refund = an_operation(Kind.REFUND, State.INTENT, FORTY, created_at=requested, details=turned_away)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
        error = RateLimitedError("Too many requests", pause=pause, http_status=429)
        CallReturned(row_id_of(refund), error, decision_context(), waited=True).decide(aggregate, [])
        assert refund.next_poll_at == NOON + timedelta(seconds=seconds)

    @pytest.mark.law(12)
    def test_closing_of_a_page_that_must_not_be_paid_keeps_its_own_pauses(self) -> None:
        closing = an_operation(
            Kind.CANCEL, State.INTENT, close_reason=CloseReason.COVERED, asked_by_saleor=False, polls=1
        )
        aggregate = an_aggregate(Flow.CHARGE, State.INIT, closing)
        busy = RateLimitedError("Too many requests", pause=3600.0, http_status=429)
        CallReturned(row_id_of(closing), busy, decision_context(), waited=True).decide(aggregate, [])
        assert closing.next_poll_at is not None
        assert closing.next_poll_at <= NOON + timedelta(minutes=5)
