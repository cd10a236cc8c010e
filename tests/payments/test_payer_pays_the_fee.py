"""The payer bears the gateway's fee: what was paid is the requested amount, and the store receives that (8)."""

from decimal import Decimal

import pytest

from app.rules.problems import problem_messages
from tests.payments.fake_gateway import payment
from tests.payments.shop import TOTAL, Shop

WITH_FEE = "578.05"  # of 569.50, 1.5 % are 8.5425: rounded up to what the gateway may make of it
MORE_THAN_THE_FEE = "578.06"


async def pay(shop: Shop, flow: str = "CHARGE", **record: str) -> tuple[str, list[str]]:
    """Let a shopper pay on a page; return Saleor's answer to transactionProcess and what staff read."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow=flow)
    method = "purchase" if flow == "CHARGE" else "auth"
    await shop.notify(payment(shop.order_id, method=method, **record))
    await shop.work()
    answer = await shop.process_session()
    return answer.result, [str(message) for message in problem_messages((await shop.aggregate()).payment)]


@pytest.mark.law(8)
@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
@pytest.mark.parametrize(
    "record",
    [
        {"amount": WITH_FEE},
        {"amount": WITH_FEE, "processed_amount": WITH_FEE, "processed_currency": "UAH"},
        {"amount": TOTAL, "processed_amount": WITH_FEE},
        {"amount": TOTAL},
        {"amount": "569.51"},
    ],
)
async def test_the_requested_amount_is_booked_where_the_payer_pays_the_fee(
    shop: Shop, flow: str, record: dict[str, str]
) -> None:
    await shop.services.accounts.change(shop.account.id, payer_fee_percent=Decimal("1.50"))

    assert await pay(shop, flow, **record) == (f"{flow}_SUCCESS", [])
    assert Decimal(TOTAL) in (shop.amounts.charged, shop.amounts.authorized)
    assert (await shop.aggregate()).create.amount == Decimal(TOTAL)


@pytest.mark.law(8)
@pytest.mark.parametrize("amount", [MORE_THAN_THE_FEE, "569.49"])
async def test_more_than_the_fee_or_less_than_requested_is_for_staff(shop: Shop, amount: str) -> None:
    await shop.services.accounts.change(shop.account.id, payer_fee_percent=Decimal("1.50"))

    assert await pay(shop, amount=amount) == (
        "CHARGE_ACTION_REQUIRED",
        [f"The gateway reports {amount} UAH, but 569.50 UAH was requested."],
    )


@pytest.mark.law(8)
async def test_without_the_option_no_fee_is_expected(shop: Shop) -> None:
    result, read = await pay(shop, amount="569.51")

    assert result == "CHARGE_ACTION_REQUIRED"
    assert len(read) == 1
