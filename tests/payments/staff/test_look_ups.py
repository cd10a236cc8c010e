"""Staff look up an order at the gateway, also one that is none of ours."""

from app.flows.staff.look_ups import look_up_order
from tests.payments.fake_gateway import payment
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
