"""All that a payment meets, as one value: the app's rows, the gateway, Saleor, what is on its way, and the clock."""

import copyreg
import io
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum, auto
from functools import cache
from re import compile as pattern
from typing import Any

from app.core.ids import EventRowId, OperationRowId
from app.core.payment import Account, Operation, PaymentAggregate
from app.core.vocabulary import EventState, Flow, Mode, State
from app.rules.decisions.gateway_call import Outcome
from app.store.tables import MerchantAccount
from gateway_client.errors import GatewayError
from saleor_app_sdk.testing.records import Event, EventClock, GrantedRefund, Transaction
from saleor_app_sdk.testing.vocabulary import Action
from tests.model.gateway import GatewayOrder, Record
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate

ACCOUNT = an_aggregate(Flow.CHARGE, State.INIT).payment.account
TO_PAY = HUNDRED
ACTION_KEY = "action-"
"""How the idempotency keys begin of what Saleor requests of a payment that was made."""


class Fault(Enum):
    """What goes wrong; a scenario says how many times in all."""

    CALL_LOST = auto()  # our request never arrived, and we cannot tell
    ANSWER_LOST = auto()  # the gateway has acted, and its answer never arrived
    PROCESS_DIES = auto()  # ours, while it waits for the gateway
    NOTIFICATION_LOST = auto()
    NOTIFICATION_REPEATED = auto()
    OVERTAKEN = auto()  # a later notification arrives first
    LOOK_UP_FAILS = auto()
    LOOK_UP_LAGS = auto()  # the gateway shows nothing of the order
    STALE_LOOK_UP = auto()  # what a look-up showed is posted after something else has happened
    ANSWER_UNREAD = auto()  # Saleor does not read our answer to its webhook
    REPORT_NOT_SENT = auto()  # our report has not reached Saleor
    REPORT_LOST = auto()  # Saleor has recorded our report, and we have not read that
    WORKER_SLEEPS = auto()  # time passes although work is due


@dataclass
class ModelClock:
    """The time of everybody."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now


class ModelEventClock(EventClock):
    """The clock of Saleor's events, which can be copied with its world."""

    def __init__(self, clock: ModelClock) -> None:
        super().__init__(clock)
        self._issued = 0
        del self._numbers  # an iterator, which cannot be copied

    def event_id(self) -> str:
        """Return the id of the next event."""
        self._issued += 1
        return f"event-{self._issued}"


@dataclass
class Call:
    """A call of ours to the gateway for the operation with that row id; ``request`` is Saleor's that it answers.

    ``result`` is set once the gateway has acted.
    """

    operation_id: int
    request: Event | None
    result: Outcome | GatewayError | None = None


@dataclass
class Answer:
    """An answer of ours to a webhook of Saleor's that Saleor has not read yet; ``action`` None: to a session."""

    request: Event
    body: Any
    action: Action | None = None


@dataclass
class Attempt:
    """One attempt to pay: Saleor's transaction, the app's payment, the gateway's order, and what is between them.

    ``calls_made``: how many calls for each operation have reached the gateway. ``carried_out``: the gateway's record of
    each operation of ours. ``granted`` is a refund that staff have granted on the order.
    """

    transaction: Transaction
    order: GatewayOrder
    aggregate: PaymentAggregate | None = None
    granted: GrantedRefund | None = None
    calls: list[Call] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    calls_made: dict[int, int] = field(default_factory=dict)
    carried_out: dict[int, Record] = field(default_factory=dict)
    stale: Any = None  # what a slow look-up has shown, with its operation's row id

    def operation(self, operation_id: int) -> Operation:
        """Return an operation of the payment."""
        assert self.aggregate is not None
        return self.aggregate.operation_by_id(OperationRowId(operation_id))

    def store(self) -> PaymentAggregate:
        """Do what the store does with a commit: give ids, and complete links."""
        aggregate = self.aggregate
        assert aggregate is not None
        for number, operation in enumerate(aggregate.operations, 1):
            operation.id = OperationRowId(number)
        for about, operation in aggregate.links:
            about.operation_id = operation.id
        aggregate.links.clear()
        for number, event in enumerate(aggregate.events, 1):
            event.id = EventRowId(number)
        for number, problem in enumerate(aggregate.payment.problems, 1):
            problem.id = problem.id or number
        aggregate.cards_to_save.clear()
        aggregate.refused_cards.clear()
        return aggregate


@dataclass
class World:
    """Everything. ``wishes`` is how often people may still do each thing, ``faults`` how much may still go wrong."""

    flow: Flow
    mode: Mode
    clock: ModelClock
    event_clock: ModelEventClock
    attempts: list[Attempt]
    wishes: dict[str, int]
    faults: int
    allowed: frozenset[Fault]

    @property
    def now(self) -> datetime:
        """The time."""
        return self.clock.now

    def copy(self) -> "World":
        """Return a copy that shares nothing but the merchant account."""
        written = io.BytesIO()
        pickler = pickle.Pickler(written, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = _SHARED
        pickler.dump(self)
        copied: World = pickle.loads(written.getbuffer())  # noqa: S301 - our own
        return copied

    def key(self) -> bytes:
        """Return what is the same for worlds in which the same can happen, whatever the time and random references."""
        return pickle.dumps(_freeze(self, self.now, {}))

    def next_due(self) -> datetime | None:
        """Return when the worker has something to do next; or None."""
        return min((due for attempt in self.attempts for due in dues_of(attempt)), default=None)


def dues_of(attempt: Attempt) -> list[datetime]:
    """Return when what the worker does for a payment is due."""
    aggregate = attempt.aggregate
    if aggregate is None:
        return []
    dues = [operation.next_poll_at for operation in aggregate.operations]
    dues.append(aggregate.payment.attempts_due_at)
    first = next((event for event in aggregate.events if event.state is EventState.WAITING), None)
    if first is not None:
        dues.append(first.next_attempt_at)
    return [due for due in dues if due is not None]


def new_world(
    flow: Flow, mode: Mode, *, attempts: int, wishes: dict[str, int], faults: int, allowed: frozenset[Fault]
) -> World:
    """Return a world in which nothing has happened yet."""
    clock = ModelClock()
    transactions = [
        Transaction(f"token-{number}", "UAH", "app", NOON, NOON, f"key-{number}") for number in range(attempts)
    ]
    begun = [Attempt(transaction, GatewayOrder(f"{number:032x}")) for number, transaction in enumerate(transactions, 1)]
    return World(flow, mode, clock, ModelEventClock(clock), begun, dict(wishes), faults, allowed)


def _shared_account() -> Account:
    return ACCOUNT


_SHARED: Any = copyreg.dispatch_table | {MerchantAccount: lambda _account: (_shared_account, ())}
_UNSEEN = frozenset(
    {"message", "shopper_message", "trace_id", "last_error", "loaded_account", "event_clock", "details"}
)
_OURS = pattern(r"(refund|capture|void|cancel|create)-[0-9a-f]{32}")
_PLAIN = frozenset({type(None), bool, int, Decimal})
_LONG_AGO = -timedelta(days=3).total_seconds()


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    return tuple(member.name for member in fields(kind) if member.name not in _UNSEEN)


def _freeze(value: Any, now: datetime, names: dict[str, str]) -> Any:
    """Return a value without texts for people, times relative to ``now``, references by their first appearance."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind in _FROZEN_AS:
        return _FROZEN_AS[kind](value, now, names)
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value):
        return [_freeze(getattr(value, name), now, names) for name in _names_of(kind)]
    return kind.__name__ if isinstance(value, BaseException) else str(value)


def _freeze_text(text: str, _now: datetime, names: dict[str, str]) -> str:
    return _OURS.sub(lambda found: names.setdefault(found[0], f"ours-{len(names)}"), text) if "-" in text else text


def _freeze_time(moment: datetime, now: datetime, _names: dict[str, str]) -> float:
    return max(_LONG_AGO, round((moment - now).total_seconds()))


def _freeze_all(parts: Iterable[Any], now: datetime, names: dict[str, str]) -> Any:
    return [_freeze(part, now, names) for part in parts]


def _freeze_by_name(parts: Mapping[Any, Any], now: datetime, names: dict[str, str]) -> Any:
    return sorted((str(key), _freeze(part, now, names)) for key, part in parts.items())


_FROZEN_AS: Mapping[type, Callable[[Any, datetime, dict[str, str]], Any]] = {
    str: _freeze_text,
    datetime: _freeze_time,
    list: _freeze_all,
    tuple: _freeze_all,
    dict: _freeze_by_name,
    GrantedRefund: lambda granted, _now, _names: granted.status.name,
    frozenset: lambda values, _now, _names: sorted(map(str, values)),
}
