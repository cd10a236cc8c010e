"""The names by which a payment is known: the gateway's order id, and references for Saleor."""

import base64
import binascii
import hashlib
import uuid


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


def new_reference(what: str) -> str:
    """Return a reference of our own that nothing else has, for an answer given before the gateway's id is known."""
    return f"{what}-{uuid.uuid4().hex}"


def reference_of_refusal(key: str) -> str:
    """Return the reference of a question that was refused, always the same for the same question."""
    return f"refused-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def reference_of_release(capture_reference: str) -> str:
    """Return the reference under which the rest of a reservation is told released by a partial capture."""
    return f"{capture_reference}-released"


def reference_of_problem(order_id: str, words: str) -> str:
    """Return a reference for telling staff of a problem: the same problem of a payment is told once."""
    return f"{order_id}-problem-{hashlib.sha256(words.encode()).hexdigest()[:8]}"
