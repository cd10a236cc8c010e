"""What a subscription selects of an event."""

from saleor_app_sdk.testing.selection import select

EVENT = {
    "__typename": "TransactionRefundRequested",
    "transaction": {"__typename": "TransactionItem", "id": "1", "events": [{"id": "a", "message": "torn"}]},
}


def test_of_a_field_that_is_selected_twice_there_is_all_that_either_wants() -> None:
    query = """
        subscription { event { ... on TransactionRefundRequested {
            transaction { ...Facts events { message } }
            transaction { id }
        } } }
        fragment Facts on TransactionItem { events { id } }
    """
    assert select(query, EVENT).body == {"transaction": {"events": [{"id": "a", "message": "torn"}], "id": "1"}}
