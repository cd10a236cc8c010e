"""What an operation requests: as it is stored, and read again."""

import ast
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import app
from app.core.request import RequestDetails, with_split

APP = Path(app.__path__[0])
SUMS = st.dictionaries(st.text(min_size=1, max_size=8), st.decimals("0.01", "999.99", places=2), max_size=3)
ITEMS = st.lists(st.fixed_dictionaries({"sub_merchant_id": st.text(max_size=4)}), max_size=2).map(tuple)


@given(
    st.builds(
        RequestDetails,
        amount=st.none() | st.decimals("0.01", "999.99", places=2),
        split=ITEMS,
        products=ITEMS,
        receipt_delivery=st.none() | st.just("email"),
        comment=st.none() | st.text(min_size=1),
        is_full=st.booleans(),
        is_rest=st.booleans(),
        chosen_shares=st.none() | SUMS,
        line_worth=st.none() | SUMS,
        closing_sentence=st.none() | st.just("The page was closed"),
    )
)
def test_details_that_are_stored_are_read_again(details: RequestDetails) -> None:
    assert RequestDetails.read(details.write("order", "UAH")) == details


def test_request_of_a_payment_is_read_from_what_was_sent_to_the_gateway() -> None:
    sent: dict[str, Any] = {
        "method": "purchase",
        "amount": "100.00",
        "description": "Order 42",
        "payload": '{"checkout": "Q2hlY2tvdXQ6MQ=="}',
        "f_receipt_delivery": "email",
        "split": [{"sub_merchant_id": "potter", "amount": "100.00"}],
    }
    requested = RequestDetails.read(sent)
    assert (requested.amount, requested.description) == (Decimal("100.00"), "Order 42")
    assert requested.is_of_checkout
    assert requested.receipt_delivery == "email"
    assert requested.split == ({"sub_merchant_id": "potter", "amount": "100.00"},)
    assert not RequestDetails.read({"payload": '{"order": "T3JkZXI6MQ=="}'}).is_of_checkout
    assert not RequestDetails.read({}).is_of_checkout


def test_other_shares_leave_the_rest_of_a_request_as_it_was() -> None:
    """Also what only another version knows."""
    stored = {"amount": "100.00", "comment": "broken", "by_another_version": 1, "split": []}
    assert with_split(stored, ({"sub_merchant_id": "potter"},)) == {**stored, "split": [{"sub_merchant_id": "potter"}]}


def _reads_of_members(source: str) -> list[int]:
    """Return the lines that read a member of something's ``request`` by its name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        subject = node.value if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            subject = node.func.value
        if isinstance(subject, ast.Attribute) and subject.attr == "request":
            found.append(subject.lineno)
    return found


def test_members_of_requests_are_named_in_one_module() -> None:
    assert _reads_of_members('operation.request["whole"]\nbefore = create.request.get("payload")') == [1, 2]
    modules = [
        path for room in ("core", "rules", "flows", "reports", "web", "worker") for path in APP.glob(f"{room}/**/*.py")
    ]
    reading = {str(path): lines for path in modules if (lines := _reads_of_members(path.read_text()))}
    assert reading == {}
