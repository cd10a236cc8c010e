"""Who wanted an operation is a column; of rows of the version before, which had none, it is read from their keys."""

from typing import Any

import pytest

from app.core.vocabulary import Kind, Origin, State
from tests.payments.aggregates import an_operation


@pytest.mark.parametrize(
    ("columns", "requester"),
    [
        ({"idempotency_key": "gateway:4711", "asked_by_saleor": False}, Origin.GATEWAY),
        ({"idempotency_key": "staff:1", "asked_by_saleor": False, "asked_by": "olena@example.com"}, Origin.STAFF),
        ({"idempotency_key": "create", "asked_by": "olena@example.com"}, Origin.STAFF),
        ({"idempotency_key": "close-lost-page", "asked_by_saleor": False}, Origin.APP),
        ({"idempotency_key": "a-key-of-saleors"}, Origin.SALEOR),
    ],
)
def test_a_row_of_the_version_before_says_who_wanted_it(columns: dict[str, Any], requester: Origin) -> None:
    assert an_operation(Kind.REFUND, State.SUCCESS, **columns).requester is requester


@pytest.mark.parametrize("origin", Origin)
def test_the_column_counts_whatever_the_key_looks_like(origin: Origin) -> None:
    """A key of Saleor's may begin with anything."""
    row = an_operation(Kind.REFUND, State.SUCCESS, origin=origin, idempotency_key="gateway:4711", asked_by="x")
    assert row.requester is origin
