"""What a look-up shows, and what is sent when its turn comes: on paper."""

from datetime import timedelta

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.rules.decisions.look_up import OrderLookedUp, TurnCame
from app.rules.observation import Observations
from gateway_client.models import Records
from tests.payments.aggregates import NOON, an_aggregate, an_operation, decision_context


@pytest.mark.law(3)
def test_waiting_operation_whose_turn_has_come_becomes_an_intent() -> None:
    waiting = an_operation(Kind.REFUND, State.WAITING, next_poll_at=NOON)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, waiting)
    assert TurnCame(waiting.id or 0, decision_context(), can_be_sent=True).decide(aggregate) is aggregate
    assert waiting.state is State.INTENT
    assert waiting.next_poll_at == decision_context().schedule.intent_deadline(NOON)  # not looked up while it is sent


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
