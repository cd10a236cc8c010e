"""The lines that docs/storefront.md gives for Apple Pay and Google Pay, run in a real browser beside played wallets."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from integration_base_tests.loopback import serve_app
from integration_base_tests.pages import STOREFRONT, blocks
from saleor_app_sdk.testing.views import SessionView
from tests.journeys.stack import Stack
from tests.journeys.stories import BACK, TOTAL, assert_books_agree, paid_order
from tests.journeys.wallet_shop import apple_pays, assert_no_wallet_data_left, google_pays, offer_wallets

pytestmark = [pytest.mark.browser, pytest.mark.long]
ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the browser sees no database

APPLES = "https://apple-pay-gateway.apple.com/paymentservices/startSession"
# What a browser with Apple Pay has, and what Google's script brings: a shopper who always agrees.
WALLETS = """
window.ApplePaySession = class {
  static STATUS_SUCCESS = 0;
  static STATUS_FAILURE = 1;
  constructor(version, request) { window.sheet = { version, request, ended: null, session: null }; }
  begin() { this.onvalidatemerchant({ validationURL: window.validationURL }); }
  abort() { window.sheet.ended = "aborted"; }
  completeMerchantValidation(session) {
    window.sheet.session = session;
    this.onpaymentauthorized({ payment: { token: window.appleToken } });
  }
  completePayment(status) { window.sheet.ended = status; }
};
window.google = { payments: { api: { PaymentsClient: class {
  constructor(options) { window.sheet = { options }; }
  async loadPaymentData(request) {
    window.sheet.request = request;
    return { paymentMethodData: { tokenizationData: { token: window.googleToken } } };
  }
} } } };
"""
# What a storefront writes itself: the two functions that ask Saleor, as the page tells it.
SHOP = """
const functions = (checkoutId, config) => ({
  merchantSession: async (validationUrl) => {
    const { applePay } = await askSaleor({ applePay: { validationUrl } });
    if (!applePay) throw new Error("no session");
    return applePay.merchantSession;
  },
  pay: async (given) => {
    const sealed = await sealCard({ ...given, at: new Date().toISOString(), for: checkoutId }, config.wallets.key);
    return payAtSaleor({ card: sealed, browserFingerprint: browserFingerprint() });
  },
});
"""


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    async def checkout(request: Request) -> HTMLResponse:
        return HTMLResponse('<link rel="icon" href="data:,"><h1>Checkout</h1>')

    lines = [block.code for block in blocks("js", among=[STOREFRONT]) if block.role in ("seal", "wallets")]
    assert len(lines) == 2
    routes = [Route("/checkout", checkout)]
    async with serve_app(Starlette(routes=routes)) as address:
        page = await browser.new_page(locale="uk-UA")
        await page.goto(f"{address}/checkout")
        for script in (WALLETS, *lines, SHOP):
            await page.add_script_tag(content=script)
        await page.evaluate(
            "([apple, google, url]) => { Object.assign(window, { appleToken: apple, googleToken: google, "
            "validationURL: url }); }",
            [apple_pays()["applePay"], google_pays()["googlePay"], APPLES],
        )
        yield page


class Shopper:
    """Somebody at the checkout: what the page asks Saleor goes to Saleor."""

    def __init__(self, shop: Stack, page: Page, checkout_id: str, config: dict[str, Any]) -> None:
        self.shop, self.page, self.checkout_id, self.config = shop, page, checkout_id, config
        self.sent: list[dict[str, Any]] = []
        self.sessions: list[SessionView] = []

    @classmethod
    async def arrives(cls, shop: Stack, page: Page) -> "Shopper":
        """Fill a basket and come to the payment step."""
        checkout = await shop.saleor.create_checkout()
        config = (await shop.saleor.gateway_initialize(checkout.id)).data
        shopper = cls(shop, page, checkout.id, config)
        await page.expose_function("askSaleor", shopper.ask)
        await page.expose_function("payAtSaleor", shopper.pay)
        return shopper

    async def ask(self, data: dict[str, Any]) -> Any:
        self.sent.append(data)
        return (await self.shop.saleor.gateway_initialize(self.checkout_id, data=data)).data

    async def pay(self, data: dict[str, Any]) -> bool:
        self.sent.append(data)
        session = await self.shop.saleor.initialize(self.checkout_id, data={**BACK, **data}, customer_ip="203.0.113.7")
        self.sessions.append(session)
        return session.event is not None and session.event.type == "CHARGE_SUCCESS"

    async def opens_apple_pay(self) -> dict[str, Any]:
        """Press the button; return the sheet as it has ended."""
        request = {"countryCode": "UA", "currencyCode": "UAH", "total": {"label": "Shop", "amount": "569.50"}}
        await self.page.evaluate(
            "([request, id, config]) => openApplePay(request, functions(id, config))",
            [request, self.checkout_id, self.config],
        )
        await self.page.wait_for_function("window.sheet.ended !== null")
        sheet: dict[str, Any] = await self.page.evaluate("window.sheet")
        return sheet

    async def opens_google_pay(self) -> dict[str, Any]:
        """Press the other button; return what Google's sheet was opened with."""
        info = {"totalPriceStatus": "FINAL", "totalPrice": "569.50", "currencyCode": "UAH", "countryCode": "UA"}
        paid = await self.page.evaluate(
            "([info, id, config]) => openGooglePay(config.wallets.googlePay, info, functions(id, config))",
            [info, self.checkout_id, self.config],
        )
        assert paid is True
        sheet: dict[str, Any] = await self.page.evaluate("window.sheet")
        return sheet

    async def has_paid(self) -> None:
        """The order is paid, both books agree, and of the wallet nothing is left."""
        [session] = self.sessions
        assert session.required_transaction.amounts.charged == TOTAL
        await paid_order(self.shop, self.checkout_id)
        await assert_books_agree(self.shop, session.required_transaction.id)
        assert "sealed-by" not in json.dumps(self.sent)
        await assert_no_wallet_data_left(self.shop)


@ONE
async def test_the_documented_lines_open_apples_sheet_and_pay(shop: Stack, page: Page) -> None:
    await offer_wallets(shop)
    shopper = await Shopper.arrives(shop, page)
    sheet = await shopper.opens_apple_pay()
    assert sheet["session"]["merchantSessionIdentifier"]
    assert sheet["ended"] == 0
    await shopper.has_paid()


@ONE
async def test_a_page_that_names_another_address_gets_no_session_and_the_sheet_closes(shop: Stack, page: Page) -> None:
    await offer_wallets(shop)
    shopper = await Shopper.arrives(shop, page)
    await page.evaluate("window.validationURL = 'https://evil.example/paymentservices/startSession'")
    sheet = await shopper.opens_apple_pay()
    assert (sheet["ended"], sheet["session"]) == ("aborted", None)
    assert shopper.sessions == []


@ONE
async def test_apples_sheet_says_that_a_declined_payment_has_failed(shop: Stack, page: Page) -> None:
    await offer_wallets(shop)
    shopper = await Shopper.arrives(shop, page)
    await page.evaluate("token => { window.appleToken = token; }", apple_pays("4009")["applePay"])
    assert (await shopper.opens_apple_pay())["ended"] == 1
    assert await shop.gateway.payments()


@ONE
async def test_the_documented_lines_open_googles_sheet_and_pay(shop: Stack, page: Page) -> None:
    await offer_wallets(shop)
    shopper = await Shopper.arrives(shop, page)
    sheet = await shopper.opens_google_pay()
    [method] = sheet["request"]["allowedPaymentMethods"]
    assert sheet["options"] == {"environment": "PRODUCTION"}
    assert method["tokenizationSpecification"]["parameters"] == {"gateway": "sandbox", "gatewayMerchantId": "m-17"}
    await shopper.has_paid()
