"""What a look-up shows, and what is sent when its turn comes: on paper."""

from datetime import timedelta
from decimal import Decimal

import pytest

from app.core.request import RequestDetails
from app.core.vocabulary import CloseReason, Flow, Kind, State
from app.rules.decisions.look_up import OrderLookedUp, TurnCame
from app.rules.issues import Issue, IssueCode
from app.rules.observation import Observations
from app.rules.problems import add_problem, cause_of_mismatch
from app.rules.split.planning import requested_shares
from gateway_client.models import Records
from tests.payments.aggregates import NOON, ORDER, an_aggregate, an_operation, decision_context
from tests.payments.split.people import POTTER, SMITH


@pytest.mark.law(3)
def test_waiting_operation_whose_turn_has_come_becomes_an_intent() -> None:
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, waiting)
    assert TurnCame(waiting.id or 0, decision_context(), can_be_sent=True).decide(aggregate) is aggregate
    assert waiting.state is State.INTENT
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
    assert TurnCame(waiting.id or 0, decision_context(), can_be_sent=True).decide(aggregate) is aggregate
    assert waiting.shares == requested_shares(waiting) == {POTTER: half, SMITH: half}


@pytest.mark.law(3)
def test_waiting_operation_waits_on_while_another_is_in_flight() -> None:
    """Whoever says that its turn has come may have read the payment before the other began."""
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, an_operation(Kind.REFUND, State.INTENT), waiting)
    assert TurnCame(waiting.id or 0, decision_context(), can_be_sent=True).decide(aggregate) is None
    assert waiting.state is State.WAITING


@pytest.mark.law(1, 13)
def test_waiting_operation_of_an_account_whose_keys_do_not_open_waits_on() -> None:
    """It is no intent, which would end as unknown: nothing can be sent until staff have mended the keys."""
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, waiting)
    assert TurnCame(waiting.id or 0, decision_context(), can_be_sent=False).decide(aggregate) is None
    assert waiting.state is State.WAITING
    assert waiting.next_poll_at == NOON + timedelta(hours=1)


@pytest.mark.law(10, 13)
def test_look_up_ends_only_the_polls_of_what_had_ended_when_it_began() -> None:
    """What ended while the gateway was being asked is not in what it has shown."""
    before, meanwhile = (
        an_operation(Kind.REFUND, State.SUCCESS, next_poll_at=NOON, operation_id=name) for name in ("before", "since")
    )
    pending = an_operation(Kind.REFUND, State.PENDING, operation_id="pending", next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, before, meanwhile, pending)
    shown = Observations.from_records(Records(()), "en")
    OrderLookedUp(pending.id or 0, frozenset({before.id}), shown, decision_context()).decide(aggregate)
    assert (before.next_poll_at, meanwhile.next_poll_at) == (None, NOON)


@pytest.mark.law(8)
@pytest.mark.parametrize("matches", [True, False])
def test_page_that_nobody_paid_in_time_is_closed_unless_a_record_of_it_does_not_match(*, matches: bool) -> None:
    """What does not match may be its payment: that is for a person to find out."""
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    payment, create = aggregate.payment, aggregate.create
    payment.checkout_url, payment.expires_at = "https://gateway.example/pay", NOON
    if not matches:
        issue = Issue(IssueCode.OTHER_ORDER, order="another")
        add_problem(payment, cause_of_mismatch(issue, create.id, ""), issue, NOON)
    context = decision_context(now=NOON + decision_context().schedule.expiry_grace)
    shown = Observations.from_records(Records(()), "en")
    found = OrderLookedUp(create.id or 0, frozenset(), shown, context).decide(aggregate)
    closings = [operation for operation in aggregate.operations if operation.kind is Kind.CANCEL]
    assert ([] if found is None else [found[1]]) == closings
    assert [closing.close_reason for closing in closings] == ([CloseReason.NOT_PAID_IN_TIME] if matches else [])
