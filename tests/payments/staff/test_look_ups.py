"""Staff look up an order at the gateway, also one that is none of ours."""

import pytest

from app.core.vocabulary import Kind
from app.flows.staff.look_ups import look_up_operation, look_up_order
from gateway_client.models import Method
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation, payment
from tests.payments.second_account import add_second_account
from tests.payments.shop import Shop


async def test_only_an_order_of_the_account_is_posted_and_any_other_is_shown(paid_shop: Shop) -> None:
    paid_shop.gateway.book["the-order-of-others"] = [payment("the-order-of-others")]
    theirs = await look_up_order(paid_shop.services, paid_shop.account, "the-order-of-others")
    assert ([record.order_id for record in theirs.records], theirs.posted) == (["the-order-of-others"], ())
    ours = await look_up_order(paid_shop.services, paid_shop.account, paid_shop.order_id)
    assert ours.posted == (paid_shop.order_id,)
    elsewhere = await look_up_order(paid_shop.services, await add_second_account(paid_shop), paid_shop.order_id)
    assert elsewhere.posted == ()


@pytest.mark.law(8)
async def test_what_another_account_shows_of_our_order_is_posted_to_nothing(paid_shop: Shop) -> None:
    """A gateway may show an account what another one of its merchant has done."""
    order_id = paid_shop.order_id
    second = await add_second_account(paid_shop)
    refund = json_reply([operation("refund", order_id, "100.00")])
    paid_shop.gateway.will_answer_look_ups(refund, refund)
    elsewhere = await look_up_operation(paid_shop.services, second, order_id, Method.REFUND)
    assert ([record.order_id for record in elsewhere.records], elsewhere.posted) == ([order_id], ())
    assert [one for one in (await paid_shop.aggregate()).operations if one.kind is Kind.REFUND] == []
    ours = await look_up_operation(paid_shop.services, paid_shop.account, order_id, Method.REFUND)
    assert ours.posted == (order_id,)
