"""A customer agrees that the card is kept, sees it, pays with it again, and deletes it; between three processes."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.bootstrap import open_services
from gateway_client.dialect import DialectName
from gateway_client.sandbox.scripting import FaultRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import NewCheckout, SessionView, StoredMethodView
from tests.fork_server import ForkServer
from tests.journeys.card_shop import ASKS_THE_SHOPPER, assert_no_card_data_left
from tests.journeys.crashing_process import CrashingProcess
from tests.journeys.stack import PATIENCE, Stack, open_stack
from tests.journeys.stories import (
    BACK,
    TOTAL,
    assert_books_agree,
    order_id_of,
    paid_order,
    wait_for_event,
    wait_until_quiet,
)
from tests.payments.cards.seals import BROWSER

OLENA, TARAS = "VXNlcjox", "VXNlcjoy"


@pytest.fixture
async def shop(shop: Stack) -> Stack:
    """A stack whose store keeps cards."""
    async with open_services(shop.settings) as services:
        [account] = await services.accounts.all()
        await services.accounts.change(account.id, saved_cards=True)
    checkout = await shop.saleor.create_checkout(NewCheckout(user={"id": OLENA}))

    async def offered() -> bool:  # the app remembers the account for a moment
        offer = await shop.saleor.gateway_initialize(checkout.id)
        return bool(offer.data["saveCard"])

    await eventually(offered)
    return shop


@pytest.fixture
async def told_of_customers(
    database_url: str, tmp_path: Path, neighbours: tuple[str, str], dialect: DialectName, fork_server: ForkServer
) -> AsyncIterator[Stack]:
    """A shop whose operator lets Saleor tell the app of customers who are deleted."""
    patience = {**PATIENCE, "APP_CUSTOMER_DELETIONS": "true"}
    process = partial(CrashingProcess, fork_server=fork_server)
    async with open_stack(
        database_url, tmp_path, neighbours, dialect=dialect, patience=patience, process=process
    ) as stack:
        permissions = ("HANDLE_PAYMENTS", "MANAGE_USERS")
        installed = await stack.saleor.install(f"{stack.app.url}/api/manifest", permissions)
        assert installed.status == "INSTALLED", installed.message
        await stack.open_account(options={"saved_cards": True})
        yield stack


async def begin(
    shop: Stack, user: str | None, data: dict[str, Any], caller: str = "customer"
) -> tuple[str, SessionView]:
    """A customer, or a guest, fills a basket, and they or somebody else begin to pay it; return it and what is told."""
    checkout = await shop.saleor.create_checkout(NewCheckout(user=None if user is None else {"id": user}))
    session = await shop.saleor.initialize(checkout.id, data=BACK | data, customer_ip="203.0.113.7", caller=caller)
    assert session.event is not None, session
    return checkout.id, session


async def keep(shop: Stack, number: str = "4242424242424242") -> tuple[StoredMethodView, str]:
    """Olena pays on the gateway's page and agrees that her card is kept; return it, and the gateway's token."""
    _, session = await begin(shop, OLENA, {"saveCard": True})
    order_id = order_id_of(session)
    paid = await shop.gateway.pay(order_id, card=number, challenge="pass")
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert paid.cc_token is not None
    [card] = await shop.saleor.stored_methods(OLENA)
    return card, paid.cc_token


def with_card(card: StoredMethodView) -> dict[str, Any]:
    return {"savedCardId": card.payment_method_id, "browserFingerprint": BROWSER}


async def test_a_customer_keeps_a_card_sees_it_pays_with_it_and_deletes_it(shop: Stack) -> None:
    card, token = await keep(shop)
    assert (card.gateway, card.type, card.name, card.flows) == (
        "gateway.payments.app",
        "CARD",
        "Visa ****4242",
        ["INTERACTIVE"],
    )
    assert card.credit_card_info is not None
    assert (card.credit_card_info["brand"], card.credit_card_info["last_digits"]) == ("Visa", "4242")
    assert await shop.saleor.stored_methods(TARAS) == []

    checkout_id, session = await begin(shop, OLENA, with_card(card))
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS"
    assert (await shop.gateway.payment(order_id_of(session))).mode == "direct"
    assert (await wait_until_quiet(shop, session.required_transaction.id)).amounts.charged == TOTAL
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)

    assert (await shop.saleor.delete_method(TARAS, card.id)).result == "FAILED_TO_DELETE"
    assert (await shop.saleor.delete_method(OLENA, card.id)).result == "SUCCESSFULLY_DELETED"
    assert await shop.saleor.stored_methods(OLENA) == []
    again = await shop.saleor.delete_method(OLENA, card.id)
    assert (again.result, [error.message for error in again.errors]) == (
        "FAILED_TO_DELETE",
        ["There is no such saved card."],
    )
    await assert_no_card_data_left(shop, "4242424242424242", token=token)


@pytest.mark.threat("saved-card-of-another")
async def test_nobody_else_pays_with_it(shop: Stack) -> None:
    card, token = await keep(shop)
    payments = len(await shop.gateway.payments())
    for user, caller in ((TARAS, "customer"), (None, "customer"), (OLENA, "nobody"), (OLENA, TARAS), (None, OLENA)):
        _, session = await begin(shop, user, with_card(card) | {"customer": {"userId": OLENA}}, caller)
        assert session.event is not None
        assert session.event.type == "CHARGE_FAILURE"
        assert session.data["errors"][0]["code"] == "SAVED_CARD_UNUSABLE"
    assert len(await shop.gateway.payments()) == payments
    await assert_no_card_data_left(shop, "4242424242424242", token=token)


@pytest.mark.long
async def test_a_storefronts_server_pays_for_the_customer_with_an_apps_token(shop: Stack) -> None:
    card, _ = await keep(shop)
    [app] = await shop.saleor.apps()
    _, session = await begin(shop, OLENA, with_card(card), app.id)
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS"
    await assert_books_agree(shop, session.required_transaction.id)


@pytest.mark.long
async def test_the_bank_asks_the_customer_of_a_kept_card_too(shop: Stack) -> None:
    card, token = await keep(shop, ASKS_THE_SHOPPER)
    checkout_id, session = await begin(shop, OLENA, with_card(card))
    assert session.event is not None
    assert session.event.type == "CHARGE_ACTION_REQUIRED"
    order_id = order_id_of(session)
    assert session.data == {"redirectUrl": (await shop.gateway.payment(order_id)).challenge_url}
    await shop.gateway.challenge(order_id)
    back = await shop.saleor.process(session.required_transaction.id)
    assert back.event is not None
    assert back.event.type == "CHARGE_SUCCESS"
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_no_card_data_left(shop, ASKS_THE_SHOPPER, token=token)


async def test_the_gateways_answer_gets_lost_and_the_kept_card_pays_once(shop: Stack) -> None:
    card, token = await keep(shop)
    payments = len(await shop.gateway.payments())
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="drop"))
    await shop.gateway.hold_webhooks()  # one can be faster than the loss, and then it is answered
    checkout_id, session = await begin(shop, OLENA, with_card(card))
    assert session.event is not None
    assert session.event.type == "CHARGE_REQUEST"
    await shop.gateway.release_webhooks()
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert len(await shop.gateway.payments()) == payments + 1
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)
    await assert_no_card_data_left(shop, "4242424242424242", token=token)


@pytest.mark.long
@pytest.mark.parametrize("themselves", [False, True])
async def test_saleor_deletes_a_customer_and_no_card_of_theirs_is_left(
    told_of_customers: Stack, *, themselves: bool
) -> None:
    shop = told_of_customers
    _, token = await keep(shop)
    _, session = await begin(shop, OLENA, {"saveCard": True})  # and one is under way

    await shop.saleor.set_faults(webhooks_twice=True)
    await shop.saleor.delete_customer(OLENA, themselves=themselves)
    await shop.saleor.wait_for_background()
    await shop.saleor.clear_faults()
    event = "account_deleted" if themselves else "customer_deleted"
    assert [delivery.status for delivery in await shop.saleor.deliveries(event)] == [200, 200]

    await shop.gateway.pay(order_id_of(session), card="4242424242424242", challenge="pass")
    paid = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await assert_books_agree(shop, paid.id)
    async with open_services(shop.settings) as services:
        [installation] = await services.installations.all()
        assert await services.saved_cards.cards_of_customer(installation.id, OLENA) == []
    await assert_no_card_data_left(shop, "4242424242424242", token=token)


async def test_nothing_of_customers_is_asked_for_unless_the_operator_wants_it(shop: Stack) -> None:
    async with httpx2.AsyncClient() as http:
        headers = {"Saleor-Schema-Version": "3.23"}
        manifest = (await http.get(f"{shop.app.url}/api/manifest", headers=headers)).json()
        assert manifest["permissions"] == ["HANDLE_PAYMENTS"]
        told = {name for webhook in manifest["webhooks"] for name in webhook.get("asyncEvents", [])}
        assert told == {"APP_DELETED", "APP_STATUS_CHANGED"}, "of itself alone"
        nobody = await http.post(f"{shop.app.url}/api/webhooks/customer-deleted", content=b"{}")
        assert nobody.status_code == 404
