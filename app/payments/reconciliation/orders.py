"""Compares a few orders with the gateway's books, and settles what differs: by its record, or by people.

What differs is looked up, and what the gateway shows is posted as in any look-up: a success or failure that no
notification has told, what others did, become known through the one mapper. What differs even so a person must see.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from app.db.aggregates import ById, PaymentAggregate, row_id_of
from app.db.reconciliations import Finding, payments_of_orders
from app.db.tables import Discrepancy, DiscrepancyKind, DiscrepancyState, EventState, Flow, MerchantAccount, ProblemKind
from app.gateway.errors import GatewayError, KeysNotOpenedError, RateLimitedError
from app.gateway.models import Records, Status
from app.payments.core.apply import raise_problem
from app.payments.core.observation import gateway_id_of
from app.payments.core.problems import Cause, clear, disagrees, has_problem
from app.payments.core.refusal import RefusalError
from app.payments.reconciliation.compare import Difference, Period, differences, of_nobody
from app.payments.reconciliation.entries import BookLine, Entry, entries_of
from app.payments.reconciliation.words import words_of
from app.payments.services import Services
from app.payments.sync.on_demand import ask_now, records_now

log = structlog.get_logger(__name__)

_MOST_IN_VAIN = 3  # look-ups, one after the other: then it is the gateway that cannot be asked, and no single order

Differing = tuple[PaymentAggregate, Difference]
"""A difference, and the payment as it was when it was found."""


class GatewayAwayError(Exception):
    """The gateway cannot be asked at this moment; ``cause`` is why."""

    def __init__(self, cause: GatewayError) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(slots=True)
class LookUps:
    """Look-ups of one comparison, one at a time and with a pause before each. ``made``: how many there were."""

    services: Services
    made: int = 0
    in_vain: int = field(default=0)

    async def post(self, order_id: str) -> bool:
        """Post what the gateway shows of an order; False if it does not say. Raises GatewayAwayError."""
        await self._wait()
        try:
            error = await ask_now(self.services, order_id)
        except RefusalError:  # it is being asked at this moment, by somebody else
            return False
        return self._went_well(error)

    async def shows(self, order_id: str, operation_id: str | None) -> bool | None:
        """Return whether the gateway shows that this has succeeded; None if it does not say."""
        await self._wait()
        records = await records_now(self.services, order_id)
        if not isinstance(records, Records):
            self._went_well(records)
            return None
        self._went_well(None)
        return any(gateway_id_of(each) == operation_id and each.status is Status.SUCCESS for each in records)

    async def _wait(self) -> None:
        self.made += 1
        await asyncio.sleep(self.services.schedule.between_look_ups.total_seconds())

    def _went_well(self, error: GatewayError | None) -> bool:
        self.in_vain = 0 if error is None else self.in_vain + 1
        if isinstance(error, RateLimitedError | KeysNotOpenedError) or (error and self.in_vain >= _MOST_IN_VAIN):
            raise GatewayAwayError(error)
        return error is None


async def differing(
    services: Services, account: MerchantAccount, lines: Mapping[str, Sequence[BookLine]], period: Period
) -> tuple[list[Differing], list[Finding]]:
    """Return where these orders differ from our payments, and those of which no payment is ours; a few queries."""
    async with services.database.transaction() as session:
        payments = await payments_of_orders(session, list(lines))
    ours: list[Differing] = []
    of_others: list[Finding] = []
    for order_id, of_order in lines.items():
        payment = payments.get(order_id)
        entries = entries_of(of_order)
        if payment is None or payment.payment.account.pos_id.lower() != account.pos_id.lower():
            # What another system pays out is not asked about until staff pay out with this one.
            asked = [each for each in entries if each.flow is not Flow.PAYOUT or account.payouts]
            of_others += [_of_nobody(order_id, each) for each in of_nobody(asked)]
        elif payment.payment.account_id == account.id:  # else it is compared with the other account's books
            found = differences(payment, entries, period)
            if any(not each.is_readable and each.is_compared for each in of_order) and not found:
                found = [Difference(DiscrepancyKind.UNREADABLE)]
            ours += [(payment, each) for each in found]
    return ours, of_others


def finding(payment: PaymentAggregate, difference: Difference, state: DiscrepancyState) -> Finding:
    """Return what is kept of a difference of a payment."""
    return Finding(
        key=difference.key(payment.payment.order_id),
        kind=difference.kind,
        state=state,
        order_id=payment.payment.order_id,
        facts=difference.facts(),
        payment_id=payment.payment.id,
        gateway_id=None if difference.entry is None else difference.entry.payment_id,
    )


async def settle(services: Services, look_ups: LookUps, found: Sequence[Differing]) -> list[Finding]:
    """Look the orders up that differ, and put to people what differs even so. Raises GatewayAwayError.

    A difference of which the gateway does not say anything now stays as it was found; the next comparison asks again.
    """
    settled: list[Finding] = []
    asked: dict[str, bool] = {}
    for payment, difference in found:
        order_id = payment.payment.order_id
        if difference.entry is None and difference.operation is not None:
            state = await _settle_not_shown(services, look_ups, payment, difference)
        elif difference.kind is DiscrepancyKind.RECEIVER:  # no record says whose the money is
            state = await _put_to_people(services, payment, difference)
        else:
            if order_id not in asked:
                asked[order_id] = await look_ups.post(order_id)
            state = DiscrepancyState.FOUND
            if asked[order_id]:
                state = await _settled_by_look_up(services, payment, difference)
        settled.append(finding(payment, difference, state))
    return settled


async def recheck(services: Services, look_ups: LookUps, rows: Sequence[Discrepancy]) -> list[Finding]:
    """Return what became of differences that were not settled; none where nothing has changed.

    Raises GatewayAwayError.
    """
    changed = []
    for row in rows:
        payment = await services.payments.find(ById(row.payment_id or 0))
        difference = None if payment is None else _kept(row, payment)
        if payment is None or difference is None:
            continue
        waiting = row.state is DiscrepancyState.FOUND
        if waiting:
            [again] = await settle(services, look_ups, [(payment, difference)])
            state = again.state
        elif await _still_differs(look_ups, payment, difference):
            continue
        else:
            await _clear(services, payment, difference)
            state = DiscrepancyState.ENDED
        if state is not row.state:
            changed.append(Finding(row.key, row.kind, state, row.order_id, row.facts, row.payment_id, row.gateway_id))
    return changed


def _of_nobody(order_id: str, difference: Difference) -> Finding:
    return Finding(
        key=difference.key(order_id),
        kind=difference.kind,
        state=DiscrepancyState.TO_PEOPLE,
        order_id=order_id,
        facts=difference.facts(),
        gateway_id=None if difference.entry is None else difference.entry.payment_id,
    )


def _kept(row: Discrepancy, payment: PaymentAggregate) -> Difference | None:
    """Return a difference as it was found; None when what it is about is no more."""
    said, ours = row.facts["gateway"], row.facts["ours"]
    entry = None if said is None else Entry.kept(said)
    operation = None if ours is None else next((e for e in payment.operations if e.id == ours["operation"]), None)
    if ours is not None and operation is None:
        return None
    return Difference(row.kind, entry, operation, row.facts["copies"])


async def _settle_not_shown(
    services: Services, look_ups: LookUps, payment: PaymentAggregate, difference: Difference
) -> DiscrepancyState:
    operation = difference.operation
    shown = await look_ups.shows(payment.payment.order_id, operation.operation_id if operation else None)
    if shown is None:
        return DiscrepancyState.FOUND
    return DiscrepancyState.ENDED if shown else await _put_to_people(services, payment, difference)


async def _settled_by_look_up(
    services: Services, payment: PaymentAggregate, difference: Difference
) -> DiscrepancyState:
    now = await services.payments.find(ById(row_id_of(payment.payment)))
    if now is None or not _differs(now, difference):
        return DiscrepancyState.REPAIRED
    return await _put_to_people(services, now, difference)


def _differs(payment: PaymentAggregate, difference: Difference) -> bool:
    """Return whether a difference is there still, by what is recorded now."""
    if difference.entry is None:
        return False  # a line that could not be read: the gateway's own record was posted
    key = difference.key(payment.payment.order_id)
    again = differences(payment, [difference.entry] * difference.copies)
    return any(each.key(payment.payment.order_id) == key for each in again)


async def _still_differs(look_ups: LookUps, payment: PaymentAggregate, difference: Difference) -> bool:
    if difference.entry is None and difference.operation is not None:
        return not await look_ups.shows(payment.payment.order_id, difference.operation.operation_id)
    return _differs(payment, difference)


async def _put_to_people(services: Services, payment: PaymentAggregate, difference: Difference) -> DiscrepancyState:
    """Raise a problem of the payment, unless it has one that says so already (laws of money, 13)."""
    cause, words, now = _cause(payment, difference), words_of(difference), services.now()

    def step(locked: PaymentAggregate) -> PaymentAggregate:
        refused = difference.kind is DiscrepancyKind.UNTOLD and any(
            each.state is EventState.REFUSED for each in locked.events
        )  # which is a problem of its own
        if not (refused or disagrees(locked.payment) or has_problem(locked.payment, cause)):
            raise_problem(locked, words, now, cause=cause)
        return locked

    services.wake_for([await services.payments.update(ById(row_id_of(payment.payment)), step)])
    log.warning("books differ", payment=payment.payment.order_id, kind=difference.kind.value)
    return DiscrepancyState.TO_PEOPLE


async def _clear(services: Services, payment: PaymentAggregate, difference: Difference) -> None:
    cause, now = _cause(payment, difference), services.now()
    await services.payments.update(ById(row_id_of(payment.payment)), lambda locked: clear(locked.payment, cause, now))


def _cause(payment: PaymentAggregate, difference: Difference) -> Cause:
    operation = difference.operation
    return Cause(
        ProblemKind.DIFFERENCE,
        difference.key(payment.payment.order_id),
        operation_id=None if operation is None else operation.id,
        gateway_id=None if difference.entry is None or operation is not None else difference.entry.payment_id,
    )
