"""Calculate a transaction's amounts from its events (Saleor contract, A.4 to A.7)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter

from saleor_app_sdk.testing.money import ZERO
from saleor_app_sdk.testing.records import Amounts, Event
from saleor_app_sdk.testing.vocabulary import EventType


@dataclass(frozen=True)
class _Movement:
    """One kind of money movement: the amounts that it decreases, is pending in, and increases on success."""

    source: str | None
    pending: str
    settled: str


_MOVEMENTS = {
    "AUTHORIZATION": _Movement(None, "authorize_pending", "authorized"),
    "CHARGE": _Movement("authorized", "charge_pending", "charged"),
    "REFUND": _Movement("charged", "refund_pending", "refunded"),
    "CANCEL": _Movement("authorized", "cancel_pending", "canceled"),
}

# Events without a reference belong to no chain: each changes one amount, and none decreases a source.
_WITHOUT_REFERENCE = {
    EventType.AUTHORIZATION_SUCCESS: ("authorized", 1),
    EventType.CHARGE_SUCCESS: ("charged", 1),
    EventType.CHARGE_BACK: ("charged", -1),
    EventType.REFUND_SUCCESS: ("refunded", 1),
    EventType.REFUND_REVERSE: ("charged", 1),
    EventType.CANCEL_SUCCESS: ("canceled", 1),
}

_Chain = dict[str, Event]


def calculate_amounts(events: Iterable[Event]) -> Amounts:
    """Return the amounts that these events add up to.

    Events form chains: one per kind of movement and ``pspReference``; of two events of the same type in a chain the
    later counts. A request is pending until its chain has a success or a failure. A success counts unless its chain has
    a later failure. The newest AUTHORIZATION_ADJUSTMENT sets the authorized amount and overrides older authorization
    events. Authorized amounts are never negative; charged ones can be.
    """
    in_order = _without_superseded(sorted((event for event in events if event.counts), key=attrgetter("created_at")))
    total: defaultdict[str, Decimal] = defaultdict(lambda: ZERO)
    chains: dict[str, defaultdict[str, _Chain]] = {family: defaultdict(dict) for family in _MOVEMENTS}
    for event in in_order:
        if not event.psp_reference:
            _add_unreferenced(event, total)
        elif event.type.family in chains:
            chains[event.type.family][event.psp_reference][event.type.outcome] = event
    for family, movement in _MOVEMENTS.items():
        for chain in chains[family].values():
            _add_chain(chain, movement, total)
    amounts = Amounts(**total)
    return Amounts(
        **{
            **total,
            "authorized": max(amounts.authorized, ZERO),
            "authorize_pending": max(amounts.authorize_pending, ZERO),
        }
    )


def _without_superseded(events: list[Event]) -> list[Event]:
    adjustments = [index for index, event in enumerate(events) if event.type is EventType.AUTHORIZATION_ADJUSTMENT]
    newest = adjustments[-1] if adjustments else 0
    return [event for index, event in enumerate(events) if index >= newest or event.type.family != "AUTHORIZATION"]


def _add_unreferenced(event: Event, total: defaultdict[str, Decimal]) -> None:
    if event.type is EventType.AUTHORIZATION_ADJUSTMENT:
        total["authorized"] = event.amount
    elif event.type in _WITHOUT_REFERENCE:
        where, sign = _WITHOUT_REFERENCE[event.type]
        total[where] += sign * event.amount


def _add_chain(chain: _Chain, movement: _Movement, total: defaultdict[str, Decimal]) -> None:
    if adjustment := chain.get("ADJUSTMENT"):
        total["authorized"] = adjustment.amount
    if charge_back := chain.get("BACK"):
        total["charged"] -= charge_back.amount
    if reverse := chain.get("REVERSE"):
        total["charged"] += reverse.amount
        total["refunded"] -= reverse.amount
    request, success, failure = chain.get("REQUEST"), chain.get("SUCCESS"), chain.get("FAILURE")
    if request and not success and not failure:
        _move(request.amount, movement.source, movement.pending, total)
    if success and (not failure or success.created_at > failure.created_at):
        _move(success.amount, movement.source, movement.settled, total)


def _move(amount: Decimal, source: str | None, target: str, total: defaultdict[str, Decimal]) -> None:
    total[target] += amount
    if source:
        total[source] -= amount
