"""A payout that is about a payment is shown on the page of that payment's order."""

from decimal import Decimal
from typing import cast

from app.flows.pay_out import pay_out
from app.rules.references import order_id_of
from integration_base_tests.loopback import json_reply
from tests.dashboard.order_page_stack import OrderPageStack
from tests.dashboard.test_order_widget import text
from tests.payments.payouts import MASK, a_payout, payout_record
from tests.payments.shop import Shop


async def test_a_payout_about_a_payment_is_shown_on_its_order(stack: OrderPageStack) -> None:
    order = await stack.order()
    stack.gateway.will_answer(stack.gateway.page())
    session = await stack.saleor.initialize(order.id)
    (about,) = await stack.aggregates_of(session.required_transaction.id)
    assert "Paid out to cards" not in text(await stack.see(order.id))
    account = await stack.services.accounts.change(
        about.payment.account_id, payouts=True, payout_most=Decimal(500), payout_most_a_day=Decimal(500)
    )
    store = await stack.services.installations.get(account.installation_id)
    wish = a_payout(cast("Shop", stack), for_payment_id=about.payment.id)
    record = payout_record(wish) | {"order_id": order_id_of(wish.transaction_id, store.saleor_api_url)}
    stack.gateway.will_answer(json_reply(record | {"pos_id": account.pos_id}))
    await pay_out(stack.services, account, wish)
    shown = text(await stack.see(order.id))
    assert "Paid out to cards 100.00 UAH paid out" in shown
    assert MASK in shown
