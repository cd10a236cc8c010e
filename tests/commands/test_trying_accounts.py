"""``accounts try``."""

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from app.ledger.sheets import find_by_order
from app.ledger.tables import MerchantAccount
from app.payments.desk import Desk
from tests.commands.conftest import Shell, add_account, one_database
from tests.payments.till import POS_ID, Till, open_till, refused

TRY = ("accounts", "try", "Shop", "--email", "me@example.com", "--phone", "+380501234567")


@pytest.fixture
async def till() -> AsyncIterator[Till]:
    async with open_till(Till()) as till:
        yield till


@pytest.fixture
async def account(desk: Desk, installed: int, till: Till) -> MerchantAccount:
    return await add_account(desk, installed, base_url=till.url, pos_id=POS_ID)


async def test_a_payment_page_is_opened(shell: Shell, desk: Desk, account: MerchantAccount, till: Till) -> None:
    till.will(till.page(), till.page())
    told = await shell(*TRY)
    assert told.status == 0, told.err
    assert f"{till.url}/api/v1/checkout/c0ffee/form" in told.out
    assert "saleor-gateway payments show" in told.out

    told = await shell(*TRY, "--amount", "2.50", "--json")
    assert (told.json["amount"], told.json["standing"]) == (Decimal("2.50"), "waiting for the shopper")
    async with desk.database.transaction() as session:
        sheet = await find_by_order(session, told.json["order_id"])
    assert sheet is not None
    assert sheet.payment.trial
    assert sheet.events == []
    story = (await shell("payments", "show", told.json["order_id"])).out
    assert "tries the account out with a payment: 2.50 UAH" in " ".join(story.split())


@one_database
async def test_what_stands_in_the_way(shell: Shell, account: MerchantAccount, till: Till) -> None:
    (await shell(*TRY, "--currency", "eur")).failed("takes UAH, not EUR", status=2)
    (await shell(*TRY, "--amount", "0")).failed("the amount is zero", status=2)
    (await shell(*TRY, "--amount", "some")).failed("is no amount", status=2)
    till.will(refused("The terminal is closed", "P-412"))
    told = await shell(*TRY)
    assert told.status == 1
    assert "The terminal is closed" in told.err
