"""Whether Saleor has read the answer to a charge, refund or cancelation that it requested. Pure.

Saleor writes the reference that it reads into its own request (Saleor contract, A.10), which is identified by its key.
A lost answer shows there too: Saleor repeats the webhook with an empty body, and the answer to that is a failure under
another reference, which the request has from then on.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import Enum, auto

from app.core.ids import PspReference
from app.core.payment import Operation, SaleorEvent
from app.core.vocabulary import Kind
from app.rules.schedule import Schedule
from saleor_app_sdk.history import HistoryEntry
from saleor_app_sdk.responses import AvailableAction

ACTIONS = {
    Kind.CAPTURE: AvailableAction.CHARGE,
    Kind.REFUND: AvailableAction.REFUND,
    Kind.VOID: AvailableAction.CANCEL,
    Kind.CANCEL: AvailableAction.CANCEL,
}
"""The action of Saleor that requests an operation of each kind."""


class AnswerStatus(Enum):
    """Whether Saleor has read an answer."""

    READ = auto()
    AWAITED = auto()  # Saleor is still reading it, or still repeats its webhook
    ABANDONED = auto()  # Saleor has recorded a failure without a reference, and does not repeat its webhook


def answer_status_of(
    operation: Operation,
    history: Sequence[HistoryEntry],
    taken: Collection[str | None],
    now: datetime,
    schedule: Schedule,
) -> AnswerStatus | PspReference:
    """Return whether Saleor has read the answer to ``operation``, according to its history of the transaction.

    A string is the reference that Saleor's request has instead of the operation's. ``taken``: the references of the
    payment's operations. If several requests were made at the same moment, each can have the reference of another's
    answer.
    """
    action = ACTIONS[operation.kind]
    requests = [entry for entry in history if entry.is_request(action)]
    awaited_since = operation.answer_awaited_until
    given_up = awaited_since is not None and now >= awaited_since + schedule.unread_timeout
    if any(request.psp_reference == operation.psp_reference for request in requests):
        keys = {request["key"] for request in operation.saleor_requests}
        unread = [request for request in requests if request.idempotency_key in keys and not request.psp_reference]
        all_read = not unread or given_up or _have_failed(_alike(unread, requests), history, action)
        return AnswerStatus.READ if all_read else AnswerStatus.AWAITED
    key = operation.saleor_requests[-1]["key"]
    own_request = next((request for request in requests if request.idempotency_key == key), None)
    if own_request is None:
        return AnswerStatus.READ  # Saleor has no request that could still get our reference
    if own_request.psp_reference and own_request.psp_reference not in taken:
        return PspReference(own_request.psp_reference)
    if given_up:
        return AnswerStatus.ABANDONED
    alike = _alike([own_request], requests)
    return AnswerStatus.ABANDONED if alike and _have_failed(alike, history, action) else AnswerStatus.AWAITED


def _alike(unread: Sequence[HistoryEntry], requests: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Return all requests without a reference over the same amounts: a failure without one can be that of any."""
    amounts = {one.money for one in unread}
    return [request for request in requests if not request.psp_reference and request.money in amounts]


def _have_failed(requests: Sequence[HistoryEntry], history: Sequence[HistoryEntry], action: AvailableAction) -> bool:
    """Return whether Saleor has recorded a failure without a reference for each of ``requests``, which also have none.

    A granted refund that was requested twice at once has such a request besides the one that has our answer. The last
    event decides about the grant in Saleor, so the true outcome is reported after that failure.
    """
    since = min((one.created_at for one in requests if one.created_at), default=None)
    failed = [
        entry
        for entry in history
        if entry.type == f"{action}_FAILURE"
        and not entry.psp_reference
        and entry.money in {one.money for one in requests}
        and entry.is_later_than(since)
    ]
    return len(failed) >= len(requests)


def has_conflicting_failure(event: SaleorEvent, history: Sequence[HistoryEntry]) -> bool:
    """Return True for a failure that Saleor already has under the same reference, but with another amount.

    Saleor would refuse an event with a different amount (Saleor contract, A.7), and no money was moved. Any other event
    that it already has is reported again: that changes no amount, but updates the available actions.
    """
    return event.type.endswith("_FAILURE") and any(
        (entry.type, entry.psp_reference) == (event.type, event.psp_reference) and entry.money != event.amount
        for entry in history
    )
