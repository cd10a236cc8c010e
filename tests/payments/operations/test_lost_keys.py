"""The secret key file was lost and another one made: shoppers are told, and what can be is made anew.

Nobody can pay before the accounts' keys are entered again (laws of money, 17). The pairs for which storefronts encrypt
cards are ours: a new one takes the place of one that does not open.
"""

import pytest

from app.flows.card_keys import offered_key
from app.flows.gateway_initialize import answer_gateway_initialize
from app.flows.staff.subscription import cancel_subscription
from app.rules.refusal import RefusalError
from app.store.vault import KEY_BYTES, Vault
from integration_base_tests.loopback import json_reply
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_card_payment import direct, error_of, typed
from tests.payments.operations.test_gateway_initialize import event
from tests.payments.operations.test_subscriptions import subscribed
from tests.payments.shop import TOTAL, Shop

pytestmark = [pytest.mark.law(17), pytest.mark.fault("key-lost")]

ANOTHER = Vault([b"\x08" * KEY_BYTES])


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop whose owner has confirmed that it may take cards."""
    shop.account = await shop.services.accounts.change(shop.account.id, pci_dss_confirmed_at=shop.clock.now)
    return shop


def lose_account_keys(shop: Shop) -> None:
    shop.services.accounts._vault = ANOTHER


def lose_card_keys(shop: Shop) -> None:
    shop.services.card_keys._vault = ANOTHER


async def test_shoppers_are_told_that_the_store_cannot_take_payments(shop: Shop) -> None:
    lose_account_keys(shop)
    answer = await shop.begin()
    assert (answer.result, error_of(answer)["code"]) == ("CHARGE_FAILURE", "STORE_UNAVAILABLE")
    assert "Зверніться до магазину" in error_of(answer)["message"]
    assert "cannot be decrypted" in (answer.message or "")
    assert (await shop.find_aggregate(), shop.gateway.requests) == (None, [])


async def test_staff_are_told_that_a_subscription_cannot_be_cancelled(shop: Shop) -> None:
    await subscribed(shop)
    shop.services.gateways._clients.clear()  # another process
    lose_account_keys(shop)
    before = list(shop.gateway.requests)
    with pytest.raises(RefusalError, match="cannot be decrypted"):
        await cancel_subscription(shop.services, shop.order_id, "olena")
    assert shop.gateway.requests == before


async def test_storefronts_are_told_that_nobody_can_pay(shop: Shop) -> None:
    lose_account_keys(shop)
    answer = await answer_gateway_initialize(shop.services, event(), shop.installation)
    [error] = answer.data["errors"]
    assert (answer.data["available"], error["code"]) == (False, "STORE_UNAVAILABLE")


async def test_a_payment_that_has_begun_is_answered_from_the_record(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    before = await shop.begin()
    shop.services.gateways._clients.clear()  # another process
    lose_account_keys(shop)
    again = await shop.begin()
    assert (again.result, again.data["checkoutUrl"]) == ("CHARGE_ACTION_REQUIRED", before.data["checkoutUrl"])


async def test_of_a_point_of_sale_that_is_no_id_shoppers_read_the_same(shop: Shop) -> None:
    """A version before kept any."""
    await shop.services.accounts.change(shop.account.id, pos_id="1042")
    answer = await shop.begin()
    assert (error_of(answer)["code"], await shop.find_aggregate()) == ("STORE_UNAVAILABLE", None)
    assert "pos_id" in (answer.message or "")


async def test_of_a_point_of_sale_that_is_no_id_staff_read_why_nothing_is_done(paid_shop: Shop) -> None:
    paid_shop.clock.forward(seconds=1)
    await paid_shop.services.accounts.change(paid_shop.account.id, pos_id="1042")
    answer = await paid_shop.request_action("REFUND", "100.00")
    assert answer.result == "REFUND_FAILURE"
    assert "pos_id" in (answer.message or "")


async def test_a_card_for_a_lost_pair_is_encrypted_again_for_a_new_one_and_pays(shop: Shop) -> None:
    data = await typed(shop)
    lose_card_keys(shop)
    answer = await shop.begin(data=data)
    assert (answer.result, error_of(answer)["code"]) == ("CHARGE_FAILURE", "SEAL_OUTDATED")
    assert shop.gateway.requests == []
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.will_answer(json_reply(direct(shop)))
    assert (await shop.begin(data=await typed(shop))).result == "CHARGE_SUCCESS"
    assert shop.amounts == amounts(charged=TOTAL)


async def test_processes_that_meet_a_lost_pair_at_once_make_one_new_one(shop: Shop) -> None:
    book, now = shop.services.card_keys.for_store(shop.installation.id), shop.clock.now
    lost = await offered_key(book, now)
    lose_card_keys(shop)
    book = shop.services.card_keys.for_store(shop.installation.id)
    shop.clock.forward(seconds=1)
    made = await offered_key(book, shop.clock.now)
    assert made.kid != lost.kid
    assert (await offered_key(book, shop.clock.now)).kid == made.kid
    assert await book.add(made.public_jwk, "{}", now=shop.clock.now, unless_since=lost.created_at) == made
