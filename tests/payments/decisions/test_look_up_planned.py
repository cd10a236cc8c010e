"""What a look-up changes besides what it has shown: when the next one is, and what is for staff. Pure."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.ids import GatewayOperationId, OperationRowId
from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.request import RequestDetails
from app.core.vocabulary import CloseReason, Flow, Kind, Mode, State
from app.rules.decisions.look_up import OrderLookedUp, OrderShown, ShopperReturned, TurnCame
from app.rules.issues import IssueCode, issue_from_json
from app.rules.mapper import Observation
from app.rules.observation import Observations, UnexplainedMoney
from app.rules.page_cancellation import create_cancellation
from app.rules.problems import ADDRESS, open_problems
from gateway_client.errors import BadCredentialsError, GatewayError, NotTheGatewayError
from tests.payments.aggregates import HUNDRED, NOON, ORDER, an_aggregate, an_operation, decision_context, observation

SCHEDULE = decision_context().schedule
SECOND = timedelta(seconds=1)
ENDED = NOON - SCHEDULE.settling_time
OVERDUE = NOON - SCHEDULE.overdue
REFUSED = BadCredentialsError("refused")


def shown(*records: Observation) -> Observations:
    """Return these records as those of the whole order."""
    observations = Observations(records)
    observations.unreadable, observations.unexplained = (), ()
    return observations


SILENCE = shown()


def look_up(
    aggregate: PaymentAggregate,
    operation: Operation,
    records: Observations | GatewayError = SILENCE,
    *,
    now: datetime = NOON,
    scheduled: bool = True,
) -> Operation | None:
    """Return the cancellation that is to be sent after a look-up for an operation."""
    fact = OrderLookedUp(row_id_of(operation), frozenset(), records, decision_context(now=now), scheduled=scheduled)
    found = fact.decide(aggregate)
    return None if found is None else found[1]


def issues(aggregate: PaymentAggregate) -> list[IssueCode]:
    """Return the codes of what staff must look at."""
    read = [issue_from_json(problem.message) for problem in open_problems(aggregate.payment)]
    return [issue.code for issue in read if issue is not None]


@pytest.mark.parametrize("scheduled", [True, False])
def test_look_up_that_was_due_lengthens_the_pause_before_the_next(*, scheduled: bool) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
    create = aggregate.create
    create.next_poll_at = due = NOON - SECOND
    look_up(aggregate, create, scheduled=scheduled)
    assert (create.polls, create.polled_at) == (int(scheduled), NOON)
    assert (create.next_poll_at == due) is not scheduled
    assert create.next_poll_at is not None
    assert not scheduled or create.next_poll_at > NOON


def test_look_up_that_was_due_plans_none_for_what_only_staff_can_settle() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
    look_up(aggregate, aggregate.create)
    assert aggregate.create.next_poll_at is None


@pytest.mark.law(15)
def test_time_of_a_clock_that_was_ahead_is_not_waited_for() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
    aggregate.create.updated_at = NOON + timedelta(days=1)
    look_up(aggregate, aggregate.create)
    assert aggregate.create.updated_at == NOON


@pytest.mark.law(13)
def test_failed_look_up_is_for_staff_and_repeated_for_a_day_after_the_end() -> None:
    for ended_at, is_repeated in ((OVERDUE + SECOND, True), (OVERDUE, False)):
        refund = an_operation(
            Kind.REFUND, State.SUCCESS, operation_id="refund-1", next_poll_at=NOON - SECOND, updated_at=ended_at
        )
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
        look_up(aggregate, refund, REFUSED)
        assert issues(aggregate) == [IssueCode.KEYS_REFUSED]
        assert (refund.next_poll_at is not None) is is_repeated


@pytest.mark.law(13)
def test_address_that_is_not_the_gateways_is_looked_up_once_more() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
    aggregate.create.updated_at = OVERDUE
    look_up(aggregate, aggregate.create, NotTheGatewayError("blocked"))
    assert [problem.kind for problem in aggregate.payment.problems] == [ADDRESS.kind]
    assert aggregate.create.next_poll_at == SCHEDULE.next_order_look_up(NOON)


@pytest.mark.law(2)
@pytest.mark.parametrize(("late", "is_abandoned"), [(timedelta(0), True), (-SECOND, False)])
@pytest.mark.parametrize("kind", [Kind.CREATE, Kind.CANCEL])
def test_page_without_a_link_is_abandoned_once_none_can_arrive(
    kind: Kind, late: timedelta, *, is_abandoned: bool
) -> None:
    """By the look-up for the payment, which begins when its call must be over."""
    cancel = an_operation(Kind.CANCEL, State.UNKNOWN, Decimal(0))
    aggregate = an_aggregate(Flow.CHARGE, State.UNKNOWN, cancel)
    operation = aggregate.create if kind is Kind.CREATE else cancel
    look_up(aggregate, operation, REFUSED, now=SCHEDULE.intent_deadline(NOON) + late)
    assert (aggregate.create.state is State.FAILURE) is (is_abandoned and kind is Kind.CREATE)


@pytest.mark.law(10)
@pytest.mark.parametrize("is_whole", [True, False])
def test_only_the_whole_order_shows_that_a_rest_was_left(*, is_whole: bool) -> None:
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    release = observation(Kind.VOID, State.SUCCESS, Decimal("30.00"), "theirs")
    OrderShown(shown(release), decision_context(), is_whole=is_whole).decide(aggregate)
    assert aggregate.operations[-1].operation_id == "theirs"
    assert issues(aggregate) == ([IssueCode.RECORDED_AMOUNT] if is_whole else [])


@pytest.mark.law(2)
@pytest.mark.parametrize(
    ("kind", "seen", "changed", "is_over"),
    [
        (Kind.REFUND, {}, {}, True),
        (Kind.REFUND, {"state": State.PENDING}, {}, False),  # the gateway may lag behind
        (Kind.REFUND, {"kind": Kind.CAPTURE}, {}, False),
        (Kind.REFUND, {"order_id": "another"}, {}, False),
        (Kind.REFUND, {}, {"contradicted": True}, False),
        (Kind.REFUND, {}, {"polls": 1}, False),
        (Kind.REFUND, {}, {"updated_at": ENDED + SECOND}, False),
        (Kind.CANCEL, {"state": State.INIT}, {}, True),
    ],
)
def test_operation_has_not_happened_if_the_payment_is_shown_and_nothing_of_it(
    kind: Kind, seen: dict[str, Any], changed: dict[str, Any], *, is_over: bool
) -> None:
    flow = Flow.AUTHORIZATION if seen.get("kind") is Kind.CAPTURE else Flow.CHARGE
    state = State.INIT if kind is Kind.CANCEL else State.SUCCESS
    operation = an_operation(kind, State.UNKNOWN, **{"updated_at": ENDED, "polls": 20, **changed})
    aggregate = an_aggregate(flow, state, operation)
    record = {"kind": Kind.CREATE, "state": state, **seen}
    look_up(aggregate, operation, shown(observation(record.pop("kind"), record.pop("state"), **record)))
    assert (operation.state is State.FAILURE) is is_over


@pytest.mark.law(3, 10)
class TestTurnCame:
    def _sent(self, aggregate: PaymentAggregate, waiting: Operation) -> bool:
        return TurnCame(row_id_of(waiting), decision_context(), can_be_sent=True).decide(aggregate) is not None

    @pytest.mark.parametrize(("left", "is_sent"), [("40.00", True), ("39.99", False)])
    def test_what_others_have_left_too_little_for_has_failed(self, left: str, *, is_sent: bool) -> None:
        theirs = an_operation(Kind.REFUND, State.SUCCESS, HUNDRED - Decimal(left), idempotency_key="gateway:theirs")
        waiting = an_operation(Kind.REFUND, State.WAITING, Decimal("40.00"), next_poll_at=NOON)
        other = an_operation(Kind.REFUND, State.WAITING, Decimal("40.00"))  # it comes after this one
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, theirs, waiting, other)
        assert self._sent(aggregate, waiting) is is_sent
        assert waiting.state is (State.INTENT if is_sent else State.FAILURE)
        assert bool(waiting.message) is not is_sent

    def test_what_has_begun_is_not_sent_again(self) -> None:
        for state in (State.INTENT, State.UNKNOWN, State.SUCCESS, State.FAILURE):
            refund = an_operation(Kind.REFUND, state)
            aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
            assert not self._sent(aggregate, refund)
            assert refund.state is state

    def test_void_releases_all_that_is_reserved_by_then(self) -> None:
        waiting = an_operation(Kind.VOID, State.WAITING, Decimal("60.00"))
        waiting.request = RequestDetails(amount=Decimal("60.00")).write(ORDER, "UAH")
        aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, waiting)
        assert self._sent(aggregate, waiting)
        assert (waiting.amount, waiting.requested.amount) == (HUNDRED, HUNDRED)

    def test_void_of_a_reservation_in_doubt_is_over_what_was_requested(self) -> None:
        waiting = an_operation(Kind.VOID, State.WAITING, Decimal("60.00"))
        aggregate = an_aggregate(Flow.AUTHORIZATION, State.FAILURE, waiting)
        aggregate.create.contradicted = True
        assert self._sent(aggregate, waiting)
        assert waiting.amount == Decimal("60.00")

    def test_refund_beside_a_rest_that_is_reserved_is_over_what_was_requested(self) -> None:
        captured = an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("60.00"), keeps_rest=True)
        waiting = an_operation(Kind.REFUND, State.WAITING, Decimal("10.00"))
        aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, captured, waiting)
        assert self._sent(aggregate, waiting)
        assert waiting.amount == Decimal("10.00")

    def test_cancellation_is_sent_whatever_is_left(self) -> None:
        waiting = an_operation(Kind.CANCEL, State.WAITING, Decimal(0))
        assert self._sent(an_aggregate(Flow.CHARGE, State.INIT, waiting), waiting)

    @pytest.mark.parametrize(("refunded", "is_full"), [(None, True), ("10.00", False)])
    def test_refund_of_all_names_its_sum_where_that_is_not_all_any_more(
        self, refunded: str | None, *, is_full: bool
    ) -> None:
        amount = HUNDRED - Decimal(refunded or 0)
        theirs = [an_operation(Kind.REFUND, State.SUCCESS, Decimal(refunded))] if refunded else []
        waiting = an_operation(Kind.REFUND, State.WAITING, amount)
        waiting.request = RequestDetails(amount=amount, is_full=True).write(ORDER, "UAH")
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *theirs, waiting)
        assert self._sent(aggregate, waiting)
        assert (waiting.amount, waiting.requested.amount, waiting.requested.is_full) == (amount, amount, is_full)


def close_lost_page(aggregate: PaymentAggregate, now: datetime) -> Operation:
    """Add the closing of a page whose link was lost; it waits for its turn."""
    closing = create_cancellation(
        aggregate.payment,
        key="close",
        reason=CloseReason.LINK_LOST,
        state=State.WAITING,
        next_poll_at=NOON,
        now=now,
    )
    closing.id = OperationRowId(1000)
    aggregate.operations.append(closing)
    return closing


@pytest.mark.law(13)
class TestOverdue:
    @pytest.mark.parametrize(
        ("kind", "state", "since", "is_told"),
        [
            (Kind.REFUND, State.UNKNOWN, OVERDUE, True),
            (Kind.REFUND, State.PENDING, OVERDUE, True),
            (Kind.REFUND, State.PENDING, OVERDUE + SECOND, False),
            (Kind.REFUND, State.FAILURE, OVERDUE, False),
            (Kind.DISPUTE, State.PENDING, OVERDUE, False),
        ],
    )
    def test_outcome_that_is_open_for_a_day_is_for_staff(
        self, kind: Kind, state: State, since: datetime, *, is_told: bool
    ) -> None:
        """A dispute takes weeks."""
        operation = an_operation(kind, state, operation_id="one", updated_at=since)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, operation)
        look_up(aggregate, operation)
        assert issues(aggregate) == [IssueCode.OUTCOME_UNKNOWN] * is_told

    @pytest.mark.parametrize(("expires_at", "is_told"), [(OVERDUE, True), (OVERDUE + SECOND, False), (None, True)])
    @pytest.mark.parametrize("state", [State.INIT, State.PENDING])
    def test_page_is_only_once_its_time_to_pay_is_over(
        self, state: State, expires_at: datetime | None, *, is_told: bool
    ) -> None:
        aggregate = an_aggregate(Flow.CHARGE, state)
        aggregate.payment.expires_at, aggregate.payment.checkout_url = expires_at, "https://gateway.example/pay"
        aggregate.payment.mode = Mode.HOSTED
        aggregate.create.updated_at = OVERDUE - timedelta(days=1)
        look_up(aggregate, aggregate.create, REFUSED)
        told = is_told or state is State.PENDING
        assert issues(aggregate) == [IssueCode.KEYS_REFUSED, *[IssueCode.OUTCOME_UNKNOWN] * told]

    @pytest.mark.parametrize(("created_at", "is_told"), [(ENDED, True), (ENDED + SECOND, False)])
    def test_page_that_must_not_be_paid_is_when_it_is_not_closed(self, created_at: datetime, *, is_told: bool) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.INIT)
        closing = close_lost_page(aggregate, created_at)
        assert look_up(aggregate, closing, shown(observation(Kind.CREATE, State.INIT))) is closing
        assert closing.state is State.INTENT
        assert closing.next_poll_at == SCHEDULE.intent_deadline(NOON)
        assert issues(aggregate) == [IssueCode.PAGE_NOT_CLOSED] * is_told
        assert look_up(aggregate, closing, shown(observation(Kind.CREATE, State.FAILURE))) is None
        assert issues(aggregate) == []

    def test_page_is_no_more_once_its_closing_has_ended(self) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
        aggregate.create.inferred = True  # only the gateway's word ends a closing with its payment
        closing = close_lost_page(aggregate, ENDED)
        look_up(aggregate, closing, REFUSED)
        assert issues(aggregate) == [IssueCode.KEYS_REFUSED, IssueCode.PAGE_NOT_CLOSED]
        look_up(aggregate, closing, now=NOON + SCHEDULE.settling_time)
        assert closing.state is State.SUCCESS
        assert IssueCode.PAGE_NOT_CLOSED not in issues(aggregate)


@pytest.mark.law(2)
def test_operation_has_not_happened_although_others_are_shown() -> None:
    refund = an_operation(Kind.REFUND, State.UNKNOWN, Decimal("40.00"), updated_at=ENDED, polls=20)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    theirs = observation(Kind.REFUND, State.SUCCESS, Decimal("1.00"), "theirs")
    look_up(aggregate, refund, shown(observation(Kind.CREATE, State.SUCCESS), theirs))
    assert refund.state is State.FAILURE


@pytest.mark.law(10, 13)
@pytest.mark.parametrize(
    ("name", "unreadable", "unexplained", "is_behind"),
    [
        ("refund-1", (), (), True),
        ("refund-1", ("no amount",), (), False),
        ("refund-1", (), (UnexplainedMoney("gift", HUNDRED, "UAH", GatewayOperationId("one")),), False),
        (None, (), (), False),
    ],
)
def test_gateway_is_behind_if_it_shows_nothing_of_an_order_that_it_has_reported(
    name: str | None, unreadable: tuple[str, ...], unexplained: tuple[UnexplainedMoney, ...], *, is_behind: bool
) -> None:
    refund = an_operation(Kind.REFUND, State.FAILURE, operation_id=name, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING, refund)
    records = shown()
    records.unreadable, records.unexplained = unreadable, unexplained
    fact = OrderLookedUp(row_id_of(aggregate.create), frozenset({refund.id}), records, decision_context())
    fact.decide(aggregate)
    assert (refund.next_poll_at is not None) is is_behind


@pytest.mark.parametrize(
    ("state", "late", "closing", "is_closed"),
    [
        (State.INIT, timedelta(0), None, True),
        (State.INIT, -SECOND, None, False),
        (State.PENDING, timedelta(0), None, False),
        (State.INIT, timedelta(0), State.UNKNOWN, False),
        (State.INIT, timedelta(0), State.FAILURE, True),
    ],
)
def test_page_is_closed_once_when_its_time_to_pay_is_over(
    state: State, late: timedelta, closing: State | None, *, is_closed: bool
) -> None:
    others = [] if closing is None else [an_operation(Kind.CANCEL, closing, Decimal(0))]
    aggregate = an_aggregate(Flow.CHARGE, state, *others)
    aggregate.payment.expires_at, aggregate.payment.checkout_url = NOON, "https://gateway.example/pay"
    page = shown(observation(Kind.CREATE, state))
    found = look_up(aggregate, aggregate.create, page, now=NOON + SCHEDULE.expiry_grace + late)
    assert (found is not None) is is_closed
    aggregate.payment.expires_at = None
    assert look_up(aggregate, aggregate.create, page, now=NOON + timedelta(days=400)) is None


def test_page_is_closed_by_the_look_up_for_the_payment_alone() -> None:
    refund = an_operation(Kind.REFUND, State.INIT, operation_id="refund-1")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    aggregate.payment.expires_at = NOON
    seen = observation(Kind.REFUND, State.INIT, gateway_id="refund-1")
    assert look_up(aggregate, refund, shown(seen), now=NOON + timedelta(days=1)) is None


def test_payout_has_no_shopper_who_returns() -> None:
    for flow, looks in ((Flow.CHARGE, True), (Flow.PAYOUT, False)):
        aggregate = an_aggregate(flow, State.PENDING)
        assert (ShopperReturned(NOON, SECOND).decide(aggregate) is not None) is looks
