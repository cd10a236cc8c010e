"""Turns the gateway's records into what the mapper judges, and finds the operation that each is about. Pure.

Words are made to fit the columns in which they are kept here, before anything is compared: what is kept must be what
the same word is compared with later. A record is of an operation of ours, or of something that others did (laws of
money, 10).
"""

from dataclasses import replace

from app.db.aggregates import PaymentAggregate
from app.db.columns import fitting
from app.db.tables import Flow, Kind, Mode, Operation, State
from app.gateway.models import OperationRecord, PaymentRecord, Records, Status
from app.gateway.statuses import Kind as CodeKind
from app.gateway.statuses import explain
from app.payments.core.details import Details, paid_with, web_address
from app.payments.core.mapper import Observation
from app.payments.core.saved_cards import token_in
from app.payments.core.subscription import Subscription, charge_of, follow_subscription, is_later_charge

_LONGEST_NAME, _LONGEST_CODE = 100, 40  # what ``Operation`` has room for
_FLOWS = {"purchase": Flow.CHARGE, "auth": Flow.AUTHORIZATION, "credit": Flow.PAYOUT}
_SECONDARY = {"capture": Kind.CAPTURE, "void": Kind.VOID, "refund": Kind.REFUND, "dispute": Kind.DISPUTE}
_STATES = {
    Status.INIT: State.INIT,
    Status.PENDING: State.PENDING,
    Status.SUCCESS: State.SUCCESS,
    Status.FAILURE: State.FAILURE,
}


class Shown(tuple[Observation, ...]):
    """What a look-up shows of an order, and why some of its records could not be read (``unreadable``).

    Where there is any such record, what is not shown may yet have happened.
    """

    unreadable: tuple[str, ...]

    @classmethod
    def of(cls, records: Records, language: str) -> "Shown":
        """Return what the records of an order say; ``language`` is the shopper's."""
        shown = cls(seen for each in records if (seen := seen_in(each, language)) is not None)
        shown.unreadable = records.unreadable
        return shown


def seen_in(record: PaymentRecord | OperationRecord, language: str) -> Observation | None:
    """Return what a record says; None for a kind of operation that no payment of ours has (a card check, say).

    How the record of a dispute looks the interface does not show: it may name an operation, or only the payment.
    """
    words = explain(record.status, record.status_code)
    status_code = None if record.status_code is None else fitting(record.status_code, _LONGEST_CODE)
    kind: Kind | None
    flow = None
    if isinstance(record, PaymentRecord):
        flow = _FLOWS.get(str(record.method))
        kind = Kind.CREATE if flow else _SECONDARY.get(str(record.method))
    else:
        kind = _SECONDARY.get(str(record.method))
    if kind is None:
        return None
    paid, paid_currency, method, card, acts, action_url = None, None, None, None, False, None
    subscription = Subscription.of(record.recurring) if isinstance(record, PaymentRecord) else None
    if isinstance(record, PaymentRecord) and kind is Kind.CREATE:
        paid, paid_currency = record.processed_amount, record.processed_currency
        method, card = paid_with(record), token_in(record)
        acts = bool(record.user_action_required)
        action_url = web_address(record.user_action_url) if acts else None
    return Observation(
        kind=kind,
        state=_STATES[record.status],
        amount=record.amount,
        currency=fitting(record.currency, _LONGEST_NAME),
        pos_id=fitting(record.pos_id, _LONGEST_NAME),
        order_id=fitting(record.order_id, _LONGEST_NAME),
        gateway_id=gateway_id_of(record),
        flow=flow,
        status_code=status_code,
        message=_for_staff(words.reason, status_code),
        shopper_message=words.shopper(language),
        waits_for_shopper=acts or words.kind is CodeKind.SHOPPER,
        action_url=action_url,
        paid=paid,
        paid_currency=None if paid_currency is None else fitting(paid_currency, _LONGEST_NAME),
        method=method,
        details=Details.of(record),
        card=card,
        payment_id=fitting(record.payment_id, _LONGEST_NAME) if record.payment_id else None,
        subscription=subscription,
    )


def gateway_id_of(record: PaymentRecord | OperationRecord) -> str:
    """Return what the gateway calls the operation of which a record tells."""
    named = record.payment_id if isinstance(record, PaymentRecord) else record.operation_id
    return fitting(named, _LONGEST_NAME)


def _for_staff(reason: str, code: str | None) -> str:
    return f"{reason} [{code}]" if code else reason


def as_recorded(aggregate: PaymentAggregate, seen: Observation) -> Observation:
    """Return what is seen as it is recorded of this payment, whose subscription follows it.

    A direct payment has no page on which its shopper could pay later: the gateway works on it from the start. A later
    charge of a subscription has the order's name too, and is told from the payment that has begun it.
    """
    follow_subscription(aggregate.payment, seen.subscription)
    if seen.kind is not Kind.CREATE:
        return seen
    if is_later_charge(aggregate.create, seen.gateway_id, seen.subscription):
        return replace(seen, kind=Kind.RECURRING, flow=None, payment_id=None)
    if aggregate.payment.mode is Mode.DIRECT and seen.state is State.INIT:
        return replace(seen, state=State.PENDING)
    return seen


OTHERS = "gateway:"
"""With this begins the key of an operation that is merely seen."""


def is_ours(operation: Operation) -> bool:
    """Return whether we asked for it, and do not merely see that it was done."""
    return not operation.idempotency_key.startswith(OTHERS)


def owner_of(aggregate: PaymentAggregate, seen: Observation, answering: int | None) -> Operation | None:
    """Return the operation that ``seen`` is about; None: others did it. ``answering``: see ``Posting``."""
    if seen.kind is Kind.CREATE:
        return aggregate.create
    charge_id = charge_of(aggregate, seen.payment_id)
    same_kind = [each for each in aggregate.operations if each.kind is seen.kind]
    for operation in same_kind:
        if operation.operation_id == seen.gateway_id:
            return operation
    if seen.kind is Kind.DISPUTE:
        # One that was known only by the payment's own id, and is told by an id of its own now.
        unnamed = (each for each in same_kind if each.operation_id == aggregate.create.operation_id)
        return next((each for each in unnamed if each.amount == seen.amount), None)
    open_ones = [
        each
        for each in same_kind
        if each.operation_id is None
        and each.charge_id == charge_id
        and (each.state in {State.INTENT, State.UNKNOWN} or each.inferred)
        and (seen.kind is Kind.VOID or each.amount == seen.amount)
    ]
    # The one being answered first; then one that is in flight; what we gave up for silence comes last.
    return min(open_ones, key=lambda each: (each.id != answering, each.inferred), default=None)


def reference_of_others(aggregate: PaymentAggregate, seen: Observation) -> str:
    """Return the reference under which Saleor is told what others did: the gateway's id, if no operation has it."""
    taken = {each.psp_reference for each in aggregate.operations} | {each.operation_id for each in aggregate.operations}
    return f"{seen.gateway_id}-{seen.kind.value}" if seen.gateway_id in taken else seen.gateway_id
