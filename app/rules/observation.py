"""Turns gateway records into observations for the mapper, and finds the operation that each is about. Pure.

Texts are made to fit their columns here, before anything is compared, so that the stored value equals the same text
when it arrives again. A record is either of one of our operations, or of one that was requested outside this app (laws
of money, 10).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from app.core.ids import GatewayOperationId, OperationRowId, PspReference
from app.core.payment import Operation, PaymentAggregate
from app.core.text import fit_text
from app.core.vocabulary import Flow, Kind, Mode, Origin, State
from app.rules.details import Details, payment_method_of, web_address
from app.rules.mapper import Observation
from app.rules.references import as_known, is_same_id, new_reference
from app.rules.saved_cards import card_token_of
from app.rules.stated_times import can_have_happened
from app.rules.status_messages import status_message
from app.rules.subscription import (
    Subscription,
    charge_id_of,
    find_later_charge,
    is_later_charge,
    is_of_unknown_payment,
    update_subscription,
)
from gateway_client.models import OperationRecord, PaymentRecord, Records, Status
from gateway_client.statuses import CodeKind, explain

_LONGEST_NAME, _LONGEST_CODE = 100, 40  # of the columns of ``Operation``
_FLOWS = {"purchase": Flow.CHARGE, "auth": Flow.AUTHORIZATION, "credit": Flow.PAYOUT}
_SECONDARY = {
    "capture": Kind.CAPTURE,
    "void": Kind.VOID,
    "refund": Kind.REFUND,
    "dispute": Kind.DISPUTE,
    "recurrent": Kind.RECURRING,
}
_WITH_OWN_ID = frozenset({Kind.CAPTURE, Kind.VOID, Kind.REFUND})
_CARD_CHECK = "lookup"
_NEVER = datetime.max.replace(tzinfo=UTC)
_STATES = {
    Status.INIT: State.INIT,
    Status.PENDING: State.PENDING,
    Status.SUCCESS: State.SUCCESS,
    Status.FAILURE: State.FAILURE,
}


class Observations(tuple[Observation, ...]):
    """The records that a look-up shows for an order, and why some of them could not be read (``unreadable``).

    If any record is unreadable, an operation that is not shown may still have happened. So it may if several have the
    same id, and cannot be told apart. ``unexplained`` are records of money of which we do not know what it was.
    """

    unreadable: tuple[str, ...]
    unexplained: tuple["UnexplainedMoney", ...]

    @classmethod
    def from_records(cls, records: Records, language: str) -> "Observations":
        """Return the observations from the records of an order; ``language`` is the shopper's."""
        observations = cls(
            seen for record in records if (seen := observation_from_record(record, language)) is not None
        )
        observations.unreadable = (*records.unreadable, *_repeated_ids(observations))
        unexplained = (unexplained_money(record) for record in records)
        observations.unexplained = tuple(money for money in unexplained if money is not None)
        return observations


def _repeated_ids(records: Sequence[Observation]) -> Sequence[str]:
    """Return the ids that several operations of a kind have: which of them a record is about cannot be read from it."""
    made: defaultdict[tuple[Kind, str], set[tuple[Decimal, datetime | None]]] = defaultdict(set)
    for seen in records:
        if seen.kind in _WITH_OWN_ID and seen.state is State.SUCCESS:
            made[seen.kind, seen.gateway_id].add((seen.amount, seen.details.created_at))
    repeated = (named for named, different in made.items() if len(different) > 1)
    return [f"several operations of kind {kind} have the id {gateway_id}" for kind, gateway_id in repeated]


@dataclass(frozen=True, slots=True)
class UnexplainedMoney:
    """What the gateway reports by a ``method``, or with an ``unknown_status``, that we do not know; None: a success."""

    method: str
    amount: Decimal
    currency: str
    gateway_id: GatewayOperationId
    unknown_status: str | None = None


def unexplained_money(record: PaymentRecord | OperationRecord) -> UnexplainedMoney | None:
    """Return what a record says of money that must not be skipped (laws of money, 16); None: it is explained."""
    method = fit_text(str(record.method), _LONGEST_NAME)
    word = _unknown_status(record)
    may_be_money = record.status is Status.SUCCESS or word is not None
    if not may_be_money or method in {*_FLOWS, *_SECONDARY, _CARD_CHECK}:
        return None
    currency = fit_text(record.currency, _LONGEST_NAME)
    return UnexplainedMoney(method, record.amount, currency, gateway_id_of(record), word)


def _unknown_status(record: PaymentRecord | OperationRecord) -> str | None:
    return None if record.unknown_status is None else fit_text(record.unknown_status.strip(), _LONGEST_NAME)


def observation_from_record(record: PaymentRecord | OperationRecord, language: str) -> Observation | None:
    """Return the observation from a record; None for a kind that our payments never have, such as a card check.

    The interface does not show the record of a dispute: it may name an operation, or only the payment.
    """
    explanation = explain(record.status, record.status_code)
    status_code = None if record.status_code is None else fit_text(record.status_code, _LONGEST_CODE)
    kind: Kind | None
    flow = None
    if isinstance(record, PaymentRecord):
        flow = _FLOWS.get(str(record.method))
        kind = Kind.CREATE if flow else _SECONDARY.get(str(record.method))
    else:
        kind = _SECONDARY.get(str(record.method))
    if kind is None:
        return None
    paid, paid_currency, method, card, needs_action, action_url = None, None, None, None, False, None
    subscription = Subscription.from_record(record.recurring) if isinstance(record, PaymentRecord) else None
    if isinstance(record, PaymentRecord) and kind is Kind.CREATE:
        if record.status is Status.SUCCESS:  # until then it is not what was paid
            paid, paid_currency = record.processed_amount, record.processed_currency
        method, card = payment_method_of(record), card_token_of(record)
        needs_action = bool(record.user_action_required)
        action_url = web_address(record.user_action_url) if needs_action else None
    return Observation(
        kind=kind,
        state=_STATES[record.status],
        amount=record.amount,
        currency=_currency(record.currency),
        pos_id=fit_text(record.pos_id, _LONGEST_NAME),
        order_id=fit_text(record.order_id, _LONGEST_NAME),
        gateway_id=gateway_id_of(record),
        flow=flow,
        status_code=status_code,
        message=_staff_message(explanation.reason, status_code),
        shopper_message=status_message(explanation, language),
        waits_for_shopper=needs_action or explanation.kind is CodeKind.SHOPPER,
        action_url=action_url,
        paid=paid,
        paid_currency=None if paid_currency is None else _currency(paid_currency),
        method=method,
        details=Details.from_record(record),
        card=card,
        payment_id=None if kind is Kind.RECURRING else _gateway_id(record.payment_id),
        subscription=subscription,
        unknown_status=_unknown_status(record),
    )


def gateway_id_of(record: PaymentRecord | OperationRecord) -> GatewayOperationId:
    """Return the gateway's id of the operation in a record."""
    return _gateway_id(record.payment_id if isinstance(record, PaymentRecord) else record.operation_id)


def _gateway_id(text: str) -> GatewayOperationId:
    return GatewayOperationId(fit_text(text, _LONGEST_NAME))


def _currency(code: str) -> str:
    return fit_text(code.strip().upper(), _LONGEST_NAME)


def _staff_message(reason: str, code: str | None) -> str:
    return f"{reason} [{code}]" if code else reason


def normalize_observation(aggregate: PaymentAggregate, seen: Observation, arrived_at: datetime) -> Observation:
    """Return an observation in the form in which this payment records it, and update the payment's subscription.

    ``arrived_at``: when the gateway's message arrived, by which the times that it states are checked.

    A direct payment has no page on which its shopper could pay later: the gateway processes it from the start. A later
    charge of a subscription has the same order id as the payment that began it, and becomes a kind of its own. A payout
    has no shopper who could do anything.
    """
    update_subscription(aggregate.payment, seen.subscription)
    seen = _with_known_ids(aggregate, replace(seen, details=seen.details.as_of(arrived_at)))
    if seen.kind is Kind.RECURRING and find_later_charge(aggregate, seen.details.payment_id) is not None:
        named_so = GatewayOperationId(seen.details.payment_id or "")
        return replace(seen, gateway_id=named_so)  # as an operation that names its payment
    if seen.kind is not Kind.CREATE:
        return seen
    if aggregate.payment.flow is Flow.PAYOUT:
        seen = replace(seen, waits_for_shopper=False, action_url=None)
    created_at = seen.details.created_at
    if created_at is not None and not can_have_happened(created_at, aggregate.payment, arrived_at):
        created_at = None
    if is_later_charge(aggregate, seen.gateway_id, seen.subscription, created_at, seen.state):
        return replace(seen, kind=Kind.RECURRING, flow=None, payment_id=None)
    if aggregate.payment.mode is Mode.DIRECT and seen.state is State.INIT:
        return replace(seen, state=State.PENDING)
    return seen


def _with_known_ids(aggregate: PaymentAggregate, seen: Observation) -> Observation:
    stated = {name for name in (seen.gateway_id, seen.payment_id, seen.details.payment_id) if name is not None}
    known = {name: as_known(aggregate, name) for name in stated}
    if all(name == stored for name, stored in known.items()):
        return seen
    details = seen.details.model_copy(update={"payment_id": known.get(seen.details.payment_id or "")})
    payment_id = None if seen.payment_id is None else known[seen.payment_id]
    return replace(seen, gateway_id=known[seen.gateway_id], payment_id=payment_id, details=details)


def posting_order(seen: Observation) -> tuple[int, datetime]:
    """Return the order in which the records of an order are posted: each after what it can only follow.

    Payments first, and of several those that succeeded: cards declined on its page say nothing about it. The oldest of
    them goes first: the later charges of a subscription follow the one that began it. What gives money back goes last.
    Of two final words about one operation the success goes first, so that staff are asked which is true (laws of money,
    7) wherever the gateway lists them; only disputes turn by nature, and keep the gateway's order.
    """
    if seen.kind is Kind.DISPUTE:
        return 6, _NEVER
    is_failure = int(seen.state is State.FAILURE)
    if seen.kind is Kind.CREATE:
        return is_failure, seen.details.created_at or _NEVER
    return (4 if seen.kind is Kind.REFUND else 2) + is_failure, _NEVER


def is_first_charge(aggregate: PaymentAggregate, seen: Observation, arrived_at: datetime) -> bool:
    """Return True for the charge that began the subscription, when the payment is bound to a later one.

    That one was reported first. It was created after this one had succeeded, so they are no two cards of one page.
    Times that cannot be say nothing of that (laws of money, 15).
    """
    create = aggregate.create
    is_success = seen.kind is Kind.CREATE and create.state is seen.state is State.SUCCESS
    if not is_success or create.operation_id in {None, seen.gateway_id} or seen.subscription is None:
        return False
    succeeded_at, created_at = seen.details.processed_at, Details.from_row(create.details).created_at
    if succeeded_at is None or created_at is None or succeeded_at > created_at:
        return False
    can_be = all(can_have_happened(stated, aggregate.payment, arrived_at) for stated in (succeeded_at, created_at))
    return can_be and seen.subscription.recurring_id == aggregate.payment.recurring_id


def is_ours(operation: Operation) -> bool:
    """Return True when this app requested the operation, False when it was only observed at the gateway."""
    return operation.requester is not Origin.GATEWAY


def is_superseded_attempt(
    aggregate: PaymentAggregate, seen: Observation, records: Sequence[Observation], *, is_single_record: bool
) -> bool:
    """Return True for a record of another card that was tried on the page, which says nothing about the payment.

    Where the gateway counts each card as a payment, all of them have the same order. Beside a card that has paid, none
    of the others counts, whenever it is reported; beside one that is still processed, a decline does not, as long as
    the whole order (``records``, unless it ``is_single_record``) shows that one.
    """
    create = aggregate.create
    if seen.kind is not Kind.CREATE or create.operation_id in {None, seen.gateway_id}:
        return False
    if create.state is State.SUCCESS:
        return seen.state is not State.SUCCESS
    is_shown = any(
        is_same_id(record.gateway_id, create.operation_id) and record.state is not State.FAILURE
        for record in records
        if record.kind is Kind.CREATE
    )
    return create.state is State.PENDING and seen.state is State.FAILURE and (is_single_record or is_shown)


def bind_attempt(aggregate: PaymentAggregate, operation: Operation, seen: Observation, state: State) -> None:
    """Store the gateway's id of an operation that is now in ``state``, if it has none yet or another card counts.

    An id by which Saleor knows another operation already is no reference of this one (laws of money, 9).
    """
    is_another_card = operation.kind is Kind.CREATE and state is not State.FAILURE
    if operation.operation_id is None or is_another_card:
        operation.operation_id = seen.gateway_id
        as_reference = PspReference(seen.gateway_id)
        if any(known.psp_reference == as_reference for known in aggregate.operations if known is not operation):
            operation.psp_reference = operation.psp_reference or new_reference(operation.kind.value)


def find_matching_operation(
    aggregate: PaymentAggregate, seen: Observation, answered_operation_id: OperationRowId | None
) -> Operation | None:
    """Return the operation that ``seen`` is about; None when it was requested outside this app.

    ``answered_operation_id``: see ``DecisionContext``.
    """
    if seen.kind is Kind.CREATE:
        return aggregate.create
    charge_id = charge_id_of(aggregate, seen.payment_id)
    same_kind = [operation for operation in aggregate.operations if operation.kind is seen.kind]
    named = [operation for operation in same_kind if operation.operation_id == seen.gateway_id]
    meant = next((operation for operation in named if not _is_declined_beside(operation, seen)), None)
    if meant is not None:
        return meant
    if answered_operation_id is None and is_of_unknown_payment(aggregate, seen.payment_id, seen.kind):
        return None
    if seen.kind is Kind.DISPUTE:
        # A dispute that was known only by the id of the payment or charge, and is now reported with an id of its own.
        known_as = charge_id or aggregate.create.operation_id
        unnamed = (operation for operation in same_kind if operation.operation_id == known_as)
        return next((operation for operation in unnamed if operation.amount == seen.amount), None)
    open_ones = [
        known
        for known in same_kind
        if known.operation_id is None
        and known.charge_id == charge_id
        and (known.state in {State.INTENT, State.UNKNOWN} or known.inferred or known.decision is not None)
        and (seen.kind is Kind.VOID or known.amount == seen.amount)
    ]
    # First the operation being answered, then one that is in flight, last one that ended without the gateway's word.
    named_so = named[0] if named else None
    return min(open_ones, key=lambda known: (known.id != answered_operation_id, known.state.final), default=named_so)


def _is_declined_beside(operation: Operation, seen: Observation) -> bool:
    """Return True for the failure of another operation under the id of this one, which has succeeded.

    A gateway may give one id to all refunds of a payment. What a record is about then shows in its amount and time.
    """
    if operation.kind not in _WITH_OWN_ID or (operation.state, seen.state) != (State.SUCCESS, State.FAILURE):
        return False
    ours, theirs = Details.from_row(operation.details).created_at, seen.details.created_at
    return operation.amount != seen.amount or (None not in {ours, theirs} and ours != theirs)


def reference_of_external_operation(aggregate: PaymentAggregate, seen: Observation) -> PspReference:
    """Return the reference of an operation from outside: the gateway's id, unless another operation has it already."""
    taken = {operation.psp_reference for operation in aggregate.operations} | {
        operation.operation_id for operation in aggregate.operations
    }
    return PspReference(f"{seen.gateway_id}-{seen.kind.value}" if seen.gateway_id in taken else seen.gateway_id)
