"""The keys of a merchant account are changed here and at the gateway while payments and refunds are under way."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from app.core.vocabulary import State
from app.flows.notifications import Receipt, receive
from app.rules.problems import ACCOUNT_KINDS, open_problems
from gateway_client.sandbox.settings import PointOfSale
from integration_base_tests.waiting import eventually
from tests.payments.fake_gateway import payment
from tests.payments.fake_saleor import amounts
from tests.payments.reconciliation.conftest import POINT, Store
from tests.payments.shop import SECRET, Shop, signed_notification

NEW: dict[str, Any] = {"api_key": "a-new-api-key", "api_secret": "a-new-secret", "endpoints_key": "a-new-endpoints-key"}
PAYMENTS = 10


def new_point() -> PointOfSale:
    secrets = {name: SecretStr(NEW[name]) for name in ("api_secret", "endpoints_key")}
    return POINT.model_copy(update={"api_key": NEW["api_key"], **secrets})


async def paid(store: Store, *, is_known: bool) -> Shop:
    """A shopper has paid; ``is_known``: the app knows it."""
    await (store.complete_payment if is_known else store.pay)()
    return replace(store.shop, services=store.services)


@pytest.mark.law(2, 6, 13)
@pytest.mark.fault("all-at-once")
@pytest.mark.parametrize("gateway_first", [True, False])
async def test_nothing_is_lost_while_keys_change_on_both_sides(store: Store, *, gateway_first: bool) -> None:
    known = [await paid(store, is_known=True) for _ in range(PAYMENTS)]
    unknown = [await paid(store, is_known=False) for _ in range(PAYMENTS)]

    async def is_refunding() -> bool:
        return any(call.path.endswith("/refund") for call in store.sandbox.calls.calls)

    async def change_keys() -> None:
        await eventually(is_refunding)
        if gateway_first:
            store.sandbox.points_of_sale[POINT.pos_id] = new_point()
            await asyncio.sleep(0.05)
        await store.services.accounts.change_keys(store.shop.account.id, **NEW)
        await asyncio.sleep(0.05)
        store.sandbox.points_of_sale[POINT.pos_id] = new_point()

    async def notify(shop: Shop, secret: str) -> Receipt:
        view = await store.control.payment(shop.order_id)
        record = payment(shop.order_id, amount="100.00", payment_id=str(view.payment_id))
        return await receive(store.services, shop.account.id, signed_notification(record, secret))

    first, rest = known[: PAYMENTS // 2], known[PAYMENTS // 2 :]
    await asyncio.gather(
        *(shop.request_action("REFUND", "30.00", "first") for shop in first),
        *(notify(shop, SECRET) for shop in unknown[::2]),
        change_keys(),
        *(shop.request_action("REFUND", "30.00", "first") for shop in rest),
    )
    receipts = [await notify(shop, NEW["api_secret"]) for shop in unknown[1::2]]
    assert {*receipts, await notify(unknown[0], SECRET)} == {Receipt.KEPT, Receipt.REPEATED}
    await store.shop.work()
    for shop in known:
        refund = (await shop.aggregate()).operations[-1]
        assert refund.state.final, "no call was lost: each was done or refused"
        if refund.state is State.FAILURE:
            await shop.request_action("REFUND", "30.00", "second")
    await store.shop.pass_time(hours=2)
    for shop in known:
        assert shop.amounts == amounts(charged="70.00", refunded="30.00")
        [refunded] = (await store.control.payment(shop.order_id)).operations
        assert refunded.amount == Decimal("30.00")
        assert not {problem.kind for problem in open_problems((await shop.aggregate()).payment)} & ACCOUNT_KINDS
    assert [shop.amounts for shop in unknown] == [amounts(charged="100.00")] * PAYMENTS
