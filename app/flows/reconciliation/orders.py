"""Compares a batch of orders with the gateway's books, and settles differences by look-up, or escalates to staff.

An order that differs is looked up, and its records are posted as in any look-up: a success or failure that no
notification reported, and operations made outside the app, pass through the one mapper. If a difference remains, staff
must review it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from app.core.alerts import AlertKind
from app.core.ids import PaymentRowId
from app.core.payment import PaymentAggregate, row_id_of
from app.core.vocabulary import Flow
from app.flows.on_demand import fetch_records, look_up_now
from app.flows.reconciliation.compare import Difference, Period, differences_of_unknown_order, find_differences
from app.flows.reconciliation.entries import BookLine, Entry, entries_of
from app.flows.reconciliation.issues import issue_of
from app.rules.call_errors import KeysNotOpenedError
from app.rules.decisions.difference import DifferenceEnded, DifferenceFound
from app.rules.observation import gateway_id_of
from app.rules.problems import Cause
from app.rules.references import is_same_id
from app.rules.refusal import RefusalError
from app.services import Services
from app.store.aggregates import ById
from app.store.reconciliations import Finding, payments_of_orders
from app.store.tables import Discrepancy, DiscrepancyKind, DiscrepancyState, MerchantAccount
from gateway_client.errors import GatewayError, RateLimitedError
from gateway_client.models import Records, Status

log = structlog.get_logger(__name__)

_MAX_CONSECUTIVE_FAILURES = 3  # of look-ups: then the gateway is unavailable, not just one order

PaymentDifference = tuple[PaymentAggregate, Difference]
"""A difference, and the payment in the state in which it was found."""


class GatewayUnavailableError(Exception):
    """The gateway cannot be queried at this moment; ``cause`` is the reason."""

    def __init__(self, cause: GatewayError) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(slots=True)
class LookUps:
    """The look-ups of one comparison, one at a time, with a pause before each. ``made``: how many so far."""

    services: Services
    made: int = 0
    consecutive_failures: int = field(default=0)

    async def post(self, order_id: str) -> bool:
        """Look up an order and post its records; False if the gateway did not answer.

        Raises GatewayUnavailableError.
        """
        await self._wait()
        try:
            error = await look_up_now(self.services, order_id)
        except RefusalError:  # another process is querying it at this moment
            return False
        return self._record_result(error)

    async def shows_success(self, order_id: str, operation_id: str | None) -> bool | None:
        """Return whether the gateway shows the operation as successful; None if it did not answer."""
        await self._wait()
        records = await fetch_records(self.services, order_id)
        if not isinstance(records, Records):
            self._record_result(records)
            return None
        self._record_result(None)
        shown = (gateway_id_of(record) for record in records if record.status is Status.SUCCESS)
        return any(is_same_id(gateway_id, operation_id) for gateway_id in shown)

    async def _wait(self) -> None:
        self.made += 1
        await asyncio.sleep(self.services.schedule.between_look_ups.total_seconds())

    def _record_result(self, error: GatewayError | None) -> bool:
        self.consecutive_failures = 0 if error is None else self.consecutive_failures + 1
        if isinstance(error, RateLimitedError | KeysNotOpenedError) or (
            error and self.consecutive_failures >= _MAX_CONSECUTIVE_FAILURES
        ):
            raise GatewayUnavailableError(error)
        return error is None


async def compare_orders(
    services: Services, account: MerchantAccount, lines: Mapping[str, Sequence[BookLine]], period: Period
) -> tuple[list[PaymentDifference], list[Finding]]:
    """Return the differences of our payments, and findings of orders that are not ours, in a few queries."""
    async with services.database.transaction() as session:
        payments = await payments_of_orders(session, list(lines))
    ours: list[PaymentDifference] = []
    unknown: list[Finding] = []
    for order_id, of_order in lines.items():
        payment = payments.get(order_id)
        entries = entries_of(of_order)
        if payment is None and account.is_order_of_others(order_id):
            continue
        if payment is None or payment.payment.account.pos_id.lower() != account.pos_id.lower():
            # Payouts of another system are ignored until staff pay out with this app.
            is_ignored = not account.payouts and any(entry.flow is Flow.PAYOUT for entry in entries)
            relevant = [] if is_ignored else entries
            unknown += [
                _unknown_order_finding(order_id, difference) for difference in differences_of_unknown_order(relevant)
            ]
        elif payment.payment.account_id == account.id:  # else it is compared with the other account's books
            found = find_differences(payment, entries, period)
            if any(not book_line.is_readable and book_line.is_compared for book_line in of_order) and not found:
                found = [Difference(DiscrepancyKind.UNREADABLE)]
            ours += [(payment, difference) for difference in found]
    return ours, unknown


def build_finding(payment: PaymentAggregate, difference: Difference, state: DiscrepancyState) -> Finding:
    """Return the finding to store for a difference of a payment."""
    return Finding(
        key=difference.key(payment.payment.order_id),
        kind=difference.kind,
        state=state,
        order_id=payment.payment.order_id,
        facts=difference.facts(),
        payment_id=payment.payment.id,
        gateway_id=None if difference.entry is None else difference.entry.payment_id,
    )


async def settle(services: Services, look_ups: LookUps, found: Sequence[PaymentDifference]) -> list[Finding]:
    """Look up the orders that differ, and escalate remaining differences to staff. Raises GatewayUnavailableError.

    A difference about which the gateway does not answer now stays as found; the next comparison queries again.
    """
    settled: list[Finding] = []
    posted: dict[str, bool] = {}
    for payment, difference in found:
        order_id = payment.payment.order_id
        if difference.entry is None and difference.operation is not None:
            state = await _settle_missing(services, look_ups, payment, difference)
        elif difference.kind is DiscrepancyKind.RECEIVER:  # no record states who received the money
            state = await _escalate_to_staff(services, payment, difference)
        else:
            if order_id not in posted:
                posted[order_id] = await look_ups.post(order_id)
            state = DiscrepancyState.FOUND
            if posted[order_id]:
                state = await _state_after_look_up(services, payment, difference)
        settled.append(build_finding(payment, difference, state))
    return settled


async def recheck(services: Services, look_ups: LookUps, rows: Sequence[Discrepancy]) -> list[Finding]:
    """Check unsettled differences again; return a finding for each whose state has changed.

    Raises GatewayUnavailableError.
    """
    changed = []
    for row in rows:
        payment = await services.payments.find(ById(PaymentRowId(row.payment_id or 0)))
        difference = None if payment is None else _stored_difference(row, payment)
        if payment is None or difference is None:
            continue
        waiting = row.state is DiscrepancyState.FOUND
        if waiting:
            [again] = await settle(services, look_ups, [(payment, difference)])
            state = again.state
        elif await _still_differs(look_ups, payment, difference):
            continue
        else:
            await _clear_problem(services, payment, difference)
            state = DiscrepancyState.ENDED
        if state is not row.state:
            changed.append(Finding(row.key, row.kind, state, row.order_id, row.facts, row.payment_id, row.gateway_id))
    return changed


def _unknown_order_finding(order_id: str, difference: Difference) -> Finding:
    return Finding(
        key=difference.key(order_id),
        kind=difference.kind,
        state=DiscrepancyState.TO_PEOPLE,
        order_id=order_id,
        facts=difference.facts(),
        gateway_id=None if difference.entry is None else difference.entry.payment_id,
    )


def _stored_difference(row: Discrepancy, payment: PaymentAggregate) -> Difference | None:
    """Return a difference as it was found; None when its operation no longer exists."""
    theirs, ours = row.facts["gateway"], row.facts["ours"]
    entry = None if theirs is None else Entry.from_facts(theirs)
    operation = None if ours is None else next((e for e in payment.operations if e.id == ours["operation"]), None)
    if ours is not None and operation is None:
        return None
    return Difference(row.kind, entry, operation, row.facts["copies"])


async def _settle_missing(
    services: Services, look_ups: LookUps, payment: PaymentAggregate, difference: Difference
) -> DiscrepancyState:
    operation = difference.operation
    shown = await look_ups.shows_success(payment.payment.order_id, operation.operation_id if operation else None)
    if shown is None:
        return DiscrepancyState.FOUND
    return DiscrepancyState.ENDED if shown else await _escalate_to_staff(services, payment, difference)


async def _state_after_look_up(
    services: Services, payment: PaymentAggregate, difference: Difference
) -> DiscrepancyState:
    now = await services.payments.find(ById(row_id_of(payment.payment)))
    if now is None or not _differs(now, difference):
        return DiscrepancyState.REPAIRED
    return await _escalate_to_staff(services, now, difference)


def _differs(payment: PaymentAggregate, difference: Difference) -> bool:
    """Return whether a difference still exists, by the current records."""
    if difference.entry is None:
        return False  # a line that could not be read: the gateway's own record was posted
    key = difference.key(payment.payment.order_id)
    again = find_differences(payment, [difference.entry] * difference.copies)
    return any(difference.key(payment.payment.order_id) == key for difference in again)


async def _still_differs(look_ups: LookUps, payment: PaymentAggregate, difference: Difference) -> bool:
    if difference.entry is None and difference.operation is not None:
        return not await look_ups.shows_success(payment.payment.order_id, difference.operation.operation_id)
    return _differs(payment, difference)


async def _escalate_to_staff(services: Services, payment: PaymentAggregate, difference: Difference) -> DiscrepancyState:
    """Raise a problem of the payment, unless it already has one for the same cause (laws of money, 13)."""
    is_untold = difference.kind is DiscrepancyKind.UNTOLD
    issue = issue_of(difference, payment.payment.flow)
    found = DifferenceFound(_cause(payment, difference), issue, is_untold, services.now())
    await services.payments.record(ById(row_id_of(payment.payment)), found)
    log.warning("comparison.difference_found", payment=payment.payment.order_id, kind=difference.kind.value)
    return DiscrepancyState.TO_PEOPLE


async def _clear_problem(services: Services, payment: PaymentAggregate, difference: Difference) -> None:
    ended = DifferenceEnded(_cause(payment, difference), services.now())
    await services.payments.record(ById(row_id_of(payment.payment)), ended)


def _cause(payment: PaymentAggregate, difference: Difference) -> Cause:
    operation = difference.operation
    return Cause(
        AlertKind.DIFFERENCE,
        difference.key(payment.payment.order_id),
        operation_id=None if operation is None else operation.id,
        gateway_id=None if difference.entry is None or operation is not None else difference.entry.payment_id,
    )
