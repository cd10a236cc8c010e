"""What a difference between two clocks means."""

from collections.abc import Sequence
from datetime import timedelta

from app.doctor.findings import Finding, Subject, error, fine, warning
from app.i18n.messages import LazyMessage
from app.saleor.webhooks import LEEWAY
from app.server_clock import Difference

UNNOTICED = timedelta(seconds=10)
"""So far clocks may be apart without anything going wrong; servers that ask for the time are within one second."""

_SET_THEM = LazyMessage("Let both machines set their clocks by NTP.")


def clock_findings(difference: Difference | None, host: str) -> Sequence[Finding]:
    """Return how the clock of a host stands against ours; nothing where it did not say."""
    if difference is None:
        return []
    if difference.size <= UNNOTICED:
        return [fine(Subject.CLOCK, LazyMessage("The clocks agree."), about=host)]
    seconds = round(difference.size.total_seconds())
    if difference.ahead > timedelta():
        what = LazyMessage("Its clock is %(seconds)s seconds ahead of the app's.", seconds=seconds)
    else:
        what = LazyMessage("Its clock is %(seconds)s seconds behind the app's.", seconds=seconds)
    if difference.size > LEEWAY:  # from there on what Saleor sends is refused, or the Dashboard's tokens are over
        return [error(Subject.CLOCK, what, _SET_THEM, about=host)]
    return [warning(Subject.CLOCK, what, _SET_THEM, about=host)]
