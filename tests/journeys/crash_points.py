"""The moments between a request and its delivery at which the app is killed; a closed list, one line each.

A test arms one of them by writing a file; the app (``crashing_app``) reaches it, records that, and dies.
"""

import os
import signal
from enum import Enum
from pathlib import Path


class CrashPoint(Enum):
    """Where the process dies. The values tell what has happened by then, and what has not."""

    # Asking the gateway
    INTENT_NOT_COMMITTED = "the intent is written, not committed"
    CALL_NOT_BEGUN = "the intent is committed, the call has not begun"
    ANSWER_NOT_READ = "the gateway has done it, its answer is not read"
    OUTCOME_NOT_COMMITTED = "the answer is read, the outcome is not committed"
    # Answering Saleor
    SALEOR_NOT_ANSWERED = "outcome and events are committed, Saleor is not answered"
    ANSWER_CUT_OFF = "half of the answer to Saleor has left"
    SALEOR_ANSWERED = "all of the answer to Saleor has left"
    # The gateway notifies
    NOTIFICATION_NOT_KEPT = "the notification is verified, not kept"
    NOTIFICATION_NOT_ANSWERED = "the notification is kept, not acknowledged"
    NOTIFICATION_CLAIMED = "the notification is claimed, nothing is made of it"
    NOTIFICATION_NOT_POSTED = "what follows from the notification is written, not committed"
    NOTIFICATION_POSTED = "the notification and what follows from it are committed, nobody is told"
    # Telling Saleor
    EVENT_CLAIMED = "the event is claimed, Saleor is not told"
    DELIVERY_NOT_NOTED = "Saleor is told, that it was is not committed"
    # Finding out
    LOOK_UP_NOT_POSTED = "the look-up is read, what follows from it is not committed"


class CrashTrigger:
    """Kills a process at the point that is armed in ``file``; nothing happens until one is."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._met = file.with_suffix(".met")

    def arm(self, point: CrashPoint) -> None:
        """Let the process die when it next reaches ``point``."""
        self._met.unlink(missing_ok=True)
        whole = self._file.with_suffix(".new")
        whole.write_text(point.name)
        whole.rename(self._file)

    @property
    def has_died(self) -> bool:
        """True once the process has reached the armed point."""
        return self._met.exists()

    def reach(self, point: CrashPoint) -> None:
        """Die, if this point is armed. Nothing of this process runs afterwards, no matter what else it was doing."""
        try:
            armed = self._file.read_text()
        except FileNotFoundError:
            return
        if armed == point.name:
            self._file.rename(self._met)
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()
