"""Money is paid out to cards, between three processes: that of whoever asks, the app's, and the gateway's."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.bootstrap import open_services
from app.flows.card_keys import offered_key
from app.flows.pay_out import Signature
from app.flows.staff.payouts import Person, confirm, propose
from app.reports.status import standing
from app.store.payouts import payouts_page
from gateway_client.sandbox.control.views import PaymentView
from gateway_client.sandbox.scripting import FaultRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import NewCheckout
from tests.journeys.card_shop import GOOD, assert_no_card_data_left
from tests.journeys.stack import Stack
from tests.journeys.terminal import Terminal
from tests.journeys.test_saved_cards import OLENA, keep
from tests.payments.cards.seals import seal

KEY = "5f0c9a17d3e24b6c8f0f3a0e6a3e4c57"
CASHIER = Person("VXNlcjox", "olena@example.com")
SAID = {
    "key": KEY,
    "amount": "120.50",
    "description": "A prize",
    "recipient_first_name": "Solomiia",
    "recipient_last_name": "Pavlychko",
    "recipient_middle_name": "Dmytrivna",
    "recipient_doc_number": "AB-1234567",
    "recipient_doc_issue_date": "2015-05-20",
    "recipient_doc_issued_by": "8001",
    "recipient_phone": "+380501234567",
    "recipient_birth_date": "1991-08-24",
    "recipient_birth_place": "Lviv",
    "recipient_country": "UA-46",
    "recipient_city": "Lviv",
    "recipient_address": "Street 1",
    "recipient_postcode": "79000",
    "wallet_number": "W-1",
    "recipient_email": "solomiia@example.com",
    "recipient_tax_id": "3123456789",
    "reference": "Invoice 17",
}


@pytest.fixture
async def shop(shop: Stack) -> Stack:
    """A stack whose store pays out, and may take typed cards."""
    async with open_services(shop.settings) as services:
        [account] = await services.accounts.all()
        await services.accounts.change(
            account.id,
            saved_cards=True,
            payouts=True,
            payout_most=Decimal("500.00"),
            payout_most_a_day=Decimal("500.00"),
            payout_staff=["olena@example.com"],
            pci_dss_confirmed_at=services.now(),
        )
    checkout = await shop.saleor.create_checkout(NewCheckout(user={"id": OLENA}))

    async def is_known() -> bool:  # the app remembers the account for a moment
        return bool((await shop.saleor.gateway_initialize(checkout.id)).data["saveCard"])

    await eventually(is_known)
    return shop


async def staff_pay_out(shop: Stack, *, times: int = 1) -> list[str]:
    """Somebody types a card, reads everything once more, and confirms it so often; return where each time it stood."""
    async with open_services(shop.settings) as services:
        [account] = await services.accounts.all()
        jwk = (await offered_key(services.card_keys.for_store(account.installation_id), services.now())).public_jwk
        card = seal({"for": f"payout:{KEY}", "number": GOOD}, jwk)
        by = Signature("VXNlcjox", services.now(), "203.0.113.7")
        review = await propose(services, account, SAID | {"card": card}, by)
        return [
            standing(
                await confirm(
                    services, account.installation_id, review.sealed, by, person=Person("VXNlcjox", "olena@example.com")
                )
            )
            for _ in range(times)
        ]


async def stands(shop: Stack) -> str:
    """Return where the only payout stands."""
    async with open_services(shop.settings) as services, services.database.transaction() as session:
        [record] = await payouts_page(session, None, most=10)
    return standing(record.aggregate)


async def paid_out(shop: Stack) -> None:
    """In the end the payout is made, and the gateway has made one."""

    async def is_known() -> bool:
        return await stands(shop) == "paid out"

    await eventually(is_known)
    [record] = await made(shop)
    assert (record.status, record.amount) == ("success", Decimal("120.50"))


async def made(shop: Stack) -> list[PaymentView]:
    """Return the payouts that the gateway has."""
    return [payment for payment in await shop.gateway.payments() if payment.method == "credit"]


@pytest.mark.law(4)
async def test_a_typed_card_is_paid_once_however_often_it_is_confirmed(shop: Stack) -> None:
    assert await staff_pay_out(shop, times=3) == ["paid out"] * 3
    await paid_out(shop)
    await assert_no_card_data_left(shop)


@pytest.mark.law(2)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_the_answer_is_lost_and_the_app_finds_out(shop: Stack, moment: Any) -> None:
    """Whether the gateway has done it or not: it is asked once, and what it has done is known."""
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment=moment, effect="drop"))
    first, *_ = await staff_pay_out(shop, times=2)
    if moment == "after":
        # The worker may have found out before the page is drawn: the gateway says first that it waits for the bank.
        assert first in {"not known yet", "waiting for the bank", "paid out"}
        await paid_out(shop)
    else:
        assert first == "not known yet"
        assert await made(shop) == []
    calls = [call for call in await shop.gateway.calls() if call.path == "/api/v1/payment"]
    assert len(calls) == 1
    await assert_no_card_data_left(shop)


@pytest.mark.long
@pytest.mark.law(2)
async def test_the_notification_overtakes_the_answer(shop: Stack) -> None:
    slow = FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="latency", seconds=600)
    await shop.gateway.fault(slow)
    asking = asyncio.create_task(staff_pay_out(shop))

    async def is_told() -> bool:
        return bool(await made(shop)) and await stands(shop) == "paid out"

    await eventually(is_told)
    assert not asking.done()
    await shop.gateway.clear_rules()
    assert await asking == ["paid out"]
    await paid_out(shop)
    await assert_no_card_data_left(shop)


@pytest.mark.long
@pytest.mark.law(2)
async def test_the_app_is_down_when_the_outcome_comes_and_finds_out_when_it_is_back(shop: Stack) -> None:
    await shop.app.stop()
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="drop"))
    assert await staff_pay_out(shop) == ["not known yet"]
    await shop.gateway.hold_webhooks()
    await shop.app.start()
    await paid_out(shop)
    calls = [call for call in await shop.gateway.calls() if call.path == "/api/v1/payment"]
    assert len(calls) == 1


@pytest.mark.long
@pytest.mark.fault("process-killed")
@pytest.mark.law(2)
async def test_the_process_that_asks_is_killed_and_the_app_finds_out(
    shop: Stack, terminal: Terminal, tmp_path: Path
) -> None:
    _, token = await keep(shop)
    async with open_services(shop.settings) as services:
        [account] = await services.accounts.all()
    slow = FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="latency", seconds=600)
    await shop.gateway.fault(slow)
    command = terminal.begin(*paying_out(account.id, tmp_path))

    async def is_asked() -> bool:
        return bool(await made(shop))

    try:
        await eventually(is_asked)
    finally:
        command.kill()
        await asyncio.to_thread(command.wait)
    await paid_out(shop)
    again = terminal.begin(*paying_out(account.id, tmp_path))
    await asyncio.to_thread(again.wait)
    assert again.returncode == 0
    assert len(await made(shop)) == 1
    await assert_no_card_data_left(shop, "4242424242424242", token=token)


def paying_out(account: str, folder: Path) -> list[str]:
    """What an operator types to pay out to a saved card, by a request that has a name."""
    recipient = folder / "recipient.json"
    recipient.write_text(json.dumps({name: text for name, text in SAID.items() if name.startswith("recipient_")}))
    how_much = ["--yes", "--request", "ticket-1", "--amount", "120.50", "--description", "A prize"]
    to_whom = ["--customer", OLENA, "--recipient", str(recipient)]
    return ["payouts", "send", *how_much, *to_whom, account]
