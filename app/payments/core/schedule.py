"""When an operation is looked up next, if nobody tells us of it before. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.db.tables import State


@dataclass(frozen=True, slots=True)
class Schedule:
    """How patient the worker is.

    ``settling``: an unknown outcome of which the gateway still shows nothing after this time has failed.
    ``first_settle`` and ``first_poll``: the first look after an unknown outcome, and at one that waits for the
    shopper or the bank; each further look waits twice as long, up to ``longest``.
    ``budget``: what one webhook may spend on gateway calls (laws of money, 11).
    ``answer_window``: how long Saleor may take to read our answer; an event that the answer already carried, or a note
    of the page that it led to, is reported only after it.
    ``reading``: after the answer to a charge, refund or cancelation Saleor is asked whether it has read it; first so
    long after it, then ever more seldom. ``unread``: how long Saleor may go on repeating a webhook whose answer it has
    not read (Saleor contract, A.5: 310 seconds, and six times as long as a webhook takes); after it, it has given up.
    ``expiry_grace``: how long after its last minute an unpaid payment is cancelled at the gateway.
    ``lease``: how long a worker's claim on a job lasts, and so how late the jobs of a worker that died are taken over;
    longer than any job takes, or it is done twice (which is harmless, and a waste).
    ``overdue``: an outcome that is open for so long is a problem for staff; it is looked up all the same.
    ``pauses_before_resending``: between tries of a call that provably was not sent.
    ``disputes``: between two looks at a dispute, which takes weeks.
    ``between_look_ups``: before each look-up of a comparison with the gateway's books, which leaves it time for others.
    ``jitter``: gives a number from 0 up to 1, another one each time, by which pauses are spread: else all that failed
    when a Saleor or the gateway went down would come back to it in the same moments.
    """

    settling: timedelta = timedelta(minutes=15)
    first_settle: timedelta = timedelta(seconds=3)
    first_poll: timedelta = timedelta(minutes=1)
    longest: timedelta = timedelta(hours=1)
    budget: timedelta = timedelta(seconds=12)
    answer_window: timedelta = timedelta(seconds=25)
    reading: timedelta = timedelta(seconds=1)
    unread: timedelta = timedelta(minutes=10)
    expiry_grace: timedelta = timedelta(minutes=2)
    lease: timedelta = timedelta(seconds=60)
    overdue: timedelta = timedelta(hours=24)
    disputes: timedelta = timedelta(days=1)
    between_look_ups: timedelta = timedelta(milliseconds=200)
    pauses_before_resending: tuple[timedelta, ...] = (timedelta(milliseconds=200), timedelta(milliseconds=800))
    jitter: Callable[[], float] = lambda: 0.0

    def pause(self, first: timedelta, tries: int, longest: timedelta) -> timedelta:
        """Return how long to wait after so many ``tries`` without success: twice as long each time, up to ``longest``.

        Up to a fifth of it is left out, by ``jitter``.
        """
        return min(first * (1 << min(max(tries, 1) - 1, 30)), longest) * (1 - self.jitter() / 5)

    def after_intent(self, now: datetime) -> datetime:
        """Return when an intent that nobody has concluded is taken for a crash: once its own call must be over."""
        return now + self.budget + self.first_settle

    def after_end(self, now: datetime) -> datetime:
        """Return when the whole order is looked at after an operation of ours: notifications must be here by then."""
        return now + self.budget + self.first_settle

    def next_poll(
        self, state: State, polls: int, now: datetime, *, since: datetime, expires_at: datetime | None
    ) -> datetime | None:
        """Return when to look next at an operation in ``state``; None: never.

        It has been in that state ``since`` then, and the worker has looked at it ``polls`` times. No look is later than
        the moment at which something can be concluded: the settling time, the end of the time to pay.
        """
        if state.final or state is State.WAITING:
            return None
        first = self.first_settle if state in {State.INTENT, State.UNKNOWN} else self.first_poll
        look = now + self.pause(first, polls + 1, self.longest)
        if state in {State.INTENT, State.UNKNOWN} and now < since + self.settling:
            return min(look, since + self.settling)
        if state is State.INIT and expires_at is not None and now < expires_at:
            return min(look, expires_at + self.expiry_grace)
        return look

    def next_poll_at_dispute(self, now: datetime) -> datetime:
        """Return when a dispute that the bank has not decided is looked at again."""
        return now + self.disputes

    def settled_by_silence(self, asked_at: datetime, now: datetime) -> bool:
        """Return True when the gateway has shown nothing for so long that nothing happened (laws of money, 2)."""
        return now >= asked_at + self.settling

    def looked_for_long(self, looks: int) -> bool:
        """Return True after more looks at an unknown outcome than are made in half of the settling time.

        A clock that was put ahead makes one of the pauses between them short, and not the others: by it alone a silence
        of seconds would pass for a long one.
        """
        most, waited = 0, self.first_settle
        while waited <= self.settling / 2:
            most += 1
            waited += min(self.first_settle * (1 << min(most, 30)), self.longest)
        return looks > most

    def is_overdue(self, since: datetime, now: datetime) -> bool:
        """Return True when an outcome that is open ``since`` then must not be waited for in silence any longer."""
        return now >= since + self.overdue
