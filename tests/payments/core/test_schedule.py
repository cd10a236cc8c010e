"""When the worker looks again, and how much time a webhook has (laws of money, 2 and 11). Pure."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import State
from app.rules.schedule import Schedule
from integration_base.outbound import Deadline
from tests.payments.aggregates import NOON

SCHEDULE = Schedule()
open_states = st.sampled_from([State.INTENT, State.UNKNOWN, State.INIT, State.PENDING])
spans = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=2))


@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILURE, State.WAITING])
def test_what_has_ended_or_waits_its_turn_is_not_looked_at(state: State) -> None:
    assert SCHEDULE.next_poll(state, 3, NOON, since=NOON, expires_at=NOON) is None


@pytest.mark.parametrize(
    ("state", "polls", "seconds"),
    [
        (State.UNKNOWN, 0, 3),
        (State.UNKNOWN, 1, 6),
        (State.UNKNOWN, 4, 48),
        (State.PENDING, 0, 60),
        (State.PENDING, 2, 240),
        (State.PENDING, 50, 3600),
    ],
)
def test_each_look_waits_twice_as_long_as_the_one_before(state: State, polls: int, seconds: int) -> None:
    look = SCHEDULE.next_poll(state, polls, NOON, since=NOON, expires_at=None)
    assert look == NOON + timedelta(seconds=seconds)


@given(state=open_states, polls=st.integers(0, 10**6), gone=spans, expiry=st.none() | spans)
def test_there_is_always_a_next_look_and_it_is_never_far(
    state: State, polls: int, gone: timedelta, expiry: timedelta | None
) -> None:
    now, expires_at = NOON + gone, None if expiry is None else NOON + expiry
    look = SCHEDULE.next_poll(state, polls, now, since=NOON, expires_at=expires_at)
    assert look is not None
    assert now < look <= now + SCHEDULE.longest_pause
    settled = NOON + SCHEDULE.settling_time
    if state in {State.INTENT, State.UNKNOWN} and now < settled:
        assert look <= settled  # the settling time is not slept through
    if state is State.INIT and expires_at is not None and now < expires_at:
        assert look <= expires_at + SCHEDULE.expiry_grace


@given(tries=st.integers(0, 10**6), drawn=st.floats(0, 1, exclude_max=True))
def test_pauses_are_spread_and_never_longer_than_without(tries: int, drawn: float) -> None:
    first, longest = timedelta(seconds=1), timedelta(minutes=5)
    plain = SCHEDULE.pause(first, tries, longest)
    spread = replace(SCHEDULE, jitter=lambda: drawn).pause(first, tries, longest)
    assert first <= plain <= longest
    assert plain * 0.8 <= spread <= plain


@given(gone=spans)
def test_silence_settles_only_after_the_settling_time(gone: timedelta) -> None:
    assert SCHEDULE.is_settled_by_silence(NOON, NOON + gone) is (gone >= timedelta(minutes=15))


@pytest.mark.fault("clock-ahead")
@given(first=st.integers(1, 60), settling=st.integers(1, 3 * 3600))
def test_within_the_settling_time_there_are_enough_looks_to_settle_and_after_a_jump_of_the_clock_there_are_not(
    first: int, settling: int
) -> None:
    schedule = replace(SCHEDULE, first_settle=timedelta(seconds=first), settling_time=timedelta(seconds=settling))
    now, looks = NOON, 0
    while not schedule.is_settled_by_silence(NOON, now):
        due = schedule.next_poll(State.UNKNOWN, looks, now, since=NOON, expires_at=None)
        assert due is not None
        now, looks = due, looks + 1
        # Were the clock put ahead to the end of the settling time now, so many looks would not settle it.
        if now <= NOON + schedule.settling_time / 2 - timedelta(seconds=first):
            assert not schedule.has_enough_look_ups(looks)
    assert schedule.has_enough_look_ups(looks)


def test_an_intent_is_taken_for_a_crash_only_when_its_call_must_be_over() -> None:
    assert SCHEDULE.intent_deadline(NOON) > NOON + SCHEDULE.budget


@pytest.mark.law(11)
def test_the_budget_of_a_webhook_is_well_below_saleors_patience() -> None:
    """Saleor reads for 18 seconds; what an answer carried is reported after that."""
    assert SCHEDULE.budget == timedelta(seconds=12)
    assert SCHEDULE.answer_window > timedelta(seconds=18)


def test_a_deadline_counts_down_to_zero_and_no_further() -> None:
    moment = 100.0
    deadline = Deadline(12, lambda: moment)
    assert deadline.left == 12
    moment = 105.5
    assert deadline.left == 6.5
    moment = 1000.0
    assert deadline.left == 0
