"""Who says no to a refund: only the gateway itself can, in its own shape (laws of money, 2)."""

from collections.abc import Callable

import pytest

from app.core.vocabulary import Kind, State
from integration_base_tests.loopback import Reply, json_reply
from tests.payments.fake_gateway import operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop

pytestmark = pytest.mark.law(2)

NOT_THE_GATEWAYS: dict[str, Callable[[str], Reply]] = {
    "a firewall's page": lambda _order: Reply(
        403, b"<html><h1>403 Forbidden</h1></html>", {"Content-Type": "text/html"}
    ),
    "a record that says success": lambda order: json_reply(
        operation("refund", order, "100.00", operation_id="ours"), 400
    ),
}
"""One that cannot be read, and one that can; all others, on paper: ``decisions/test_refusals.py``."""


@pytest.mark.fault("gateway-unknown")
@pytest.mark.parametrize("whose", NOT_THE_GATEWAYS)
async def test_a_refund_that_was_made_has_not_failed_because_somebody_else_says_no(paid_shop: Shop, whose: str) -> None:
    """The gateway did it, and what stands before the gateway answers with a 4xx: staff would refund it twice."""
    paid_shop.gateway.will_answer(NOT_THE_GATEWAYS[whose](paid_shop.order_id))
    answer = await paid_shop.request_action("REFUND", "100.00", "one")
    assert answer.result is None, answer.message  # accepted: pending for Saleor
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    paid_shop.record_refund("100.00", "ours")
    await paid_shop.pass_time(minutes=5)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.SUCCESS
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
    assert paid_shop.gateway.calls == ["refund"]


async def test_staff_read_the_gateways_sentence(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(
        json_reply({"message": "Operation is not possible", "args": {"code": "P-4150", "status_code": "4150"}}, 400)
    )
    answer = await paid_shop.request_action("REFUND", "100.00", "one")
    assert answer.result == "REFUND_FAILURE"
    assert (await paid_shop.operation(Kind.REFUND)).state is State.FAILURE
    assert answer.message == (
        "The gateway refused the request: Operation is not possible. Nothing was charged or changed [P-4150]"
    )
    fields = [{"field_name": "refund_amount", "violation": "at most 5 UAH"}]
    paid_shop.gateway.will_answer(json_reply({"message": "Invalid refund_amount provided", "args": fields}, 400))
    answer = await paid_shop.request_action("REFUND", "100.00", "two")
    assert answer.message == (
        "The gateway refused the request: Invalid refund_amount provided (refund_amount: at most 5 UAH). "
        "Nothing was charged or changed"
    )
