"""Findings about the difference between two clocks."""

from collections.abc import Sequence
from datetime import timedelta

from app.i18n.messages import LazyMessage
from app.ops.doctor.findings import Finding, Subject, error, fine, warning
from integration_base.server_clock import ClockDifference
from saleor_app_sdk.webhooks import LEEWAY

TOLERANCE = timedelta(seconds=10)
"""The largest harmless difference between clocks; servers synchronized by NTP are within one second."""

_SET_THEM = LazyMessage("Synchronize the clocks of both machines by NTP.")


def clock_findings(difference: ClockDifference | None, host: str) -> Sequence[Finding]:
    """Return findings about a host's clock compared with ours; empty when its time is unknown."""
    if difference is None:
        return []
    if difference.size <= TOLERANCE:
        return [fine(Subject.CLOCK, LazyMessage("The clocks agree."), about=host)]
    seconds = round(difference.size.total_seconds())
    if difference.ahead > timedelta():
        what = LazyMessage("Its clock is %(seconds)s seconds ahead of the app's.", seconds=seconds)
    else:
        what = LazyMessage("Its clock is %(seconds)s seconds behind the app's.", seconds=seconds)
    if difference.size > LEEWAY:  # beyond this, Saleor's webhooks are refused, or the Dashboard's tokens have expired
        return [error(Subject.CLOCK, what, _SET_THEM, about=host)]
    return [warning(Subject.CLOCK, what, _SET_THEM, about=host)]
