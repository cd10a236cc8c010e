"""The storefront kit in a real browser, between a played Saleor, the app and the sandbox: shoppers pay with it."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser, Page, expect

from app.saleor.testing.views import NewCheckout, TransactionView
from tests.browsing import chromium
from tests.dashboard.framing import Complaints
from tests.journeys.card_shop import allow_cards
from tests.journeys.stack import Stack
from tests.journeys.stories import TOTAL, both_books_agree, paid_order
from tests.storefront_kit.shop import KitShop, button, kit_shop, message, told

pytestmark = [pytest.mark.browser, pytest.mark.journey]
ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the browser sees no database


@dataclass
class Till:
    """A shopper at the checkout of a storefront with the kit."""

    shop: Stack
    page: Page
    storefront: KitShop
    checkout_id: str
    complaints: Complaints

    async def opens(self, language: str = "en", **attributes: str) -> None:
        """Come to the payment step, where the button waits."""
        here = {"saleor_api_url": self.shop.saleor.api_url, "checkout_id": self.checkout_id}
        address = self.storefront.checkout(language, **here, **attributes, return_url=self.back(language, **attributes))
        await self.page.goto(address)
        await expect(self.page.locator("gateway-payment")).to_have_attribute("state", "ready")

    def back(self, language: str, **attributes: str) -> str:
        """Return where the shopper comes back to: the same page, whose element needs an address again."""
        here = {"saleor_api_url": self.shop.saleor.api_url, "checkout_id": self.checkout_id}
        return self.storefront.checkout(language, **here, **attributes, return_url="/checkout")

    async def pays_at_the_gateway(self, card: str = "5454 5454 5454 5454") -> None:
        """Pay on the gateway's page."""
        await self.page.get_by_label("Card number").fill(card)
        await self.page.get_by_role("button", name=re.compile("^Pay")).click()

    async def transactions(self) -> list[TransactionView]:
        """Return Saleor's transactions of this checkout."""
        return [each for each in await self.shop.saleor.transactions() if each.checkout_id == self.checkout_id]

    async def has_paid(self, transaction_id: str) -> None:
        """The order is paid, both books agree, and the browser had nothing to complain of."""
        transaction = await self.shop.saleor.transaction(transaction_id)
        assert transaction.amounts.charged == TOTAL
        await paid_order(self.shop, self.checkout_id)
        await both_books_agree(self.shop, transaction_id)
        assert self.complaints == []


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
async def till(shop: Stack, browser: Browser) -> AsyncIterator[Till]:
    async with kit_shop(shop.app.url, shop.saleor.url) as storefront:
        await allow_cards(shop, storefront_origins=[storefront.url])
        checkout = await shop.saleor.new_checkout(NewCheckout())
        page = await browser.new_page()
        complaints = Complaints()
        complaints.of(page)
        yield Till(shop, page, storefront, checkout.id, complaints)


@ONE
async def test_a_shopper_pays_on_the_payment_page_and_is_back(till: Till) -> None:
    await till.opens()
    assert await till.transactions() == [], "a payment is begun by whoever presses, not by whoever looks"
    await button(till.page).click()
    await till.pays_at_the_gateway()
    await till.page.wait_for_url(re.compile("transactionId="), timeout=20_000)
    await expect(message(till.page)).to_contain_text("Payment received")
    [paid] = await told(till.page, "paid")
    assert paid["confirmed"] is True
    [transaction] = await till.transactions()
    assert paid["transactionId"] == transaction.id
    await expect(button(till.page)).to_be_hidden()
    await till.has_paid(transaction.id)
