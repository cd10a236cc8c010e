"""The identifiers of a payment: its order id at the gateway, and the references of its events in Saleor."""

import base64
import binascii
import hashlib
import re
import uuid

from app.core.ids import GatewayOperationId, OrderId, PspReference
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Kind, Mode, State

_TRANSACTION_PART_LENGTH = 12  # characters of the transaction's UUID, whose next character is the same in all
_RELEASED = "-released"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SUFFIX = re.compile(rf"-(?:released|turn-[0-9]+|problem-[0-9a-f]{{8}}|{'|'.join(State)})$")


def order_id_of(transaction_id: str, saleor_api_url: str) -> OrderId:
    """Return the gateway's order id for a store's transaction: 32 letters and digits, deterministic.

    Secondary operations allow at most 32 characters (gateway interface, Limits). The order id starts with the UUID of
    the Saleor transaction, so that people recognise it. The rest distinguishes stores: a copy of a store has the same
    transactions, and may be served by another app with the same point of sale.
    """
    try:
        _, _, token = base64.b64decode(transaction_id).decode().partition(":")
        name = uuid.UUID(token).hex
    except (binascii.Error, UnicodeDecodeError, ValueError):
        name = hashlib.sha256(transaction_id.encode()).hexdigest()
    both = f"{saleor_api_url} {transaction_id}"
    rest = hashlib.sha256(both.encode()).hexdigest()[: 32 - _TRANSACTION_PART_LENGTH]
    return OrderId(name[:_TRANSACTION_PART_LENGTH] + rest)


def is_same_id(gateway_id: str | None, other: str | None) -> bool:
    """Return whether two ids of the gateway are one: the digits of a UUID may be written in capitals (RFC 9562, 4)."""
    if gateway_id == other or gateway_id is None or other is None:
        return gateway_id == other
    return gateway_id.lower() == other.lower() and _UUID.fullmatch(gateway_id) is not None


def as_known(aggregate: PaymentAggregate, gateway_id: str) -> GatewayOperationId:
    """Return an id of the gateway as this payment has stored it, if it knows it in other letters."""
    if not _UUID.fullmatch(gateway_id):
        return GatewayOperationId(gateway_id)
    known = (*(operation.operation_id for operation in aggregate.operations), aggregate.create.newer_try)
    sought = gateway_id.lower()
    same = next((name for name in known if name is not None and name.lower() == sought), gateway_id)
    return GatewayOperationId(same)


def new_reference(what: str) -> PspReference:
    """Return a unique reference of our own, for an answer that is given before the gateway's id is known."""
    return PspReference(f"{what}-{uuid.uuid4().hex}")


def ensure_reference(payment: Payment, operation: Operation) -> PspReference:
    """Return the reference by which Saleor knows an operation; set it first if there is none (laws of money, 9).

    Once set it never changes, with one exception: if our answer got lost and Saleor's own request has another
    reference, the operation takes that one.

    It is the gateway's id. Where an event must be reported before that is known, it is our own: for a payment the
    order id, by which staff find it at the gateway too. The gateway's response to a hosted payment contains no id, so
    the reference of a hosted payment is always the order id.
    """
    if operation.psp_reference is None:
        creation = operation.kind is Kind.CREATE
        ours = payment.order_id if creation else new_reference(operation.kind.value)
        hosted = creation and payment.mode is Mode.HOSTED
        operation.psp_reference = PspReference(ours if hosted else operation.operation_id or ours)
    return operation.psp_reference


def reference_of_refusal(key: str) -> PspReference:
    """Return the reference of a request that was refused, always the same for the same ``key`` of the request."""
    return PspReference(f"refused-{hashlib.sha256(key.encode()).hexdigest()[:32]}")


def reference_of_request(key: str) -> PspReference:
    """Return the reference of the event which reports that staff requested an operation in the app."""
    return PspReference(f"asked-{hashlib.sha256(key.encode()).hexdigest()[:32]}")


def reference_of_pending(key: str) -> PspReference:
    """Return the reference of the event with the available actions while the outcome of a request is open."""
    return PspReference(f"pending-{hashlib.sha256(key.encode()).hexdigest()[:32]}")


def reference_of_release(capture_reference: str) -> PspReference:
    """Return the reference of the event which reports that a partial capture released the rest of a reservation."""
    return PspReference(f"{capture_reference}{_RELEASED}")


def is_release(reference: str) -> bool:
    """Return True for the reference of such an event."""
    return reference.endswith(_RELEASED)


def reference_of_turn(dispute_reference: str, turn: str) -> PspReference:
    """Return the reference of a further turn of a dispute, whose first has the reference of the dispute itself."""
    return PspReference(f"{dispute_reference}-turn-{turn}")


def reference_of_note(order_id: str, state: State) -> PspReference:
    """Return the reference of the note that a payment has reached a state: staff are notified once per state."""
    return PspReference(f"{order_id}-{state.value}")


def reference_of_subscription_end(order_id: str) -> PspReference:
    """Return the reference of the note that a payment's subscription was cancelled: staff are notified once."""
    return PspReference(f"{order_id}-subscription-cancelled")


def reference_of_problem(order_id: str, what: str) -> PspReference:
    """Return the reference of the note about a problem; ``what`` tells it from other problems of the payment.

    The same problem of a payment is reported once.
    """
    return PspReference(f"{order_id}-problem-{hashlib.sha256(what.encode()).hexdigest()[:8]}")


def base_of_reference(reference: str) -> str:
    """Return the reference without the suffix of a release, note or problem: that of the order or operation."""
    return _SUFFIX.sub("", reference)
