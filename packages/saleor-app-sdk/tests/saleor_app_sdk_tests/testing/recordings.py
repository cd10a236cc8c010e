"""What the real Saleor did: the recordings in ``cassettes/saleor``, read with exact numbers."""

import json
from decimal import Decimal
from typing import Any

from integration_base_tests.places import REPOSITORY
from saleor_app_sdk.testing.records import Amounts

FOLDER = REPOSITORY / "cassettes" / "saleor"

FIELDS = {
    "authorizedAmount": "authorized",
    "authorizePendingAmount": "authorize_pending",
    "chargedAmount": "charged",
    "chargePendingAmount": "charge_pending",
    "refundedAmount": "refunded",
    "refundPendingAmount": "refund_pending",
    "canceledAmount": "canceled",
    "cancelPendingAmount": "cancel_pending",
}


def recording(name: str) -> Any:
    """Return a recording; its amounts are Decimal."""
    return json.loads((FOLDER / f"{name}.json").read_text(), parse_float=Decimal)


def answer_with_floats(name: str, case: str) -> Any:
    """Return what the app answered in that case, its numbers being floats as in Saleor."""
    return json.loads((FOLDER / f"{name}.json").read_text())[case]["our_answer"]


def amounts(recorded: dict[str, Decimal]) -> dict[str, Decimal]:
    """Return recorded amounts in our field names, two decimals (Saleor shows no more than the currency has)."""
    return {FIELDS[name]: Decimal(value).quantize(Decimal("0.01")) for name, value in recorded.items()}


def as_saleor_shows(held: Amounts) -> dict[str, Decimal]:
    """Return our amounts as Saleor shows them."""
    return {name: getattr(held, name).quantize(Decimal("0.01")) for name in FIELDS.values()}
