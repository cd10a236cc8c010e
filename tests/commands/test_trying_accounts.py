"""``accounts try``."""

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from app.services import Services
from app.store.aggregates import find_by_order
from app.store.tables import MerchantAccount
from tests.commands.conftest import Shell, add_account, one_database
from tests.payments.fake_gateway import POS_ID, FakeGateway, open_fake_gateway, refusal_reply

TRY = ("accounts", "try", "Shop", "--email", "me@example.com", "--phone", "+380501234567")


@pytest.fixture
async def gateway() -> AsyncIterator[FakeGateway]:
    async with open_fake_gateway(FakeGateway()) as gateway:
        yield gateway


@pytest.fixture
async def account(services: Services, installed: int, gateway: FakeGateway) -> MerchantAccount:
    return await add_account(services, installed, base_url=gateway.url, pos_id=POS_ID)


async def test_a_payment_page_is_opened(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    gateway.will_answer(gateway.page(), gateway.page())
    told = await shell(*TRY)
    assert told.status == 0, told.err
    assert f"{gateway.url}/api/v1/checkout/c0ffee/form" in told.out
    assert "saleor-gateway payments show" in told.out

    told = await shell(*TRY, "--amount", "2.50", "--json")
    assert (told.json["amount"], told.json["standing"]) == (Decimal("2.50"), "waiting for the shopper")
    async with services.database.transaction() as session:
        aggregate = await find_by_order(session, told.json["order_id"])
    assert aggregate is not None
    assert aggregate.payment.trial
    assert aggregate.events == []
    story = (await shell("payments", "show", told.json["order_id"])).out
    assert "tests the account with a payment: 2.50 UAH" in " ".join(story.split())


@one_database
async def test_what_stands_in_the_way(shell: Shell, account: MerchantAccount, gateway: FakeGateway) -> None:
    (await shell(*TRY, "--currency", "eur")).failed("accepts UAH, not EUR", status=2)
    (await shell(*TRY, "--amount", "0")).failed("the amount is zero", status=2)
    (await shell(*TRY, "--amount", "some")).failed("is not an amount", status=2)
    gateway.will_answer(refusal_reply("The terminal is closed", "P-412"))
    told = await shell(*TRY)
    assert told.status == 1
    assert "The terminal is closed" in told.err
