"""When the worker next attends to an operation: nothing else changes ``Operation.next_poll_at``. Pure.

A new operation brings its first moment along. What is due is looked up at the gateway, if no notification of it arrives
before; one that waits is sent. Why the moment is stored: docs/decisions/0042.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.payment import Operation, Payment
from app.core.vocabulary import Kind, State


@dataclass(frozen=True, slots=True)
class Schedule:
    """The timeouts and intervals of the worker.

    ``settling_time``: an unknown outcome of which the gateway still shows nothing after this time has failed.
    ``first_settle`` and ``first_poll``: the delay of the first look-up of an unknown outcome, and of one that waits for
    the shopper or the bank; each further look-up waits twice as long, up to ``longest_pause``.
    ``budget``: the time that one webhook may spend on gateway calls (laws of money, 11).
    ``answer_window``: how long Saleor may take to read our answer; an event that the answer already carried, or a note
    of the page that it led to, is reported only after it.
    ``first_reading_check``: how long after the answer to a charge, refund or cancelation Saleor is first queried
    whether it has read the answer; the intervals then grow. ``unread_timeout``: how long Saleor may repeat a webhook
    whose answer it has not read (Saleor contract, A.5: 310 seconds, and six times as long as a webhook takes); after
    it, Saleor has given up.
    ``expiry_grace``: how long after its expiry an unpaid payment is cancelled at the gateway.
    ``lease``: how long a worker's claim on a job lasts, and so how late the jobs of a worker that died are taken over;
    longer than any job takes, otherwise the job is done twice (which is harmless, but wasteful).
    ``overdue``: an outcome that is open for so long is a problem for staff; it is still looked up.
    ``pauses_before_resending``: between attempts of a call that provably was not sent.
    ``dispute_interval``: between two look-ups of a dispute, which takes weeks.
    ``between_look_ups``: before each look-up of a reconciliation with the gateway, to leave it time for other requests.
    ``between_shopper_look_ups``: of one payment, however often its storefront asks.
    ``jitter``: returns a random number from 0 up to 1, by which pauses are spread: otherwise everything that failed
    when a Saleor or the gateway was down would retry at the same moment.
    """

    settling_time: timedelta = timedelta(minutes=15)
    first_settle: timedelta = timedelta(seconds=3)
    first_poll: timedelta = timedelta(minutes=1)
    longest_pause: timedelta = timedelta(hours=1)
    budget: timedelta = timedelta(seconds=12)
    answer_window: timedelta = timedelta(seconds=25)
    first_reading_check: timedelta = timedelta(seconds=1)
    unread_timeout: timedelta = timedelta(minutes=10)
    expiry_grace: timedelta = timedelta(minutes=2)
    lease: timedelta = timedelta(seconds=60)
    overdue: timedelta = timedelta(hours=24)
    dispute_interval: timedelta = timedelta(days=1)
    between_look_ups: timedelta = timedelta(milliseconds=200)
    between_shopper_look_ups: timedelta = timedelta(seconds=1)
    pauses_before_resending: tuple[timedelta, ...] = (timedelta(milliseconds=200), timedelta(milliseconds=800))
    jitter: Callable[[], float] = lambda: 0.0

    def pause(self, first: timedelta, tries: int, longest: timedelta) -> timedelta:
        """Return how long to wait after ``tries`` without success: twice as long each time, up to ``longest``.

        ``jitter`` shortens it by up to a fifth.
        """
        return min(first * (1 << min(max(tries, 1) - 1, 30)), longest) * (1 - self.jitter() / 5)

    def intent_deadline(self, now: datetime) -> datetime:
        """Return when an intent without an outcome is treated as a crash: once its own call must be over."""
        return now + self.budget + self.first_settle

    def next_order_look_up(self, now: datetime) -> datetime:
        """Return when the whole order is looked up after an operation: its notifications must have arrived by then."""
        return now + self.budget + self.first_settle

    def next_poll(
        self, state: State, polls: int, now: datetime, *, since: datetime, expires_at: datetime | None
    ) -> datetime | None:
        """Return when to look up an operation in ``state`` next; None: never.

        It has been in that state since ``since``, and was looked up ``polls`` times. A look-up is never later than the
        moment at which something can be concluded: the end of the settling time, or of the time to pay.
        """
        if state.final or state is State.WAITING:
            return None
        first = self.first_settle if state in {State.INTENT, State.UNKNOWN} else self.first_poll
        look = now + self.pause(first, polls + 1, self.longest_pause)
        if state in {State.INTENT, State.UNKNOWN} and now < since + self.settling_time:
            return min(look, since + self.settling_time)
        if state is State.INIT and expires_at is not None and now < expires_at:
            return min(look, expires_at + self.expiry_grace)
        return look

    def next_dispute_poll(self, now: datetime) -> datetime:
        """Return when a dispute that the bank has not decided is looked up again."""
        return now + self.dispute_interval

    def is_settled_by_silence(self, asked_at: datetime, now: datetime) -> bool:
        """Return True when the gateway has shown nothing for so long that nothing happened (laws of money, 2)."""
        return now >= asked_at + self.settling_time

    def has_enough_look_ups(self, looks: int) -> bool:
        """Return True after more look-ups of an unknown outcome than fit into half of the settling time.

        A clock that was put ahead shortens one of the pauses between them, but not the others: judged by the clock
        alone, a silence of seconds would pass for a long one.
        """
        most, waited = 0, self.first_settle
        while waited <= self.settling_time / 2:
            most += 1
            waited += min(self.first_settle * (1 << min(most, 30)), self.longest_pause)
        return looks > most

    def is_overdue(self, since: datetime, now: datetime) -> bool:
        """Return True when an outcome has been open since ``since`` for so long that staff must know."""
        return now >= since + self.overdue


def start_call(operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Turn an operation into an intent, to be sent now; without an outcome it is due once its call must be over."""
    operation.state, operation.updated_at = State.INTENT, now
    operation.next_poll_at = schedule.intent_deadline(now)


def postpone_call(
    operation: Operation, pause: timedelta | None, schedule: Schedule, now: datetime, *, since: datetime
) -> None:
    """Have an operation wait for another turn that the gateway has not taken, for ``pause``, if the gateway states it.

    If None, as long again as it has waited so far, ``since`` its first turn.
    """
    waited = min(now - since, schedule.longest_pause)
    operation.state, operation.updated_at = State.WAITING, now
    operation.next_poll_at = now + max(waited if pause is None else pause, schedule.first_poll)


def make_due(operation: Operation, moment: datetime) -> None:
    """Have an operation attended to at this moment, however it stands."""
    operation.next_poll_at = moment


def look_up_order_after(operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Have the whole order looked up once the notifications of what has just happened must have arrived."""
    operation.next_poll_at = schedule.next_order_look_up(now)


def end_look_ups(operation: Operation) -> None:
    """Look an operation up no more: it has ended and is confirmed, or only a person can say what it is."""
    operation.next_poll_at = None


def plan_look_up(payment: Payment, operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Plan the look-up that the state of an operation calls for; none when it has ended, or waits for its turn."""
    operation.next_poll_at = _next_look_up(payment, operation, operation.state, schedule, now)


def plan_another_look_up(payment: Payment, operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Plan the look-up after one that has settled nothing.

    One that has ended is looked up once more (see ``apply``): until that works, as often as one that is at the bank.
    """
    state = State.PENDING if operation.state.final else operation.state
    # The answer with the link may still arrive: the gateway's notification can overtake it.
    link_due = schedule.intent_deadline(payment.created_at)
    if state is State.INIT and payment.is_link_missing and now < link_due:
        operation.next_poll_at = link_due
    else:
        operation.next_poll_at = _next_look_up(payment, operation, state, schedule, now)


def postpone_look_up(operation: Operation, until: datetime) -> None:
    """Have an operation looked up no sooner than that, if at all: the gateway wants no requests before."""
    if operation.next_poll_at is not None:
        operation.next_poll_at = max(operation.next_poll_at, until)


def _next_look_up(
    payment: Payment, operation: Operation, state: State, schedule: Schedule, now: datetime
) -> datetime | None:
    if operation.kind is Kind.DISPUTE and not operation.state.final:
        return schedule.next_dispute_poll(now)
    return schedule.next_poll(state, operation.polls, now, since=operation.updated_at, expires_at=payment.expires_at)
