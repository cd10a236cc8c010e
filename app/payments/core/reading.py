"""Whether Saleor has read the answer to a charge, refund or cancelation that it asked for. Pure.

It writes the reference that it reads into its own request (Saleor contract, A.10), which is known by its key. An answer
that got lost shows there too: Saleor repeats the webhook with an empty body, and what is answered to that is a failure
under another reference, which the request has from then on.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import Enum, auto

from app.db.tables import Kind, Operation, SaleorEvent
from app.payments.core.schedule import Schedule
from app.saleor.answers import AvailableAction
from app.saleor.history import HistoryEntry

ACTIONS = {
    Kind.CAPTURE: AvailableAction.CHARGE,
    Kind.REFUND: AvailableAction.REFUND,
    Kind.VOID: AvailableAction.CANCEL,
    Kind.CANCEL: AvailableAction.CANCEL,
}
"""By which of Saleor's actions an operation is asked for."""


class Reading(Enum):
    """What became of an answer."""

    READ = auto()
    AWAITED = auto()  # Saleor is still reading it, or still repeats its webhook
    GIVEN_UP = auto()  # Saleor has noted a failure without a reference, and does not ask again


def reading_of(
    operation: Operation, history: Sequence[HistoryEntry], taken: Collection[str], now: datetime, schedule: Schedule
) -> Reading | str:
    """Return what Saleor's history of the transaction says of the answer to ``operation``.

    A text is the reference that Saleor's request has instead of the operation's. ``taken``: the references of the other
    operations. Of requests that were made at the same moment our answers can be on each other's request.
    """
    action = ACTIONS[operation.kind]
    requests = [each for each in history if each.is_request(action)]
    awaited_since = operation.answer_awaited_until
    given_up = awaited_since is not None and now >= awaited_since + schedule.unread
    if any(each.psp_reference == operation.psp_reference for each in requests):
        keys = {each["key"] for each in operation.saleor_requests}
        others = [each for each in requests if each.idempotency_key in keys and not each.psp_reference]
        return Reading.READ if given_up or _have_failed(others, history, action) else Reading.AWAITED
    key = operation.saleor_requests[-1]["key"]
    asked = next((each for each in requests if each.idempotency_key == key), None)
    if asked is None:
        return Reading.READ  # whatever Saleor has made of it, it has no request that could still get our reference
    if asked.psp_reference and asked.psp_reference not in taken:
        return asked.psp_reference
    if given_up:
        return Reading.GIVEN_UP
    alike = [each for each in requests if not each.psp_reference and each.money == asked.money]
    return Reading.GIVEN_UP if alike and _have_failed(alike, history, action) else Reading.AWAITED


def _have_failed(requests: Sequence[HistoryEntry], history: Sequence[HistoryEntry], action: AvailableAction) -> bool:
    """Return whether Saleor has noted a failure without a reference for each of ``requests``, which have none either.

    A granted refund that was asked for twice at once has such a request besides the one that has read our answer. What
    Saleor makes of the last event is the end of the grant, so what is true is told after that failure.
    """
    since = min((one.created_at for one in requests if one.created_at), default=None)
    failed = [
        each
        for each in history
        if each.type == f"{action}_FAILURE"
        and not each.psp_reference
        and each.money in {one.money for one in requests}
        and each.is_later_than(since)
    ]
    return len(failed) >= len(requests)


def has_other_failure(event: SaleorEvent, history: Sequence[HistoryEntry]) -> bool:
    """Return True for a failure that Saleor has already, under the reference that its request has, over any amount.

    Over another one it would refuse ours (Saleor contract, A.7), and nothing was moved. What it has otherwise is told
    again: that changes no amount, and says what is possible now.
    """
    return event.type.endswith("_FAILURE") and any(
        (each.type, each.psp_reference) == (event.type, event.psp_reference) and each.money != event.amount
        for each in history
    )
