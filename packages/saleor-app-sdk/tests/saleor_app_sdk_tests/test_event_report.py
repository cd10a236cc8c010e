"""Reports that Saleor would refuse cannot be made."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from saleor_app_sdk.graphql import (
    EventReport,
)
from saleor_app_sdk.vocabulary import EventType


@pytest.mark.parametrize(
    "harm",
    [
        {"psp_reference": ""},
        {"psp_reference": "x" * 513},
        {"amount": None},
        {"amount": Decimal("1.005")},
        {"amount": Decimal(-1)},
        {"amount": 1.0},
        {"external_url": "http://app/"},
        {"external_url": ""},
        {"time": "2026-11-21T00:00:00Z"},
    ],
)
def test_a_report_that_saleor_would_refuse_cannot_be_made(harm: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EventReport(
            **({"transaction_id": "x", "type": "CHARGE_SUCCESS", "psp_reference": "x", "amount": Decimal(1)} | harm)
        )


@pytest.mark.parametrize("kind", ["CHARGE_FAILURE", "REFUND_REVERSE", "CHARGE_BACK", "INFO"])
def test_saleor_finds_some_amounts_out_by_itself(kind: str) -> None:
    assert EventReport(transaction_id="x", type=EventType(kind), psp_reference="x").amount is None


def test_a_long_message_is_cut() -> None:
    report = EventReport(transaction_id="x", type=EventType.INFO, psp_reference="x", message="я" * 600)
    assert report.message == "я" * 512
