"""Sync on demand by staff: look up now, request notifications again, resend events to Saleor."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.core.ids import EventRowId
from app.core.notification import StoredNotification
from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.vocabulary import Flow, Kind, State
from app.flows.look_up import client_of, look_up_order
from app.flows.notifications import process
from app.flows.resolve import resolve_operation
from app.i18n.messages import LazyMessage
from app.rules.balance import is_in_flight
from app.rules.call_errors import KeysNotOpenedError
from app.rules.decisions.delivery import ResendRequested
from app.rules.decisions.look_up import OrderShown
from app.rules.observation import Observations
from app.rules.refusal import RefusalCode, RefusalError
from app.services import Services
from app.store.aggregates import ByEvent, ById, ByOrder, account_of
from app.store.repository import PaymentNotFoundError
from app.store.tables import MerchantAccount
from gateway_client.errors import GatewayError
from gateway_client.models import Records
from gateway_client.models.values import Method
from integration_base.outbound import Deadline

_CALL_IN_PROGRESS = LazyMessage("A request to the gateway is in progress: try again in a minute.")
_CREATIONS = {Flow.CHARGE: Method.PURCHASE, Flow.AUTHORIZATION: Method.AUTH, Flow.PAYOUT: Method.CREDIT}
_METHODS = {Kind.CAPTURE: Method.CAPTURE, Kind.VOID: Method.VOID, Kind.REFUND: Method.REFUND}


@dataclass(frozen=True, slots=True)
class ResendResult:
    """The result of requesting notifications of one kind: how many records the gateway has, or the error."""

    method: Method
    records: int
    error: GatewayError | None = None


async def look_up_now(services: Services, order_id: str) -> GatewayError | None:
    """Look a payment up now and post the result, as the worker does when it is due; return the error if that failed.

    A payment with nothing open is looked up too: others may have acted on it (laws of money, 10). Raises RefusalError.
    """
    aggregate, account = await _load(services, order_id)
    deadline = Deadline(services.schedule.budget.total_seconds())
    operation = _first_open_operation(aggregate)
    if operation is None:
        return await _look_up_and_post(services, account, aggregate, deadline)
    calling_until = services.schedule.intent_deadline(operation.updated_at)
    if operation.state is State.INTENT and services.now() < calling_until:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _CALL_IN_PROGRESS)
    return await resolve_operation(services, row_id_of(operation), deadline)


async def post_records(services: Services, account: MerchantAccount, records: Records) -> tuple[str, ...]:
    """Post gateway records to the payments of this account to which they belong; return their orders.

    They are single records, as in notifications, not everything that the gateway has of an order.
    """
    orders = dict.fromkeys(record.order_id for record in records)
    posted, context = [], services.decision_context(is_single_record=True)
    for order_id in orders:
        found = await services.payments.find(ByOrder(order_id, installation_id=account.installation_id))
        if found is None or found.payment.account_id != account.id:
            continue
        of_order = Records(record for record in records if record.order_id == order_id)
        shown = Observations.from_records(of_order, found.payment.language)
        await services.payments.record(ById(row_id_of(found.payment)), OrderShown(shown, context, is_whole=False))
        posted.append(order_id)
    return tuple(posted)


async def request_notifications(
    services: Services, order_id: str, method: Method | None = None, *, transaction_id: str | None = None
) -> list[ResendResult]:
    """Request the gateway's notifications of everything done with a payment once more (gateway interface, 9).

    ``method`` limits them to one kind of operation, ``transaction_id`` to one payment of a subscription.
    """
    aggregate, account = await _load(services, order_id)
    first = _CREATIONS[aggregate.payment.flow]
    try:
        client = client_of(services, account)
    except KeysNotOpenedError as error:
        return [ResendResult(first, 0, error)]
    done = [first, *(_METHODS[one.kind] for one in aggregate.operations if one.kind in _METHODS)]
    results = []
    for kind in dict.fromkeys(done) if method is None else [method]:
        try:
            records = await client.resend(
                order_id, kind, transaction_id=transaction_id, timeout=services.schedule.budget.total_seconds()
            )
        except GatewayError as error:
            results.append(ResendResult(kind, 0, error))
        else:
            results.append(ResendResult(kind, len(records)))
    return results


async def fetch_records(services: Services, order_id: str) -> Records | GatewayError:
    """Return the gateway's current records of a payment, or the error; nothing is posted."""
    aggregate, account = await _load(services, order_id)
    try:
        return await client_of(services, account).get_order(
            aggregate.payment.order_id, timeout=services.schedule.budget.total_seconds()
        )
    except GatewayError as error:
        return error


def _first_open_operation(aggregate: PaymentAggregate) -> Operation | None:
    """Return the operation to look up: first one in flight, then the payment itself, then one that waits its turn."""
    unsettled = [operation for operation in aggregate.operations if not operation.state.final]
    return min(
        unsettled, key=lambda operation: (not is_in_flight(operation), operation.state is State.WAITING), default=None
    )


async def _load(services: Services, order_id: str) -> tuple[PaymentAggregate, MerchantAccount]:
    aggregate = await services.payments.find(ByOrder(order_id))
    if aggregate is None:
        raise RefusalError(RefusalCode.UNKNOWN_PAYMENT, LazyMessage("There is no such payment."))
    return aggregate, account_of(aggregate.payment)


async def _look_up_and_post(
    services: Services, account: MerchantAccount, aggregate: PaymentAggregate, deadline: Deadline
) -> GatewayError | None:
    records = await look_up_order(services, account, aggregate.payment, deadline)
    if isinstance(records, GatewayError):
        return records
    await services.payments.record(ById(row_id_of(aggregate.payment)), OrderShown(records, services.decision_context()))
    return None


async def resend_events(services: Services, event_ids: Sequence[EventRowId]) -> list[EventRowId]:
    """Let the worker report these events to Saleor again, now; return the ids of those that it will report.

    For use once the cause of a refusal has been fixed in Saleor. The problem is cleared when Saleor accepts the event.
    A waiting event is reported at once; a delivered or superseded one is left alone. A failure is never reported after
    the success of the same operation (laws of money, 5).
    """
    again = []
    for event_id in event_ids:
        with suppress(PaymentNotFoundError):
            if await services.payments.record(ByEvent(event_id), ResendRequested(event_id, services.now())):
                again.append(event_id)
    return again


async def reprocess(services: Services, notifications: Sequence[StoredNotification]) -> bool:
    """Process notifications again, here and now; return whether all of them succeeded."""
    return all([await process(services, notification.id) is not None for notification in notifications])
