"""The names by which a payment is known: the gateway's order id, and references for Saleor."""

import base64
import binascii
import hashlib
import re
import uuid

from app.ledger.sheets import Sheet
from app.ledger.tables import Kind, Mode, Operation, Payment, State
from app.payments.outcome.closing import page_is_unknown

_LETTERS = "ghijklmnopqrstuvwxyz"
_SAID_OF_IT = re.compile(rf"-(?:released|problem-[0-9a-f]{{8}}|{'|'.join(State)})$")


def order_id_of(transaction_id: str) -> str:
    """Return the gateway's order id for a Saleor transaction: 32 letters and digits, always the same for the same id.

    Secondary operations allow at most 32 characters (gateway interface, Limits). Saleor's transactions are named by a
    UUID, which fits exactly; any other id is hashed.
    """
    try:
        _, _, token = base64.b64decode(transaction_id, validate=True).decode().partition(":")
        return uuid.UUID(token).hex
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return hashlib.sha256(transaction_id.encode()).hexdigest()[:32]


def fresh_order_id(transaction_id: str, attempt: int) -> str:
    """Return the order id of a later attempt at the same payment: 32 letters and digits, for ``attempt`` 2 to 21.

    It differs from the first by one character, so that people recognise it. The 13th digit of Saleor's ids says only
    that they are random UUIDs ("4"); in its place stands a letter that no hexadecimal number has.
    """
    first = order_id_of(transaction_id)
    return f"{first[:12]}{_LETTERS[attempt - 2]}{first[13:]}"


def new_reference(what: str) -> str:
    """Return a reference of our own that nothing else has, for an answer given before the gateway's id is known."""
    return f"{what}-{uuid.uuid4().hex}"


def keep_reference(payment: Payment, operation: Operation) -> str:
    """Return the reference by which Saleor knows an operation. It is given once and for ever (laws of money, 9).

    It is the gateway's id. Where Saleor must be told before that is known, it is our own: for a payment the order id,
    by which staff find it at the gateway too. The answer to a hosted payment names no id, so it is always that one.
    """
    if operation.psp_reference is None:
        creation = operation.kind is Kind.CREATE
        ours = payment.order_id if creation else new_reference(operation.kind.value)
        hosted = creation and payment.mode is Mode.HOSTED
        operation.psp_reference = ours if hosted else operation.operation_id or ours
    return operation.psp_reference


def keep_if_told(sheet: Sheet) -> None:
    """Keep the reference that the answer to a session names: none, as long as nobody knows of a page.

    Another page may be opened then under another order id, and nothing can take back what Saleor has been told.
    """
    if not page_is_unknown(sheet):
        keep_reference(sheet.payment, sheet.create)


def reference_of_refusal(key: str) -> str:
    """Return the reference of a question that was refused, always the same for the same question."""
    return f"refused-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def reference_of_wish(key: str) -> str:
    """Return the reference under which Saleor is told that staff asked for something at our own door."""
    return f"asked-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def reference_of_release(capture_reference: str) -> str:
    """Return the reference under which the rest of a reservation is told released by a partial capture."""
    return f"{capture_reference}-released"


def reference_of_note(order_id: str, state: State) -> str:
    """Return a reference for telling staff once that a payment has come so far."""
    return f"{order_id}-{state.value}"


def reference_of_problem(order_id: str, words: str) -> str:
    """Return a reference for telling staff of a problem: the same problem of a payment is told once."""
    return f"{order_id}-problem-{hashlib.sha256(words.encode()).hexdigest()[:8]}"


def named_in(reference: str) -> str:
    """Return the order or operation that a reference of a release, note or problem is made of; else itself."""
    return _SAID_OF_IT.sub("", reference)
