"""The storefront kit in a real browser, between a played Saleor, the app and the sandbox: shoppers pay with it."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Page, expect
from playwright.async_api import Route as Asked
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from app.demo.processes import free_port
from app.demo.shop import Shop
from app.demo.timeline import Output, Timeline, standard_console
from app.web.static import KIT
from gateway_client.dialect import DialectName
from integration_base_tests.loopback import serve_app
from integration_base_tests.pages import STOREFRONT, blocks
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import NewCheckout, TransactionView
from tests.dashboard.framing import BrowserErrors
from tests.journeys.card_shop import ASKS_THE_SHOPPER, GOOD, NO_MONEY, allow_cards, assert_no_card_data_left
from tests.journeys.stack import Stack
from tests.journeys.stories import TOTAL, assert_books_agree, order_of, paid_order
from tests.journeys.wallet_shop import apple_pays, assert_no_wallet_data_left, google_pays, offer_wallets
from tests.pages.sight import faults
from tests.qr_codes import read_qr_code
from tests.storefront_kit.shop import KitShop, button, events_of, kit_shop, message, type_card
from tests.storefront_kit.test_wallets import APPLE, GOOGLE

pytestmark = [pytest.mark.browser, pytest.mark.journey]
ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the browser sees no database


@dataclass
class Till:
    """A shopper at the checkout of a storefront with the kit."""

    shop: Stack
    page: Page
    storefront: KitShop
    checkout_id: str
    complaints: BrowserErrors

    async def opens(self, language: str = "en", **attributes: str) -> None:
        """Come to the payment step, where the button waits."""
        here = {"saleor_api_url": self.shop.saleor.api_url, "checkout_id": self.checkout_id}
        await self.page.goto(self.storefront.checkout(language, **here, **attributes))
        await expect(self.page.locator("gateway-payment")).to_have_attribute("state", "ready")

    async def pays_at_the_gateway(self, card: str = "5454 5454 5454 5454") -> None:
        """Pay on the gateway's page."""
        await self.page.get_by_label("Card number").fill(card)
        await self.page.get_by_role("button", name=re.compile("^Pay")).click()

    async def transactions(self) -> list[TransactionView]:
        """Return Saleor's transactions of this checkout."""
        return [
            transaction
            for transaction in await self.shop.saleor.transactions()
            if transaction.checkout_id == self.checkout_id
        ]

    async def has_paid(self, transaction_id: str) -> None:
        """The order is paid, both books agree, and the browser had nothing to complain of."""
        transaction = await self.shop.saleor.transaction(transaction_id)
        assert transaction.amounts.charged == TOTAL
        await paid_order(self.shop, self.checkout_id)
        await assert_books_agree(self.shop, transaction_id)
        assert self.complaints == []


@pytest.fixture
async def till(shop: Stack, browser: Browser) -> AsyncIterator[Till]:
    async with kit_shop(shop.app.url, shop.saleor.url) as storefront:
        await allow_cards(shop, storefront_origins=[storefront.url])
        checkout = await shop.saleor.create_checkout(NewCheckout())
        page = await (await browser.new_context()).new_page()
        complaints = BrowserErrors()
        complaints.of(page)
        yield Till(shop, page, storefront, checkout.id, complaints)


@ONE
async def test_a_shopper_pays_on_the_payment_page_and_is_back(till: Till) -> None:
    await till.opens()
    assert await till.transactions() == [], "a payment is begun by whoever presses, not by whoever looks"
    await button(till.page).click()
    await till.pays_at_the_gateway()
    await till.page.wait_for_url(re.compile("transactionId="))
    await expect(message(till.page)).to_contain_text("Payment received")
    [paid] = await events_of(till.page, "paid")
    assert paid["confirmed"] is True
    [transaction] = await till.transactions()
    assert paid["transactionId"] == transaction.id
    await expect(button(till.page)).to_be_hidden()
    await till.has_paid(transaction.id)


@pytest.mark.long
@ONE
async def test_a_phone_pays_and_the_page_notices(till: Till) -> None:
    await till.opens()
    await till.page.get_by_role("button", name="show the QR code").click()
    code = till.page.get_by_role("img", name="QR code of the payment page")
    await expect(code).to_have_js_property("complete", value=True)
    assert await code.evaluate("image => image.naturalWidth") > 0
    [transaction] = await till.transactions()
    order_id = order_of(transaction)
    # A page of the app's own origin may look at the pixels.
    of_the_app = await till.page.context.new_page()
    await of_the_app.goto(f"{till.shop.app.url}/pay/{order_id}")
    shown = "src => { const image = new Image(); image.id = 'shown'; image.src = src; document.body.append(image); }"
    await of_the_app.evaluate(shown, await code.get_attribute("src"))
    assert await read_qr_code(of_the_app.locator("#shown")) == (await till.shop.gateway.payment(order_id)).checkout_url
    await of_the_app.close()
    await till.shop.gateway.pay(order_id)
    await expect(message(till.page)).to_contain_text("Payment received")
    assert [paid_event["transactionId"] for paid_event in await events_of(till.page, "paid")] == [transaction.id]
    await till.has_paid(transaction.id)


@pytest.mark.long
@ONE
async def test_a_decline_is_told_with_its_reason_and_the_next_try_is_another_transaction(till: Till) -> None:
    await till.opens("uk")
    await button(till.page, "Оплатити").click()
    await till.page.get_by_role("button", name="Замало коштів").click()
    await till.page.get_by_role("link", name="Повернутися до магазину").click()
    await expect(message(till.page)).to_contain_text("Оплата не пройшла")
    await expect(message(till.page)).to_contain_text("На картці недостатньо коштів.")
    [first] = await till.transactions()
    [failed] = await events_of(till.page, "failed")
    assert (failed["code"], failed["transactionId"]) == ("4009", first.id)
    await button(till.page, "Спробувати ще раз").click()
    await till.page.get_by_role("button", name=re.compile("^Сплатити")).click()
    await till.page.wait_for_url(re.compile("transactionId="))
    await expect(message(till.page)).to_contain_text("Оплату отримано")
    [second] = [transaction for transaction in await till.transactions() if transaction.id != first.id]
    await till.has_paid(second.id)


@pytest.mark.long
@ONE
async def test_impatience_begins_one_payment(till: Till) -> None:
    await till.opens()
    await button(till.page).dblclick()
    await till.page.wait_for_url(re.compile("/api/v1/checkout/"))
    assert len(await till.transactions()) == 1
    await till.page.go_back()  # and pressed once more
    await expect(button(till.page)).to_be_visible()
    await button(till.page).click()
    await till.page.wait_for_url(re.compile("/api/v1/checkout/"))
    assert len(await till.transactions()) == 1
    assert len(await till.shop.gateway.payments()) == 1


@pytest.mark.long
@ONE
@pytest.mark.parametrize(
    ("name", "browsers", "given"),
    [
        ("Apple Pay", APPLE, ('{ paymentData: "by Apple" }', apple_pays()["applePay"])),
        ("Google Pay", GOOGLE, ('"by Google"', google_pays()["googlePay"])),
    ],
    ids=["apple", "google"],
)
async def test_a_wallet_pays_where_the_button_is(
    till: Till, name: str, browsers: str, given: tuple[str, dict[str, object] | str]
) -> None:
    """The browser's part is played; what it gives is sealed by the kit and read by the app and the sandbox."""
    await offer_wallets(till.shop)
    placeholder, token = given
    assert placeholder in browsers
    await till.page.add_init_script(browsers.replace(placeholder, json.dumps(token)))
    await till.opens()
    await till.page.get_by_role("button", name=name, exact=True).click()
    await expect(message(till.page)).to_contain_text("Payment received")
    [transaction] = await till.transactions()
    [paid] = await events_of(till.page, "paid")
    assert (paid["confirmed"], paid["transactionId"]) == (True, transaction.id)
    sheet = await till.page.evaluate("window.sheet")
    asked = sheet["request"]
    assert str(TOTAL) == (asked.get("total", {}).get("amount") or asked["transactionInfo"]["totalPrice"])
    if name == "Apple Pay":
        assert (sheet["session"]["merchantSessionIdentifier"] != "", sheet["ended"]) == (True, 0)
    await till.has_paid(transaction.id)
    await assert_no_wallet_data_left(till.shop)


class TestCards:
    """Typed into the storefront."""

    @pytest.mark.long
    @ONE
    async def test_a_card_pays_at_once(self, till: Till) -> None:
        await till.opens(mode="direct")
        await type_card(till.page, GOOD)
        await button(till.page).click()
        await expect(message(till.page)).to_contain_text("Payment received")
        [transaction] = await till.transactions()
        await till.has_paid(transaction.id)
        await assert_no_card_data_left(till.shop, GOOD)

    @pytest.mark.long
    @ONE
    async def test_a_card_without_money_is_declined_and_another_one_pays(self, till: Till) -> None:
        await till.opens(mode="direct")
        await type_card(till.page, NO_MONEY)
        await button(till.page).click()
        await expect(message(till.page)).to_contain_text("There is not enough money on the card.")
        await type_card(till.page, GOOD)
        await button(till.page, "Try again").click()
        await expect(message(till.page)).to_contain_text("Payment received")
        both = await till.transactions()
        assert len(both) == 2
        [paid] = await events_of(till.page, "paid")
        await till.has_paid(paid["transactionId"])
        await assert_no_card_data_left(till.shop, NO_MONEY)

    @pytest.mark.long
    @ONE
    async def test_the_bank_asks_the_shopper(self, till: Till) -> None:
        await till.opens(mode="direct")
        await type_card(till.page, ASKS_THE_SHOPPER)
        await button(till.page).click()
        await till.page.get_by_role("button", name="Confirm").click()
        await till.page.wait_for_url(re.compile("transactionId="))
        await expect(message(till.page)).to_contain_text("Payment received")
        [transaction] = await till.transactions()
        await till.has_paid(transaction.id)

    @pytest.mark.long
    @ONE
    async def test_a_lost_answer_charges_once(self, till: Till) -> None:
        """Saleor has begun, and the shopper's network breaks before the answer is through."""
        await till.opens(mode="direct")
        await type_card(till.page, GOOD)
        broken = 0

        async def lose(route: Asked) -> None:
            nonlocal broken
            if "transactionInitialize" in (route.request.post_data or "") and not broken:
                broken += 1
                await route.fetch()
                await route.abort()
            else:
                await route.continue_()

        await till.page.route(till.shop.saleor.api_url, lose)
        await button(till.page).click()
        await expect(message(till.page)).to_contain_text("you will not pay twice")
        await button(till.page, "Try again").click()

        async def charged() -> bool:
            return any(transaction.amounts.charged == TOTAL for transaction in await till.transactions())

        await eventually(charged)
        [transaction] = [
            transaction for transaction in await till.transactions() if transaction.amounts.charged == TOTAL
        ]
        # It is the same transaction, because the amount is asked for by name, so Saleor tells how it ended.
        await expect(message(till.page)).to_contain_text("Payment received")
        assert await events_of(till.page, "paid") == [{"transactionId": transaction.id, "confirmed": True}]
        assert len(await till.shop.gateway.payments()) == 1
        till.complaints.clear()  # of the network
        await till.has_paid(transaction.id)


@pytest.mark.long
@ONE
async def test_the_demos_shop_sells_with_it(shop: Stack, browser: Browser) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    await allow_cards(shop, storefront_origins=[url])
    timeline = Timeline(shop.saleor, shop.gateway, Output(standard_console()))
    page, complaints = await browser.new_page(), BrowserErrors()
    complaints.of(page)
    async with serve_app(Shop(url, shop.saleor, timeline, shop.app.url).application(), port):
        await page.goto(url)
        await page.get_by_text("Українська").click()
        await page.get_by_role("button", name="Check out with the payment button").click()
        await expect(message(page)).to_contain_text("Ви перейдете на сторінку оплати")
        assert await faults(page) == []
        await button(page, "Оплатити").click()
        # The interface has no language of a page.
        paying = "Сплатити" if shop.dialect is DialectName.PUBLIC else "Pay"
        await page.get_by_role("button", name=re.compile(f"^{paying}")).click()
        await expect(page.get_by_role("heading", name=re.compile("Thank you for order"))).to_be_visible()
    assert complaints == []


@pytest.mark.long
@ONE
async def test_the_documented_page_pays_and_makes_the_order(shop: Stack, browser: Browser) -> None:
    [block] = [block for block in blocks("html", among=[STOREFRONT]) if block.role == "page"]
    html = block.code.replace("http://127.0.0.1:8000/graphql/", shop.saleor.api_url)
    html = html.replace("http://127.0.0.1:8100", shop.app.url)
    assert (shop.saleor.api_url in html, f"{shop.app.url}/static/{KIT}" in html) == (True, True)

    async def documented(_request: Request) -> HTMLResponse:
        return HTMLResponse(html)

    checkout = await shop.saleor.create_checkout(NewCheckout())
    async with serve_app(Starlette(routes=[Route("/checkout.html", documented)])) as url:
        await allow_cards(shop, storefront_origins=[url])
        page = await browser.new_page()
        await page.goto(f"{url}/checkout.html?checkout={checkout.id}")
        await button(page).click()
        await page.get_by_role("button", name=re.compile("^Pay")).click()
        await expect(page.get_by_text(re.compile("Order [0-9]+"))).to_be_visible()
    [returned] = parse_qs(urlsplit(page.url).query)["transactionId"]
    transaction = await shop.saleor.transaction(returned)
    assert transaction.amounts.charged == TOTAL
    assert transaction.order_id is not None


@pytest.mark.long
@pytest.mark.threat("saved-card-of-another")
@ONE
async def test_a_customer_keeps_a_card_pays_with_it_and_deletes_it(till: Till) -> None:
    saleor, olena = till.shop.saleor, "VXNlcjox"
    await allow_cards(till.shop, storefront_origins=[till.storefront.url], saved_cards=True)
    token = await saleor.customer_token(olena)

    async def come_to_a_new_checkout() -> None:
        till.checkout_id = (await saleor.create_checkout(NewCheckout(user={"id": olena}))).id
        await till.opens()
        await sign_in(token)

    async def sign_in(token: str) -> None:
        await till.page.locator("gateway-payment").evaluate("(kit, token) => { kit.customerToken = token; }", token)

    async def offered() -> bool:  # the app remembers the account for a moment
        return bool((await saleor.gateway_initialize(till.checkout_id)).data["saveCard"])

    await come_to_a_new_checkout()
    await eventually(offered)
    await sign_in("")
    await sign_in(token)
    await till.page.get_by_label("Save my card for the next time").check()
    await button(till.page).click()
    await till.pays_at_the_gateway()
    await expect(message(till.page)).to_contain_text("Payment received")
    [paid] = await till.transactions()
    await till.has_paid(paid.id)
    # Saleor keeps the list for five minutes, unless a deletion has been requested.
    await saleor.delete_method(olena, "app:gateway.payments.app:none")

    await come_to_a_new_checkout()
    await expect(till.page.get_by_role("radio", name=re.compile(r"Mastercard \*{4}5454"))).to_be_checked()
    await button(till.page).click()
    await expect(message(till.page)).to_contain_text("Payment received")
    [again] = await till.transactions()
    await till.has_paid(again.id)

    await come_to_a_new_checkout()
    await sign_in(await saleor.customer_token("VXNlcjoy"))  # somebody else, at Olena's checkout
    await expect(till.page.get_by_role("radio")).to_have_count(0)
    await sign_in(token)
    await till.page.get_by_role("button", name="Delete: Mastercard").click()
    await till.page.get_by_role("button", name="Really delete: Mastercard").click()
    await expect(message(till.page)).to_contain_text("The card is deleted.")
    assert await saleor.stored_methods(olena) == []
    assert till.complaints == []
