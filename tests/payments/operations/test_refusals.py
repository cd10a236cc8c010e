"""Who says no to a refund: only the gateway itself can, in its own shape (laws of money, 2)."""

from collections.abc import Callable

import pytest

from app.db.tables import Kind, State
from tests.loopback import Reply, said
from tests.payments.fake_gateway import operation, refused
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop

pytestmark = pytest.mark.law(2)

PAGE = Reply(403, b"<html><h1>403 Forbidden</h1></html>", {"Content-Type": "text/html"})
NOT_THE_GATEWAYS: dict[str, Callable[[str], Reply]] = {
    "a firewall's page": lambda _order: PAGE,
    "nothing at all": lambda _order: Reply(400),
    "another API": lambda _order: said({"message": "Not found"}, 404),
    "too many requests, says a proxy": lambda _order: Reply(429, b"slow down"),
    "a register's words": lambda _order: said({"message": "wait", "code": "report_not_ready"}, 400),
    "a record that says success": lambda order: said(operation("refund", order, "100.00", named="ours"), 400),
    "a record that says pending": lambda order: said(
        operation("refund", order, "100.00", "pending", named="ours"), 403
    ),
    "another order's failure": lambda _order: said(operation("refund", "another", "100.00", "failure"), 400),
    "a capture's failure": lambda order: said(operation("capture", order, "100.00", "failure"), 400),
}


@pytest.mark.fault("gateway-unknown")
@pytest.mark.parametrize("whose", NOT_THE_GATEWAYS)
async def test_a_refund_that_was_made_has_not_failed_because_somebody_else_says_no(paid: Shop, whose: str) -> None:
    """The gateway did it, and what stands before the gateway answers with a 4xx: staff would refund it twice."""
    paid.gateway.will(NOT_THE_GATEWAYS[whose](paid.order_id))
    answer = await paid.staff("REFUND", "100.00", "one")
    assert answer.result is None, answer.message  # accepted: pending for Saleor
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN
    paid.refunded("100.00", "ours")
    await paid.later(minutes=5)
    assert (await paid.operation(Kind.REFUND)).state is State.SUCCESS
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")
    assert paid.gateway.calls == ["refund"]


@pytest.mark.parametrize("status", [200, 400, 401, 404, 422, 429])
async def test_the_gateways_own_refusal_is_believed_whatever_its_status(paid: Shop, status: int) -> None:
    paid.gateway.will(refused("Insufficient merchant balance", "P-4099", status))
    answer = await paid.staff("REFUND", "100.00", "one")
    assert answer.result == "REFUND_FAILURE"
    assert (await paid.operation(Kind.REFUND)).state is State.FAILURE


async def test_staff_read_the_gateways_sentence(paid: Shop) -> None:
    paid.gateway.will(
        said({"message": "Operation is not possible", "args": {"code": "P-4150", "status_code": "4150"}}, 400)
    )
    answer = await paid.staff("REFUND", "100.00", "one")
    assert answer.message == (
        "The gateway refused the request: Operation is not possible. Nothing was charged or changed [P-4150]"
    )
    fields = [{"field_name": "refund_amount", "violation": "at most 5 UAH"}]
    paid.gateway.will(said({"message": "Invalid refund_amount provided", "args": fields}, 400))
    answer = await paid.staff("REFUND", "100.00", "two")
    assert answer.message == (
        "The gateway refused the request: Invalid refund_amount provided (refund_amount: at most 5 UAH). "
        "Nothing was charged or changed"
    )
