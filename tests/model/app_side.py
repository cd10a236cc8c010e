"""What the app does, one commit at a time, by its own decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeVar

from app.core.fact import AttemptFact, Fact
from app.core.ids import EventRowId, OperationRowId, OrderId, PaymentRowId
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import EventState, Kind, Mode, Origin, State
from app.rules.action_request import ActionRequest
from app.rules.addresses import Addresses, PaymentPage
from app.rules.apply import apply
from app.rules.balance import balance
from app.rules.decision_context import DecisionContext
from app.rules.decisions.action import ActionRequested
from app.rules.decisions.answer_confirmation import HistoryRead, RefundRerequested
from app.rules.decisions.competing_attempts import AttemptBegun, AttemptsDue
from app.rules.decisions.delivery import EventDue, EventReported, find_ready_event
from app.rules.decisions.gateway_call import CallReturned
from app.rules.decisions.look_up import OrderLookedUp, OrderShown, TurnCame
from app.rules.decisions.session import SessionAsked
from app.rules.observation import Observations, observation_from_record
from app.rules.page_cancellation import needs_look_up_first
from app.rules.problems import open_problems
from app.rules.refusal import RefusalError
from app.rules.responses import action_response, session_refusal_response, session_response
from app.rules.schedule import Schedule
from gateway_client.errors import GatewayError, OutcomeUnknownError
from gateway_client.models import Records
from integration_base import exact_json
from saleor_app_sdk.errors import SaleorError
from saleor_app_sdk.events import GrantedRefund
from saleor_app_sdk.history import HistoryEntry
from saleor_app_sdk.reports import ReportOutcome
from saleor_app_sdk.responses import ActionResponse, AvailableAction, TransactionFlow
from saleor_app_sdk.source import Checkout
from saleor_app_sdk.testing.records import Event
from saleor_app_sdk.testing.rules import requests
from saleor_app_sdk.testing.rules.grants import GrantRefusedError, update_granted_refund_status
from saleor_app_sdk.testing.vocabulary import Action
from tests.model.gateway import Record
from tests.model.world import ACCOUNT, ACTION_KEY, TO_PAY, Answer, Attempt, Call, World
from tests.payments.shop import source_object

SCHEDULE = Schedule()
PAGE = "https://app.example/payment"
PAGE_LIFETIME = timedelta(hours=1)
ACCOUNT_ID = "account"
R = TypeVar("R")
_PAYMENT_PAGE = PaymentPage(Addresses("https://app.example"), "https://saleor.example/graphql/")
_CHECKOUT = Checkout.model_validate(
    source_object(totalPrice={"gross": {"amount": TO_PAY, "currency": "UAH"}}, transactions=[])
)
_ACTIONS = {
    Action.CHARGE: AvailableAction.CHARGE,
    Action.REFUND: AvailableAction.REFUND,
    Action.CANCEL: AvailableAction.CANCEL,
}


def context_at(world: World, *, answering: OperationRowId | None = None, single: bool = False) -> DecisionContext:
    """Return the context of a decision now."""
    return DecisionContext(world.now, SCHEDULE, answering, is_single_record=single)


def _aggregates(world: World) -> list[PaymentAggregate]:
    return [attempt.aggregate for attempt in world.attempts if attempt.aggregate is not None]


def _store_all(world: World) -> None:
    for attempt in world.attempts:
        if attempt.aggregate is not None:
            attempt.store()


def _record(attempt: Attempt, fact: Fact[R]) -> R:
    """Let a fact decide about a payment that is known, and commit that."""
    assert attempt.aggregate is not None
    answer = fact.decide(attempt.aggregate)
    attempt.store()
    return answer


def _record_of_attempt(world: World, attempt: Attempt, fact: AttemptFact[R], attempts: Sequence[PaymentAggregate]) -> R:
    """Do the same for a fact that may concern other attempts to pay the same."""
    assert attempt.aggregate is not None
    answer = fact.decide(attempt.aggregate, attempts)
    _store_all(world)
    return answer


def _json(body: Any) -> Any:
    return exact_json.loads(exact_json.dumps(body))


def begin(world: World, attempt: Attempt, request: Event) -> None:
    """Record the intent of a payment, and call the gateway; or refuse the payment."""
    payment = Payment(
        id=PaymentRowId(world.attempts.index(attempt) + 1),
        installation_id=1,
        account_id=ACCOUNT_ID,
        transaction_id=attempt.transaction.id,
        order_id=OrderId(attempt.order.order_id),
        flow=world.flow,
        amount=request.amount,
        currency="UAH",
        channel="uah",
        mode=world.mode,
        source_id="checkout",
        expires_at=world.now + PAGE_LIFETIME if world.mode is Mode.HOSTED else None,
        created_at=world.now,
        updated_at=world.now,
    )
    payment.loaded_account = ACCOUNT
    refusal = AttemptBegun(_CHECKOUT).decide(PaymentAggregate(payment, [], []), _aggregates(world))
    if refusal is not None:
        flow = TransactionFlow(world.flow.value)
        attempt.answers.append(Answer(request, _json(session_refusal_response(flow, refusal).dump())))
        return
    create = Operation(
        kind=Kind.CREATE,
        idempotency_key="create",
        state=State.INTENT,
        amount=request.amount,
        currency="UAH",
        origin=Origin.SALEOR,
        next_poll_at=SCHEDULE.intent_deadline(world.now),
        created_at=world.now,
        updated_at=world.now,
    )
    attempt.aggregate = PaymentAggregate(payment, [create], [])
    _store_all(world)
    attempt.calls.append(Call(1, request))


def answer_session_from_record(world: World, attempt: Attempt, request: Event) -> None:
    """Answer a session of a payment that is known."""
    assert attempt.aggregate is not None
    asked = SessionAsked(_PAYMENT_PAGE, context_at(world))
    answer = _record_of_attempt(world, attempt, asked, [attempt.aggregate])
    attempt.answers.append(Answer(request, _json(answer.dump())))


def receive_action(world: World, attempt: Attempt, request: Event, action: Action) -> None:
    """Record what Saleor requests, and send it, let it wait, or answer from the record."""
    key = request.idempotency_key or ""
    asked = ActionRequest(
        action=_ACTIONS[action],
        amount=request.amount,
        currency="UAH",
        keys=(key,),
        digest=f"digest of {key}",
        granted=None if request.granted_refund is None else GrantedRefund(id=request.granted_refund.id),
    )
    try:
        recorded = _record(attempt, ActionRequested(asked, context_at(world), opens_keys=lambda _payment: True))
    except RefusalError as refusal:
        body = ActionResponse.failure(
            _ACTIONS[action], psp_reference=f"refused {key}", message=refusal.message, external_url=PAGE
        )
        attempt.answers.append(Answer(request, _json(body.dump()), action))
        return
    operation = recorded.operation
    if recorded.is_new and operation.state is State.INTENT:
        assert operation.id is not None
        attempt.calls.append(Call(operation.id, request))
    else:
        _answer_action(attempt, operation, request, action)


def _answer_action(attempt: Attempt, operation: Operation, request: Event, action: Action) -> None:
    assert attempt.aggregate is not None
    body = action_response(attempt.aggregate, operation, _ACTIONS[action], PAGE)
    attempt.answers.append(Answer(request, _json(body.dump()), action))


def record_call(world: World, attempt: Attempt, call: Call) -> None:
    """Record what the gateway has answered, or that it has not; and answer the webhook that waits for it."""
    aggregate, result = attempt.aggregate, call.result
    assert aggregate is not None
    assert result is not None
    attempt.calls.remove(call)
    operation = aggregate.operation_by_id(OperationRowId(call.operation_id))
    context = context_at(world, answering=None if call.request is None else OperationRowId(call.operation_id))
    is_creation = operation.kind is Kind.CREATE and not isinstance(result, GatewayError)
    returned = CallReturned(OperationRowId(call.operation_id), result, context, waited=call.request is None)
    _record_of_attempt(world, attempt, returned, _aggregates(world) if is_creation else [aggregate])
    if call.request is None:
        return
    if operation.kind is Kind.CREATE:
        attempt.answers.append(Answer(call.request, _json(session_response(aggregate, PAGE).dump())))
    else:
        _answer_action(attempt, operation, call.request, Action[call.request.type.name.removesuffix("_REQUEST")])


def process_notification(world: World, attempt: Attempt, record: Record) -> None:
    """Post what a notification says."""
    aggregate = attempt.aggregate
    if aggregate is None:
        return
    seen = observation_from_record(record.read_as(attempt.order.order_id), "en")
    assert seen is not None
    apply(aggregate, [seen], context_at(world, single=True))
    attempt.store()


def due_operation(world: World, attempt: Attempt) -> Operation | None:
    """Return the operation that the worker looks up next, or sends."""
    operations = () if attempt.aggregate is None else attempt.aggregate.operations
    under_way = {call.operation_id for call in attempt.calls}
    due = (one for one in operations if one.next_poll_at is not None and one.next_poll_at <= world.now)
    return next((one for one in due if one.id not in under_way), None)


@dataclass(frozen=True)
class LookUp:
    """What the gateway has shown for an operation, and which operations had ended by then."""

    operation_id: int
    ended: frozenset[int | None]
    records: Observations | GatewayError


def begin_look_up(attempt: Attempt, operation: Operation, *, fails: bool = False, lags: bool = False) -> LookUp:
    """Return what the gateway shows now of the order of an operation that is due."""
    assert attempt.aggregate is not None
    assert operation.id is not None
    ended = frozenset(one.id for one in attempt.aggregate.operations if one.state.final)
    shown = Observations.from_records(Records([]) if lags else attempt.order.shown(), "en")
    return LookUp(operation.id, ended, OutcomeUnknownError("no answer") if fails else shown)


def needs_no_look_up(operation: Operation) -> bool:
    """Return whether an operation is sent, not looked up."""
    return operation.state is State.WAITING and not needs_look_up_first(operation)


def send_due(world: World, attempt: Attempt, operation: Operation) -> None:
    """Send an operation that has waited for its turn."""
    assert operation.id is not None
    is_sent = _record(attempt, TurnCame(operation.id, context_at(world), can_be_sent=True)) is not None
    if not is_sent and operation.next_poll_at is not None and operation.next_poll_at <= world.now:
        operation.next_poll_at = world.now + SCHEDULE.lease  # the claim of the worker, which is not renewed
    attempt.store()
    if is_sent:
        attempt.calls.append(Call(operation.id, None))


def finish_look_up(world: World, attempt: Attempt, look_up: LookUp) -> None:
    """Post what a look-up has shown, and send what follows from it."""
    looked_up = OrderLookedUp(
        OperationRowId(look_up.operation_id), look_up.ended, look_up.records, context_at(world), scheduled=True
    )
    closing = _record(attempt, looked_up)
    if closing is not None:
        assert closing[1].id is not None
        attempt.calls.append(Call(closing[1].id, None))


def review(world: World, attempt: Attempt) -> None:
    """Review the other attempts to pay the same."""
    _record_of_attempt(world, attempt, AttemptsDue(context_at(world)), _aggregates(world))


def claim_event(world: World, attempt: Attempt) -> int | None:
    """Return the row id of the event that is reported next, if it is due: it counts as an attempt."""
    events = () if attempt.aggregate is None else attempt.aggregate.events
    first = next((event for event in events if event.state is EventState.WAITING), None)
    if first is None or first.next_attempt_at is None or first.next_attempt_at > world.now:
        return None
    return first.id


def prepare_report(world: World, attempt: Attempt, event_id: int) -> Any:
    """Return the claimed event if it is to be reported now; or None."""
    aggregate = attempt.aggregate
    assert aggregate is not None
    aggregate.event_by_id(EventRowId(event_id)).attempts += 1
    due = find_ready_event(aggregate, EventRowId(event_id)) or _record(
        attempt, EventDue(EventRowId(event_id), world.now, SCHEDULE.answer_window)
    )
    if due.awaited is not None:
        read = HistoryRead(due.awaited, history_of(attempt.transaction.events), context_at(world))
        if _record(attempt, read).granted is not None:
            refused_with = request_grant(world, attempt)
            _record(attempt, RefundRerequested(due.awaited, context_at(world), refused_with))
        due = _record(attempt, EventDue(EventRowId(event_id), world.now, SCHEDULE.answer_window, confirmed=True))
    attempt.store()
    return due.event


def request_grant(world: World, attempt: Attempt) -> str | None:
    """Have Saleor request the granted refund; return the code with which it refuses."""
    granted = attempt.granted
    assert granted is not None
    key = f"{ACTION_KEY}{len(attempt.transaction.events)}"
    try:
        request = requests.request_granted_refund(granted, attempt.transaction, world.event_clock, idempotency_key=key)
    except GrantRefusedError as refusal:
        return refusal.code
    update_granted_refund_status(granted)
    receive_action(world, attempt, request, Action.REFUND)
    return None


def record_report(world: World, attempt: Attempt, event_id: int, outcome: ReportOutcome | SaleorError) -> None:
    """Record what Saleor has answered to a report."""
    _record(attempt, EventReported(EventRowId(event_id), outcome, context_at(world)))


def history_of(events: Sequence[Event]) -> tuple[HistoryEntry, ...]:
    """Return Saleor's history, as the app reads it."""
    return tuple(
        HistoryEntry.model_validate(
            {
                "type": event.type.value,
                "pspReference": event.psp_reference or "",
                "amount": {"amount": Decimal(event.amount)},
                "idempotencyKey": event.idempotency_key,
                "createdAt": event.created_at,
            }
        )
        for event in events
    )


def differs_from_register(attempt: Attempt) -> bool:
    """Return whether the night's comparison with the gateway's register finds a difference."""
    if attempt.aggregate is None or attempt.order.payment is None:
        return False
    if open_problems(attempt.aggregate.payment) and any(record.turned for record in attempt.order.records):
        return False  # it still does, and people know
    ours, order = balance(attempt.aggregate.payment.flow, attempt.aggregate.operations), attempt.order
    disputes = {one.state for one in attempt.aggregate.operations if one.kind is Kind.DISPUTE and one.state.final}
    lost = order.disputed > 0
    if (lost and disputes != {State.SUCCESS}) or (not lost and State.SUCCESS in disputes):
        return True
    return (ours.charged, ours.refunded, ours.reserved) != (order.charged, order.refunded, order.reserved)


def compare_with_register(world: World, attempt: Attempt) -> None:
    """Post the whole order, as the night's comparison does with one that differs."""
    shown = Observations.from_records(attempt.order.shown(), "en")
    _record(attempt, OrderShown(shown, context_at(world)))
