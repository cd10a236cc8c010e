"""Staff see the subscription that a payment has begun, give one of its charges back, and cancel it."""

import re

from integration_base_tests.loopback import json_reply
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import OTHER_STORE, StaffClient, other_store
from tests.dashboard.payments.test_payment_page import text
from tests.payments.fake_gateway import BROKEN, operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_subscriptions import ACTIVE, CANCELLED, charge, subscribed
from tests.payments.shop import TOTAL

ENDED = "The subscription was cancelled. Nothing more will be charged for it."


async def test_a_later_charge_is_shown_and_given_back(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await subscribed(shop)
    address = f"/payments/{shop.order_id}"
    assert "Nothing has been charged since the first payment." in text(await staff_client.see(address))
    await shop.notify(charge(shop, "second"))
    await shop.work()
    page = await staff_client.see(address)
    assert "Status active: the gateway charges it automatically" in text(page)
    assert "charges 569.50 UAH for the subscription" in text(page)
    assert re.search('<button>Refund now<span class="away"> <time [^>]*>[^<]+</time></span></button>', page.text)
    hidden = '<input type="hidden" name="%s" value="(%s)">'
    forms = re.findall(hidden % ("key", "[0-9a-f]{32}") + r"\s*" + hidden % ("charge", "second"), page.text)
    shop.gateway.will_answer(
        json_reply(operation("refund", shop.order_id, "69.50", operation_id="back", payment_id="second"))
    )
    for _ in range(2):
        answer = await staff_client.do(f"{address}/refund", key=forms[0][0], charge="second", amount="69.50")
        assert "The amount was refunded." in text(answer)
    assert "569.50 UAH 69.50 UAH second" in text(answer)
    await shop.work()
    assert shop.amounts == amounts(charged="1069.50", refunded="69.50")


@one_database
async def test_it_is_cancelled_once_whoever_presses_twice(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await subscribed(shop)
    address = f"/payments/{shop.order_id}/cancel-subscription"
    shop.gateway.will_answer(BROKEN, CANCELLED)
    refused = await staff_client.do(address)
    assert (refused.status_code, "did not say" in refused.text) == (409, True)
    for _ in range(2):
        page = await staff_client.do(address)
        assert ENDED in text(page)
        assert "cancelled: nothing more is charged" in text(page)
        assert "cancel-subscription" not in page.text
    assert shop.amounts == amounts(charged=TOTAL)


@one_database
async def test_another_stores_is_not_found(staff_client: StaffClient) -> None:
    await subscribed(staff_client.shop)
    await other_store(staff_client.shop)
    headers = staff_client.headers(staff_client.token(iss=OTHER_STORE), saleor=OTHER_STORE)
    address = f"/parts/payments/{staff_client.shop.order_id}/cancel-subscription"
    answer = await staff_client.http.post(address, headers=headers)
    assert answer.status_code == 404
    assert (await staff_client.shop.aggregate()).payment.recurring_status == "active"


async def test_what_the_storefront_asked_for_is_stated(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.services.accounts.change(shop.account.id, subscriptions=True)
    plan = {"interval": "month", "every": 2, "startsOn": "2027-01-21", "endsOn": "2028-01-21"}
    await shop.complete_payment(data={"subscription": plan})
    shop.gateway.book[shop.order_id].clear()
    await shop.notify(payment(shop.order_id, recurring=ACTIVE))
    await shop.work()

    address = f"/payments/{shop.order_id}"
    assert "charged every 2 months, from Jan 21, 2027, until Jan 21, 2028" in text(await staff_client.see(address))
    in_ukrainian = await staff_client.see(address, **{"Accept-Language": "uk"})
    assert "списання раз на 2 місяці, з 21 січ. 2027 р., до 21 січ. 2028 р." in text(in_ukrainian)
