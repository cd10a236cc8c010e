"""What a look-up shows, and what is sent when its turn comes: on paper."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.request import RequestDetails
from app.core.vocabulary import CloseReason, Flow, Kind, Mode, State
from app.rules.decisions.look_up import ExpectationChanged, OrderLookedUp, ShopperReturned, TurnCame
from app.rules.issues import Issue, IssueCode
from app.rules.observation import Observations
from app.rules.problems import ADDRESS, add_problem, cause_of_mismatch
from app.rules.split.planning import requested_shares
from gateway_client.errors import NotTheGatewayError, RateLimitedError
from gateway_client.models import Records, read_record
from tests.payments.aggregates import NOON, ORDER, POS, an_aggregate, an_operation, decision_context
from tests.payments.fake_gateway import payment
from tests.payments.split.people import POTTER, SMITH

SCHEDULE = decision_context().schedule
SECOND = timedelta(seconds=1)
ENDED = NOON - SCHEDULE.settling_time
SILENCE, UNREADABLE = Records(()), Records((), ["no amount"])
PAID = payment(ORDER, "success", "100.00", pos_id=POS)
OPEN_PAGE = Records([read_record(payment(ORDER, "init", "100.00", pos_id=POS))])


def look_up(aggregate: PaymentAggregate, shown: Records, now: datetime) -> tuple[PaymentAggregate, Operation] | None:
    """Return what a look-up of the payment, which has shown that, has led to."""
    observations = Observations.from_records(shown, "en")
    return OrderLookedUp(row_id_of(aggregate.create), frozenset(), observations, decision_context(now=now)).decide(
        aggregate
    )


@pytest.mark.law(3)
def test_waiting_operation_whose_turn_has_come_becomes_an_intent() -> None:
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON, updated_at=NOON - timedelta(days=1))
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, waiting)
    assert TurnCame(row_id_of(waiting), decision_context(), can_be_sent=True).decide(aggregate) is aggregate
    assert waiting.state is State.INTENT
    assert waiting.updated_at == NOON  # the gateway cannot have been silent about it before
    assert waiting.next_poll_at == decision_context().schedule.intent_deadline(NOON)  # not looked up while it is sent


@pytest.mark.law(3)
@pytest.mark.parametrize(
    ("flow", "kind"), [(Flow.CHARGE, Kind.REFUND), (Flow.AUTHORIZATION, Kind.CAPTURE)], ids=["refund", "capture"]
)
def test_shares_of_what_has_waited_are_those_that_the_operation_before_it_left(flow: Flow, kind: Kind) -> None:
    """Of 60.00 and 40.00 the one before took 20.00 from the first alone, unknown when this was requested."""
    taken, half = {POTTER: Decimal("20.00")}, Decimal("20.00")
    before = an_operation(kind, State.SUCCESS, Decimal("20.00"), shares=taken, keeps_rest=True)
    waiting = an_operation(kind, State.WAITING, Decimal("40.00"), next_poll_at=NOON)
    waiting.request = RequestDetails(split=({"sub_merchant_id": POTTER, "amount": "40.00"},)).write(ORDER, "UAH")
    aggregate = an_aggregate(flow, State.SUCCESS, before, waiting)
    aggregate.create.shares = {POTTER: Decimal("60.00"), SMITH: Decimal("40.00")}
    assert TurnCame(row_id_of(waiting), decision_context(), can_be_sent=True).decide(aggregate) is aggregate
    assert waiting.shares == requested_shares(waiting) == {POTTER: half, SMITH: half}


@pytest.mark.law(3)
def test_waiting_operation_waits_on_while_another_is_in_flight() -> None:
    """Whoever says that its turn has come may have read the payment before the other began."""
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, an_operation(Kind.REFUND, State.INTENT), waiting)
    assert TurnCame(row_id_of(waiting), decision_context(), can_be_sent=True).decide(aggregate) is None
    assert waiting.state is State.WAITING


@pytest.mark.law(7)
def test_waiting_operation_of_a_payment_in_doubt_is_sent() -> None:
    """The gateway first reported success and then failure. It knows what is left; here nothing is offered any more."""
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, waiting)
    aggregate.create.contradicted = True
    assert TurnCame(row_id_of(waiting), decision_context(), can_be_sent=True).decide(aggregate) is aggregate
    assert waiting.state is State.INTENT


@pytest.mark.law(1, 13)
def test_waiting_operation_of_an_account_whose_keys_do_not_open_waits_on() -> None:
    """It is no intent, which would end as unknown: nothing can be sent until staff have mended the keys."""
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, waiting)
    assert TurnCame(row_id_of(waiting), decision_context(), can_be_sent=False).decide(aggregate) is None
    assert waiting.state is State.WAITING
    assert waiting.next_poll_at == NOON + timedelta(hours=1)


@pytest.mark.law(10, 13)
@pytest.mark.parametrize(("records", "due"), [([PAID], None), ([], NOON)], ids=["shown", "nothing"])
def test_look_up_ends_only_the_polls_of_what_had_ended_when_it_began(
    records: list[dict[str, Any]], due: datetime | None
) -> None:
    """What ended while the gateway was being asked is not in what it has shown. Nor is all, where it shows nothing."""
    before, meanwhile = (
        an_operation(Kind.REFUND, State.SUCCESS, next_poll_at=NOON, operation_id=name) for name in ("before", "since")
    )
    pending = an_operation(Kind.REFUND, State.PENDING, operation_id="pending", next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, before, meanwhile, pending)
    shown = Observations.from_records(Records([read_record(record) for record in records]), "en")
    OrderLookedUp(row_id_of(pending), frozenset({before.id}), shown, decision_context()).decide(aggregate)
    assert (before.next_poll_at, meanwhile.next_poll_at) == (due, NOON)


@pytest.mark.law(10, 13)
@pytest.mark.parametrize(("records", "is_repeated"), [([PAID], False), ([], True)], ids=["shown", "nothing"])
def test_look_up_after_an_operation_has_ended_is_repeated_where_it_shows_nothing(
    records: list[dict[str, Any]], is_repeated: bool
) -> None:
    refund = an_operation(Kind.REFUND, State.SUCCESS, next_poll_at=NOON, operation_id="refund-1")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    shown = Observations.from_records(Records([read_record(record) for record in records]), "en")
    OrderLookedUp(row_id_of(refund), frozenset(), shown, decision_context(), scheduled=True).decide(aggregate)
    assert (refund.next_poll_at is not None and refund.next_poll_at > NOON) is is_repeated


@pytest.mark.law(8)
@pytest.mark.parametrize("matches", [True, False])
def test_page_that_nobody_paid_in_time_is_closed_unless_a_record_of_it_does_not_match(*, matches: bool) -> None:
    """What does not match may be its payment: that is for a person to find out."""
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    held, create = aggregate.payment, aggregate.create
    held.checkout_url, held.expires_at = "https://gateway.example/pay", NOON
    if not matches:
        issue = Issue(IssueCode.OTHER_ORDER, order="another")
        add_problem(held, cause_of_mismatch(issue, create.id, ""), issue, NOON)
    found = look_up(aggregate, SILENCE, NOON + SCHEDULE.expiry_grace)
    closings = [operation for operation in aggregate.operations if operation.kind is Kind.CANCEL]
    assert ([] if found is None else [found[1]]) == closings
    assert [closing.close_reason for closing in closings] == ([CloseReason.NOT_PAID_IN_TIME] if matches else [])


@pytest.mark.law(2)
@pytest.mark.parametrize(
    ("state", "shown", "closing", "becomes"),
    [
        (State.INIT, SILENCE, None, State.FAILURE),
        (State.PENDING, SILENCE, None, State.PENDING),
        (State.INIT, UNREADABLE, None, State.INIT),
        (State.INIT, OPEN_PAGE, None, State.INIT),
        (State.INIT, OPEN_PAGE, (Kind.CANCEL, State.FAILURE, ENDED), State.FAILURE),
        (State.INIT, UNREADABLE, (Kind.CANCEL, State.FAILURE, ENDED), State.INIT),  # perhaps as it is paid
        (State.INIT, OPEN_PAGE, (Kind.CANCEL, State.FAILURE, ENDED - SECOND), State.INIT),
        (State.INIT, OPEN_PAGE, (Kind.CANCEL, State.UNKNOWN, ENDED), State.INIT),
        (State.INIT, OPEN_PAGE, (Kind.VOID, State.FAILURE, ENDED), State.INIT),
    ],
)
def test_page_whose_time_to_pay_is_long_over_has_failed_if_the_gateway_is_silent_or_would_not_close_it(
    state: State, shown: Records, closing: tuple[Kind, State, datetime] | None, becomes: State
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, state)
    aggregate.payment.expires_at = ENDED
    aggregate.payment.checkout_url = "https://gateway.example/pay"
    if closing is not None:
        kind, outcome, at = closing
        aggregate.operations.append(an_operation(kind, outcome, updated_at=at))
    look_up(aggregate, shown, NOON)
    assert (aggregate.create.state, aggregate.create.inferred) == (becomes, becomes is State.FAILURE)


@pytest.mark.law(2)
def test_page_without_a_time_to_pay_is_never_over() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT, an_operation(Kind.CANCEL, State.FAILURE))
    aggregate.payment.checkout_url = "https://gateway.example/pay"
    look_up(aggregate, SILENCE, NOON + timedelta(days=400))
    assert aggregate.create.state is State.INIT


@pytest.mark.law(2)
@pytest.mark.parametrize(
    ("changed", "becomes"),
    [
        ({}, State.FAILURE),
        ({"state": State.INTENT}, State.FAILURE),
        ({"updated_at": ENDED + SECOND}, State.UNKNOWN),
        ({"updated_at": ENDED + SECOND, "state": State.INTENT}, State.UNKNOWN),
        ({"polls": 1}, State.UNKNOWN),  # the clock was put ahead: the silence has been short
        ({"operation_id": "the-payment"}, State.UNKNOWN),  # the gateway has named it
    ],
)
def test_unknown_payment_has_failed_after_a_long_silence_about_it(changed: dict[str, Any], becomes: State) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.UNKNOWN)
    aggregate.payment.mode = Mode.DIRECT  # a page without a link would be abandoned at once
    for name, value in {"updated_at": ENDED, "polls": 20, **changed}.items():
        setattr(aggregate.create, name, value)
    look_up(aggregate, SILENCE, NOON)
    assert (aggregate.create.state, aggregate.create.inferred) == (becomes, becomes is State.FAILURE)


@pytest.mark.law(2)
def test_unknown_payment_has_not_failed_if_a_record_that_cannot_be_read_may_be_it() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.UNKNOWN)
    aggregate.payment.mode = Mode.DIRECT
    aggregate.create.updated_at, aggregate.create.polls = ENDED, 20
    look_up(aggregate, UNREADABLE, NOON)
    assert aggregate.create.state is State.UNKNOWN


@pytest.mark.law(2, 8)
@pytest.mark.parametrize("state", [State.INIT, State.UNKNOWN])
def test_payment_whose_record_did_not_match_has_not_failed_when_the_gateway_shows_nothing_any_more(
    state: State,
) -> None:
    """What did not match may have been its payment: a person decides."""
    aggregate = an_aggregate(Flow.CHARGE, state)
    aggregate.payment.mode, aggregate.payment.expires_at = Mode.DIRECT, ENDED
    aggregate.create.updated_at, aggregate.create.polls = ENDED, 20
    issue = Issue(IssueCode.OTHER_ORDER, order="another")
    add_problem(aggregate.payment, cause_of_mismatch(issue, aggregate.create.id, ""), issue, NOON)
    look_up(aggregate, SILENCE, NOON)
    assert aggregate.create.state is state


@pytest.mark.law(2, 8)
def test_refund_that_the_gateway_never_shows_has_failed_although_another_record_did_not_match() -> None:
    """The mismatch is not about the refund, and must not hold up the next one."""
    refund = an_operation(Kind.REFUND, State.UNKNOWN, updated_at=ENDED, polls=20)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    aggregate.create.operation_id = PAID["payment_id"]
    issue = Issue(IssueCode.OTHER_ORDER, order="another")
    add_problem(aggregate.payment, cause_of_mismatch(issue, None, "of-another"), issue, NOON)
    shown = Observations.from_records(Records([read_record(PAID)]), "en")
    OrderLookedUp(row_id_of(refund), frozenset(), shown, decision_context()).decide(aggregate)
    assert (refund.state, refund.inferred) == (State.FAILURE, True)


@pytest.mark.parametrize("state", [state for state in State if state not in {State.INIT, State.PENDING}])
def test_shopper_who_returns_has_nothing_looked_up_that_has_ended_or_is_being_sent(state: State) -> None:
    aggregate = an_aggregate(Flow.CHARGE, state)
    assert ShopperReturned(NOON, 3 * SECOND).decide(aggregate) is None
    assert aggregate.create.polled_at is None


@pytest.mark.parametrize(
    ("polled_at", "looks"),
    [
        (None, True),
        (NOON - 3 * SECOND, True),
        (NOON - 2 * SECOND, False),
        (NOON + 2 * SECOND, False),
        (NOON + 3 * SECOND, True),  # of before the clock was put back
    ],
)
def test_shopper_who_returns_has_the_payment_looked_up_once_in_each_interval(
    polled_at: datetime | None, looks: bool
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
    aggregate.create.polled_at = polled_at
    found = ShopperReturned(NOON, 3 * SECOND).decide(aggregate)
    assert (found, aggregate.create.polled_at) == ((aggregate.create.id, NOON) if looks else (None, polled_at))


@pytest.mark.law(13)
@pytest.mark.parametrize("answers", [False, True])
def test_look_up_that_was_to_show_whether_the_gateway_answers_again_is_not_followed_by_another(
    *, answers: bool
) -> None:
    """After a day the failed ones end too: staff, who know of the address, would otherwise have it asked for ever."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    add_problem(aggregate.payment, ADDRESS, Issue(IssueCode.NOT_THE_GATEWAY), NOON)
    aggregate.create.next_poll_at = now = NOON + timedelta(days=1)
    shown = Observations.from_records(Records((read_record(PAID),)), "en") if answers else NotTheGatewayError("blocked")
    create_id = row_id_of(aggregate.create)
    OrderLookedUp(create_id, frozenset({create_id}), shown, decision_context(now=now), scheduled=True).decide(aggregate)
    assert aggregate.create.next_poll_at is None


@pytest.mark.law(13)
@pytest.mark.parametrize(
    ("state", "planned", "mismatches", "due"),
    [
        (State.INIT, None, True, NOON),
        (State.INIT, None, False, None),
        (State.SUCCESS, None, True, None),
        (State.INIT, NOON + SECOND, True, NOON + SECOND),
    ],
)
def test_open_payment_that_did_not_match_is_looked_up_when_its_account_expects_something_else(
    state: State, planned: datetime | None, due: datetime | None, *, mismatches: bool
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, state)
    aggregate.create.next_poll_at = planned
    if mismatches:
        issue = Issue(IssueCode.OTHER_ORDER, order="another")
        add_problem(aggregate.payment, cause_of_mismatch(issue, aggregate.create.id, ""), issue, NOON)
    ExpectationChanged(NOON).decide(aggregate)
    assert aggregate.create.next_poll_at == due


@pytest.mark.parametrize("scheduled", [True, False], ids=["worker", "shopper"])
@pytest.mark.parametrize(("pause", "due"), [(600.0, 600), (0.5, 6), (None, 6)], ids=["long", "short", "not stated"])
def test_look_up_is_not_repeated_while_the_gateway_wants_no_requests(
    *, scheduled: bool, pause: float | None, due: int
) -> None:
    refund = an_operation(Kind.REFUND, State.UNKNOWN, next_poll_at=NOON + 6 * SECOND, updated_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    busy = RateLimitedError("Too many requests", pause=pause, http_status=429)
    OrderLookedUp(row_id_of(refund), frozenset(), busy, decision_context(), scheduled).decide(aggregate)
    assert refund.next_poll_at == NOON + due * SECOND


def test_look_up_after_an_operation_that_is_turned_away_waits_as_well() -> None:
    refund = an_operation(Kind.REFUND, State.SUCCESS, next_poll_at=NOON, updated_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    busy = RateLimitedError("Too many requests", pause=600.0, http_status=429)
    OrderLookedUp(row_id_of(refund), frozenset(), busy, decision_context(), scheduled=True).decide(aggregate)
    assert refund.next_poll_at == NOON + 600 * SECOND


def test_an_operation_that_waits_for_nothing_waits_for_no_pause() -> None:
    refund = an_operation(Kind.REFUND, State.SUCCESS, next_poll_at=None, updated_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    busy = RateLimitedError("Too many requests", pause=600.0, http_status=429)
    OrderLookedUp(row_id_of(refund), frozenset(), busy, decision_context()).decide(aggregate)
    assert refund.next_poll_at is None


@pytest.mark.law(12)
def test_a_page_that_must_not_be_paid_is_closed_in_its_own_pauses() -> None:
    closing = an_operation(
        Kind.CANCEL, State.WAITING, next_poll_at=NOON, close_reason=CloseReason.COVERED, asked_by_saleor=False
    )
    aggregate = an_aggregate(Flow.CHARGE, State.INIT, closing)
    busy = RateLimitedError("Too many requests", pause=3600.0, http_status=429)
    OrderLookedUp(row_id_of(closing), frozenset(), busy, decision_context(), scheduled=True).decide(aggregate)
    assert closing.next_poll_at is not None
    assert closing.next_poll_at <= NOON + timedelta(minutes=5)
