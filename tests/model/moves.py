"""Everything that can happen next: what people, the gateway, Saleor and the worker do, what goes wrong, and time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from app.core.vocabulary import Flow, Kind, Mode, State
from gateway_client.errors import NotFoundError, OutcomeUnknownError, RateLimitedError, RefusedError
from gateway_client.models import Checkout
from saleor_app_sdk.errors import SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.reports import ReportOutcome
from saleor_app_sdk.testing.records import GrantedRefund
from saleor_app_sdk.testing.rules import requests
from saleor_app_sdk.testing.rules.recording import (
    create_request_event,
    final_event,
    record_action_response,
    record_session_response,
)
from saleor_app_sdk.testing.rules.reports import Report, ReportRefusedError, record_report
from saleor_app_sdk.testing.vocabulary import Action, EventType
from tests.model import app_side
from tests.model.gateway import CANCELLED, DECLINED, EXPIRED, pending_records
from tests.model.world import ACTION_KEY, Attempt, Call, Fault, World, dues_of

_METHODS = {Kind.CAPTURE: "capture", Kind.VOID: "void", Kind.REFUND: "refund"}


@dataclass(frozen=True)
class Move:
    """One thing that can happen; ``fair``: it happens by itself when nothing goes wrong and nobody wants anything."""

    name: str
    make: Callable[[World], None]
    fair: bool = False
    wish: str | None = None
    fault: Fault | None = None
    passes_time: bool = False

    def apply(self, world: World) -> World:
        """Return the world after it; ``world`` stays as it is."""
        after = world.copy()
        self.change(after)
        return after

    def change(self, world: World) -> None:
        """Let it happen in ``world`` itself."""
        if self.wish is not None:
            world.wishes[self.wish] -= 1
        if self.fault is not None:
            world.faults -= 1
        self.make(world)


def moves_of(world: World) -> Iterator[Move]:
    """Yield everything that can happen next."""
    for move in _all_moves(world):
        if move.wish is not None and not world.wishes.get(move.wish):
            continue
        if move.fault is not None and not (world.faults and move.fault in world.allowed):
            continue
        yield move


def next_fair_move(world: World) -> Move | None:
    """Return what happens next when nothing goes wrong any more and nobody wants anything; or None: all is over."""
    return next((move for move in _all_moves(world) if move.fair), None) or next(_night(world), None)


def _night(world: World) -> Iterator[Move]:
    """Yield the comparison with the gateway's register, which finds what no notification has told."""
    for number, attempt in enumerate(world.attempts):
        if app_side.differs_from_register(attempt):
            compare = partial(_compare, number=number)
            yield Move("the night's comparison finds a difference", compare, fair=True)


def _compare(world: World, *, number: int) -> None:
    app_side.compare_with_register(world, world.attempts[number])


def _all_moves(world: World) -> Iterator[Move]:
    for number in range(len(world.attempts)):
        yield from _moves_of_attempt(world, number)
    yield from _time(world)


def _moves_of_attempt(world: World, number: int) -> Iterator[Move]:
    attempt = world.attempts[number]
    who = f"payment {number + 1}: " if len(world.attempts) > 1 else ""

    def move(
        name: str, make: Callable[[World, Attempt], None], *, fair: bool = False, wish: str | None = None,
        fault: Fault | None = None,
    ) -> Move:  # fmt: skip
        return Move(who + name, lambda world: make(world, world.attempts[number]), fair, wish, fault)

    yield from _calls(attempt, move)
    yield from _answers(attempt, move)
    yield from _notifications(attempt, move)
    yield from _work(world, attempt, move)
    yield from _people(world, attempt, move)


_Make = Callable[..., Move]


def _calls(attempt: Attempt, move: _Make) -> Iterator[Move]:
    for place, call in enumerate(attempt.calls):
        what = attempt.operation(call.operation_id).kind.value
        if call.result is None:
            yield move(f"the gateway does it: {what}", partial(_execute, place=place, status="success"), fair=True)
            if what != "cancel" and not (what == "create" and _is_hosted(attempt)):
                yield move(
                    f"the gateway begins it: {what}", partial(_execute, place=place, status="pending"), wish="pending"
                )
                yield move(
                    f"the gateway declines: {what}", partial(_execute, place=place, status="failure"), wish="decline"
                )
            yield move(f"the gateway takes no calls now: {what}", partial(_turn_away, place=place), wish="busy")
            yield move(f"the call is lost: {what}", partial(_lose, place=place), fault=Fault.CALL_LOST)
        else:
            yield move(f"the gateway's answer arrives: {what}", partial(_finish, place=place), fair=True)
            yield move(f"the gateway's answer is lost: {what}", partial(_lose, place=place), fault=Fault.ANSWER_LOST)
        yield move(f"the process dies: {what}", partial(_die, place=place), fault=Fault.PROCESS_DIES)


def _is_hosted(attempt: Attempt) -> bool:
    return attempt.aggregate is not None and attempt.aggregate.payment.mode is Mode.HOSTED


def _execute(world: World, attempt: Attempt, *, place: int, status: str) -> None:
    call, order = attempt.calls[place], attempt.order
    operation = attempt.operation(call.operation_id)
    attempt.calls_made[call.operation_id] = attempt.calls_made.get(call.operation_id, 0) + 1
    if operation.kind is Kind.CREATE:
        record = order.create("purchase" if world.flow is Flow.CHARGE else "auth", operation.amount, world.mode.value)
        call.result = Checkout.from_form(f"https://gateway.example/checkout/{order.order_id}/form")
        if world.mode is Mode.DIRECT:
            order.change(record, status)
            attempt.carried_out[call.operation_id] = record
            call.result = record.read_as(order.order_id)
        return
    payment = order.payment
    if operation.kind is Kind.CANCEL:
        if payment is None:
            call.result = NotFoundError("no such order", code="P-404")
        elif payment.status != "init":
            call.result = RefusedError("invalid operation", code="4150", status_code="4150")
        else:
            order.change(payment, "failure", CANCELLED)
            call.result = payment.read_as(order.order_id)
        return
    if not order.allows(_METHODS[operation.kind], operation.amount):
        call.result = RefusedError("invalid operation", code="4150", status_code="4150")
        return
    record = attempt.carried_out[call.operation_id] = order.operate(_METHODS[operation.kind], operation.amount, status)
    call.result = record.read_as(order.order_id)


def _finish(world: World, attempt: Attempt, *, place: int) -> None:
    app_side.record_call(world, attempt, attempt.calls[place])


def _lose(world: World, attempt: Attempt, *, place: int) -> None:
    attempt.calls[place].result = OutcomeUnknownError("no answer")
    app_side.record_call(world, attempt, attempt.calls[place])


def _turn_away(world: World, attempt: Attempt, *, place: int) -> None:
    attempt.calls[place].result = RateLimitedError("too many requests", pause=600.0)
    app_side.record_call(world, attempt, attempt.calls[place])


def _die(world: World, attempt: Attempt, *, place: int) -> None:
    call = attempt.calls.pop(place)
    if call.request is not None:
        _give_up_answer(world, attempt, call)


def _give_up_answer(world: World, attempt: Attempt, call: Call) -> None:
    """Saleor gets no answer, and records a failure of its own."""
    request = call.request
    assert request is not None
    if attempt.operation(call.operation_id).kind is Kind.CREATE:
        record_session_response(attempt.transaction, request, None, world.event_clock)
    else:
        action = Action[request.type.name.removesuffix("_REQUEST")]
        record_action_response(attempt.transaction, request, action, None, world.event_clock)


def _answers(attempt: Attempt, move: _Make) -> Iterator[Move]:
    for place in range(len(attempt.answers)):
        yield move("Saleor reads the answer", partial(_read, place=place), fair=True)
        yield move("Saleor does not read the answer", partial(_miss, place=place), fault=Fault.ANSWER_UNREAD)
        if attempt.answers[place].action is not None:
            again = partial(_repeat_webhook, place=place)
            yield move("Saleor does not read the answer, and asks again", again, fault=Fault.ANSWER_UNREAD)


def _read(world: World, attempt: Attempt, *, place: int, missed: bool = False) -> None:
    answer = attempt.answers.pop(place)
    body = None if missed else answer.body
    if answer.action is None:
        record_session_response(attempt.transaction, answer.request, body, world.event_clock)
    else:
        record_action_response(attempt.transaction, answer.request, answer.action, body, world.event_clock)


def _miss(world: World, attempt: Attempt, *, place: int) -> None:
    _read(world, attempt, place=place, missed=True)


def _repeat_webhook(world: World, attempt: Attempt, *, place: int) -> None:
    answer = attempt.answers.pop(place)
    assert answer.action is not None
    app_side.receive_action(world, attempt, answer.request, answer.action)


def _notifications(attempt: Attempt, move: _Make) -> Iterator[Move]:
    for place, record in enumerate(attempt.order.notifications):
        what = f"{record.method} {record.status}"
        overtakes = None if place == 0 else Fault.OVERTAKEN
        yield move(f"a notification arrives: {what}", partial(_notify, place=place), fair=place == 0, fault=overtakes)
        if place == 0:
            yield move(
                f"a notification is lost: {what}", partial(_notify, place=0, lost=True), fault=Fault.NOTIFICATION_LOST
            )
            again = partial(_notify, place=0, repeated=True)
            yield move(f"a notification arrives and is repeated: {what}", again, fault=Fault.NOTIFICATION_REPEATED)


def _notify(world: World, attempt: Attempt, *, place: int, lost: bool = False, repeated: bool = False) -> None:
    record = attempt.order.notifications[place]
    if not repeated:
        del attempt.order.notifications[place]
    if not lost:
        app_side.process_notification(world, attempt, record)


def _work(world: World, attempt: Attempt, move: _Make) -> Iterator[Move]:
    operation = app_side.due_operation(world, attempt)
    if attempt.stale is not None:
        yield move("what a look-up has shown is posted", _post_stale, fair=True)
    elif operation is not None:
        if app_side.needs_no_look_up(operation):
            yield move(f"the worker sends what has waited: {operation.kind.value}", _send_due, fair=True)
        else:
            yield move(f"the worker looks up: {operation.kind.value}", _look_up, fair=True)
            yield move("a look-up fails", partial(_look_up, fails=True), fault=Fault.LOOK_UP_FAILS)
            if operation.kind is not Kind.CREATE:  # of a payment the gateway's "no such order" is believed
                yield move("a look-up shows nothing", partial(_look_up, lags=True), fault=Fault.LOOK_UP_LAGS)
            yield move("a look-up takes long", _begin_stale, fault=Fault.STALE_LOOK_UP)
    due = None if attempt.aggregate is None else attempt.aggregate.payment.attempts_due_at
    if due is not None and due <= world.now:
        yield move("the worker compares the attempts", app_side.review, fair=True)
    if app_side.claim_event(world, attempt) is not None:
        yield move("the worker reports to Saleor", _report, fair=True)
        yield move("a report does not reach Saleor", partial(_report, sent=False), fault=Fault.REPORT_NOT_SENT)
        yield move(
            "Saleor records a report, and its answer is lost", partial(_report, lost=True), fault=Fault.REPORT_LOST
        )


def _send_due(world: World, attempt: Attempt) -> None:
    operation = app_side.due_operation(world, attempt)
    assert operation is not None
    app_side.send_due(world, attempt, operation)


def _look_up(world: World, attempt: Attempt, *, fails: bool = False, lags: bool = False) -> None:
    operation = app_side.due_operation(world, attempt)
    assert operation is not None
    app_side.finish_look_up(world, attempt, app_side.begin_look_up(attempt, operation, fails=fails, lags=lags))


def _begin_stale(world: World, attempt: Attempt) -> None:
    operation = app_side.due_operation(world, attempt)
    assert operation is not None
    attempt.stale = app_side.begin_look_up(attempt, operation)
    operation.next_poll_at = world.now + app_side.SCHEDULE.lease


def _post_stale(world: World, attempt: Attempt) -> None:
    look_up, attempt.stale = attempt.stale, None
    app_side.finish_look_up(world, attempt, look_up)


def _report(world: World, attempt: Attempt, *, lost: bool = False, sent: bool = True) -> None:
    event_id = app_side.claim_event(world, attempt)
    assert event_id is not None
    event = app_side.prepare_report(world, attempt, event_id)
    if event is None:
        return
    if not sent:
        app_side.record_report(world, attempt, event_id, SaleorUnreachableError("not reached"))
        return
    report = Report(
        EventType(event.type), event.psp_reference, event.amount, message=event.message, external_url=app_side.PAGE,
        actions=event.available_actions,
    )  # fmt: skip
    transactions = [one.transaction for one in world.attempts]
    outcome: ReportOutcome | SaleorRefusedError | SaleorUnreachableError
    try:
        _, already = record_report(attempt.transaction, report, transactions, world.event_clock)
        outcome = ReportOutcome(already_processed=already)
    except ReportRefusedError as refusal:
        outcome = SaleorRefusedError(refusal.code, refusal.field, str(refusal))
    app_side.record_report(world, attempt, event_id, SaleorUnreachableError("no answer") if lost else outcome)


def _people(world: World, attempt: Attempt, move: _Make) -> Iterator[Move]:
    order = attempt.order
    payment = order.payment
    if not attempt.transaction.events:
        yield move("the shopper begins to pay", _begin, wish="begin")
    elif final_event(attempt.transaction) is None and not attempt.calls and not attempt.answers:
        yield move("the shopper comes back", _come_back, wish="come back")
    is_shown = attempt.aggregate is not None and attempt.aggregate.payment.checkout_url is not None
    if payment is not None and payment.status == "init" and is_shown:
        yield move("the shopper pays", partial(_pay, status="success"), wish="pay")
        yield move("the shopper's card is declined", partial(_pay, status="failure"), wish="decline")
        yield move("the shopper pays, and the bank takes its time", partial(_pay, status="pending"), wish="pending")
    if payment is not None and payment.status == "failure" and payment.code == "4009" and is_shown:
        yield move("the shopper pays with another card", partial(_pay, status="success"), wish="second card")
    yield from _disputes(attempt, move)
    yield from _turns(attempt, move)
    for place, record in enumerate(order.records):
        if record in pending_records(order) and record is not order.dispute:
            yield move(
                f"the bank carries out: {record.method}", partial(_end, place=place, status="success"), fair=True
            )
            yield move(
                f"the bank declines: {record.method}", partial(_end, place=place, status="failure"), wish="decline"
            )
    for action in Action:
        if action.value in attempt.transaction.actions and not attempt.calls and not attempt.answers:
            for part, amount in _PARTS:
                wish = f"{action.value} {part}".lower()
                yield move(f"staff request: {wish}", partial(_request, action=action, amount=amount), wish=wish)
    if attempt.transaction.amounts.charged and not attempt.calls and not attempt.answers:
        yield move("staff request a granted refund", _grant, wish="grant")
    for method in ("capture", "void", "refund"):
        amount = Decimal("100.00") if method != "refund" else Decimal("40.00")
        if order.allows(method, amount):
            yield move(
                f"somebody else does it: {method}",
                partial(_portal, method=method, amount=amount),
                wish=f"portal {method}",
            )


def _disputes(attempt: Attempt, move: _Make) -> Iterator[Move]:
    """A dispute turns by nature: the bank decides, and may decide again."""
    order = attempt.order
    if order.dispute is None and order.charged:
        yield move("the payer opens a dispute", _dispute, wish="dispute")
    elif order.dispute is not None:
        for status, whom in (("success", "payer"), ("failure", "store")):
            if order.dispute.status != status:
                decide = partial(_decide, status=status)
                is_open = order.dispute.status == "pending"
                wish = "decide" if is_open else "decide again"
                yield move(f"the bank decides for the {whom}", decide, fair=is_open and status == "failure", wish=wish)


def _turns(attempt: Attempt, move: _Make) -> Iterator[Move]:
    """A gateway contradicts a final word of its own: once for each record."""
    for place, record in enumerate(attempt.order.records):
        is_word = record.status == "success" or (record.status == "failure" and record.code == DECLINED)
        if is_word and record.method != "dispute" and not record.turned:
            other = "failure" if record.status == "success" else "success"
            yield move(f"the gateway says otherwise: {record.method} {other}", partial(_turn, place=place), wish="turn")


def _turn(world: World, attempt: Attempt, *, place: int) -> None:
    record = attempt.order.records[place]
    record.turned = True
    attempt.order.change(record, "failure" if record.status == "success" else "success")


def _dispute(world: World, attempt: Attempt) -> None:
    attempt.order.operate("dispute", attempt.order.charged, "pending")


def _decide(world: World, attempt: Attempt, *, status: str) -> None:
    assert attempt.order.dispute is not None
    attempt.order.change(attempt.order.dispute, status)


_PARTS = (("all", Decimal("100.00")), ("part", Decimal("40.00")))


def _begin(world: World, attempt: Attempt) -> None:
    kind = EventType(f"{world.flow.value}_REQUEST")
    key = attempt.transaction.idempotency_key
    request = create_request_event(attempt.transaction, kind, Decimal("100.00"), world.event_clock, idempotency_key=key)
    app_side.begin(world, attempt, request)


def _come_back(world: World, attempt: Attempt) -> None:
    kind = EventType(f"{world.flow.value}_REQUEST")
    key = f"process-{len(attempt.transaction.events)}"
    request = create_request_event(attempt.transaction, kind, Decimal("100.00"), world.event_clock, idempotency_key=key)
    aggregate = attempt.aggregate
    if aggregate is None:
        app_side.begin(world, attempt, request)
        return
    create = aggregate.create
    being_created = create.state is State.INTENT and world.now < app_side.SCHEDULE.intent_deadline(create.updated_at)
    if not create.state.final and not being_created:
        app_side.finish_look_up(world, attempt, app_side.begin_look_up(attempt, create))
    app_side.answer_session_from_record(world, attempt, request)


def _pay(world: World, attempt: Attempt, *, status: str) -> None:
    payment = attempt.order.payment
    assert payment is not None
    attempt.order.change(payment, status)


def _end(world: World, attempt: Attempt, *, place: int, status: str) -> None:
    attempt.order.change(attempt.order.records[place], status)


def _request(world: World, attempt: Attempt, *, action: Action, amount: Decimal) -> None:
    key = f"{ACTION_KEY}{len(attempt.transaction.events)}"
    request = requests.request_action(attempt.transaction, action, amount, world.event_clock, idempotency_key=key)
    app_side.receive_action(world, attempt, request, action)


def _grant(world: World, attempt: Attempt) -> None:
    order: Any = None  # whose it is decides nothing here
    attempt.granted = attempt.granted or GrantedRefund("granted-1", order, Decimal("40.00"), "", False, [])
    app_side.request_grant(world, attempt)


def _portal(world: World, attempt: Attempt, *, method: str, amount: Decimal) -> None:
    attempt.order.operate(method, amount, "success")


def _time(world: World) -> Iterator[Move]:
    if any(attempt.calls or attempt.answers or attempt.stale for attempt in world.attempts):
        return  # these take seconds, and have an end of their own
    expiries = [attempt for attempt in world.attempts if _expires_at(attempt) is not None]
    due = world.next_due()
    moments = [moment for moment in (due, *map(_expires_at, expiries)) if moment is not None]
    if not moments:
        return
    earliest = min(moments)
    if earliest <= world.now and due is not None and due <= world.now:
        later = [moment for moment in _all_dues(world) if moment > world.now]
        if later:
            yield Move(
                "time passes, and the worker sleeps", partial(_pass, until=min(later)), fault=Fault.WORKER_SLEEPS
            )
        return
    in_flight = any(attempt.order.notifications for attempt in world.attempts)
    yield Move("time passes", partial(_pass, until=earliest), fair=not in_flight, passes_time=True)


def _all_dues(world: World) -> list[datetime]:
    return [due for attempt in world.attempts for due in dues_of(attempt)]


def _expires_at(attempt: Attempt) -> datetime | None:
    payment, aggregate = attempt.order.payment, attempt.aggregate
    if payment is None or payment.status != "init" or aggregate is None:
        return None
    return aggregate.payment.expires_at


def _pass(world: World, *, until: datetime) -> None:
    world.clock.now = max(world.now, until)
    for attempt in world.attempts:
        expiry = _expires_at(attempt)
        if expiry is not None and expiry <= world.now:
            assert attempt.order.payment is not None
            attempt.order.change(attempt.order.payment, "failure", EXPIRED)
