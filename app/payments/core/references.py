"""The names by which a payment is known: the gateway's order id, and references for Saleor."""

import base64
import binascii
import hashlib
import re
import uuid

from app.db.columns import fitting
from app.db.tables import Kind, Mode, Operation, Payment, State

_RECOGNISED = 12  # characters of the transaction's name; a UUID's next one is the same in all
_SAID_OF_IT = re.compile(rf"-(?:released|problem-[0-9a-f]{{8}}|{'|'.join(State)})$")


def order_id_of(transaction_id: str, saleor_api_url: str) -> str:
    """Return the gateway's order id for a store's transaction: 32 letters and digits, always the same for the same two.

    Secondary operations allow at most 32 characters (gateway interface, Limits). Saleor's transactions are named by a
    UUID, with which the order id begins, so that people recognise it. The rest tells stores apart: a copy of a store
    has the same transactions, and may be served by another app with the same point of sale.
    """
    try:
        _, _, token = base64.b64decode(transaction_id, validate=True).decode().partition(":")
        name = uuid.UUID(token).hex
    except (binascii.Error, UnicodeDecodeError, ValueError):
        name = hashlib.sha256(transaction_id.encode()).hexdigest()
    both = f"{saleor_api_url} {transaction_id}"
    return name[:_RECOGNISED] + hashlib.sha256(both.encode()).hexdigest()[: 32 - _RECOGNISED]


def new_reference(what: str) -> str:
    """Return a reference of our own that nothing else has, for an answer given before the gateway's id is known."""
    return f"{what}-{uuid.uuid4().hex}"


def keep_reference(payment: Payment, operation: Operation) -> str:
    """Return the reference by which Saleor knows an operation. It is given once and for ever (laws of money, 9).

    Only Saleor changes it: where its own request has another one, because our answer got lost, that is the operation's.

    It is the gateway's id. Where Saleor must be told before that is known, it is our own: for a payment the order id,
    by which staff find it at the gateway too. The answer to a hosted payment names no id, so it is always that one.
    """
    if operation.psp_reference is None:
        creation = operation.kind is Kind.CREATE
        ours = payment.order_id if creation else new_reference(operation.kind.value)
        hosted = creation and payment.mode is Mode.HOSTED
        operation.psp_reference = ours if hosted else operation.operation_id or ours
    return operation.psp_reference


def reference_of_refusal(key: str) -> str:
    """Return the reference of a question that was refused, always the same for the same question."""
    return f"refused-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def reference_of_request(key: str) -> str:
    """Return the reference under which Saleor is told that staff asked for something at our own door."""
    return f"asked-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def reference_of_pending(key: str) -> str:
    """Return the reference under which Saleor is told what is possible while the outcome of a request is open."""
    return f"pending-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def reference_of_release(capture_reference: str) -> str:
    """Return the reference under which the rest of a reservation is told released by a partial capture."""
    return f"{capture_reference}-released"


def reference_of_note(order_id: str, state: State) -> str:
    """Return a reference for telling staff once that a payment has come so far."""
    return f"{order_id}-{state.value}"


def reference_of_subscription_end(order_id: str) -> str:
    """Return the reference for telling staff once that a payment's subscription was cancelled."""
    return f"{order_id}-subscription-cancelled"


def reference_of_problem(order_id: str, words: str) -> str:
    """Return a reference for telling staff of a problem: the same problem of a payment is told once."""
    return f"{order_id}-problem-{hashlib.sha256(fitting(words).encode()).hexdigest()[:8]}"


def named_in(reference: str) -> str:
    """Return the order or operation that a reference of a release, note or problem is made of; else itself."""
    return _SAID_OF_IT.sub("", reference)
