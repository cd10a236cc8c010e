"""Apple Pay and Google Pay in the kit, beside played wallets: no test fetches a script of theirs."""

import asyncio
import json
from typing import Any

import pytest
from joserfc import jwe
from joserfc.jwk import RSAKey
from playwright.async_api import Locator, expect

from integration_base_tests.waiting import unless_it_hangs
from tests.pages.sight import faults
from tests.payments.cards.seals import ALGORITHMS
from tests.storefront_kit.conftest import (
    CHECKOUT,
    OFFER,
    OWED,
    START,
    Answer,
    Visit,
    gateway_config,
    key_of,
    refused_session,
    session,
)
from tests.storefront_kit.shop import button, message
from tests.storefront_kit.test_amount import owed

pytestmark = [pytest.mark.browser, pytest.mark.long]

PAID = session("CHARGE_SUCCESS")
KEY = RSAKey.generate_key(2048, {"kid": "k1", "use": "enc", "alg": "RSA-OAEP-256"})
APPLES = "https://apple-pay-gateway.apple.com/paymentservices/startSession"
# A browser that has Apple Pay, and what Google's script brings; `shopper` says what they do with the sheet.
APPLE = (
    """
window.shopper = "agrees";
window.ApplePaySession = class {
  static STATUS_SUCCESS = 0;
  static STATUS_FAILURE = 1;
  static canMakePayments() { return true; }
  constructor(version, request) { window.sheet = { version, request, gesture: navigator.userActivation.isActive }; }
  begin() {
    if (window.shopper === "leaves") return this.oncancel();
    return this.onvalidatemerchant({ validationURL: "VALIDATION_URL" });
  }
  abort() { window.sheet.ended = "aborted"; }
  completeMerchantValidation(session) {
    window.sheet.session = session;
    this.onpaymentauthorized({ payment: { token: { paymentData: "by Apple" } } });
  }
  completePayment(status) { window.sheet.ended = status; }
};
"""
).replace("VALIDATION_URL", APPLES)
GOOGLE = """
window.shopper = "agrees";
window.google = { payments: { api: { PaymentsClient: class {
  constructor(options) { window.sheet = { options }; }
  async isReadyToPay() { return { result: window.shopper !== "has no card" }; }
  async loadPaymentData(request) {
    window.sheet.request = request;
    if (window.shopper === "leaves") throw { statusCode: "CANCELED" };
    return { paymentMethodData: { tokenizationData: { token: "by Google" } } };
  }
} } } };
"""
WALLETS = {
    "applePay": {"merchantName": "Example Shop"},
    "googlePay": {
        "environment": "PRODUCTION",
        "gateway": "example",
        "gatewayMerchantId": "m-17",
        "merchantId": "BCR2DN6T7O5Q",
        "merchantName": "Example Shop",
    },
    "key": key_of(KEY.as_dict(private=False)),
}
SESSION: Answer = gateway_config(wallets=WALLETS, applePay={"merchantSession": {"nonce": "of Apple"}})


def wallet(visit: Visit, name: str) -> Locator:
    return visit.page.get_by_role("button", name=name, exact=True)


@pytest.fixture
def offering(visit: Visit) -> Visit:
    """A store that offers both wallets, for 569.50 UAH."""
    visit.saleor.set_answers(OFFER, gateway_config(wallets=WALLETS))
    visit.saleor.set_answers(OWED, owed(569.5), owed(0, authorized="FULL"))
    visit.saleor.set_answers(START, PAID)
    return visit


def opened(visit: Visit, attempt: int = 0) -> dict[str, Any]:
    """Return what the kit has encrypted for the app."""
    data = visit.saleor.variables(START)[attempt]["gateway"]["data"]
    assert len(data["browserFingerprint"]) == 9
    plaintext = jwe.decrypt_compact(data["card"], KEY, ALGORITHMS).plaintext
    assert plaintext is not None
    content: dict[str, Any] = json.loads(plaintext)
    assert content.pop("at")
    assert content.pop("for") == CHECKOUT
    return content


async def test_apples_sheet_opens_with_the_amount_and_pays(offering: Visit) -> None:
    await offering.page.add_init_script(APPLE)
    await offering.open()
    offering.saleor.set_answers(OFFER, SESSION)
    await wallet(offering, "Apple Pay").click()
    await offering.wait_for_state("paid")
    sheet = await offering.page.evaluate("window.sheet")
    assert sheet == {
        "version": 3,
        "gesture": True,
        "request": {
            "countryCode": "UA",
            "currencyCode": "UAH",
            "supportedNetworks": ["visa", "masterCard"],
            "merchantCapabilities": ["supports3DS"],
            "total": {"label": "Example Shop", "amount": "569.50", "type": "final"},
        },
        "session": {"nonce": "of Apple"},
        "ended": 0,
    }
    asked = offering.saleor.variables(OFFER)[-1]
    assert asked["data"] == {"applePay": {"validationUrl": APPLES}}
    assert opened(offering) == {"applePay": {"paymentData": "by Apple"}}
    assert offering.complaints == []


async def test_googles_sheet_opens_with_the_amount_and_pays(offering: Visit) -> None:
    await offering.page.add_init_script(GOOGLE)
    await offering.open(amount="200", country="PL")
    await wallet(offering, "Google Pay").click()
    await offering.wait_for_state("paid")
    sheet = await offering.page.evaluate("window.sheet")
    assert sheet["options"] == {"environment": "PRODUCTION"}
    assert sheet["request"]["merchantInfo"] == {"merchantId": "BCR2DN6T7O5Q", "merchantName": "Example Shop"}
    assert sheet["request"]["transactionInfo"] == {
        "totalPriceStatus": "FINAL", "totalPrice": "200.00", "currencyCode": "UAH", "countryCode": "PL",
    }  # fmt: skip
    [method] = sheet["request"]["allowedPaymentMethods"]
    assert method["tokenizationSpecification"]["parameters"] == {"gateway": "example", "gatewayMerchantId": "m-17"}
    assert opened(offering) == {"googlePay": "by Google"}
    assert offering.saleor.variables(START)[0]["amount"] == 200


async def test_no_more_is_asked_for_than_the_sheet_has_named(offering: Visit) -> None:
    """The basket grows while the sheet is open: what the shopper has agreed to is a part of it."""
    await offering.page.add_init_script(GOOGLE)
    await offering.open()
    offering.saleor.set_answers(OWED, owed(800))
    grows = """async () => {
      const kit = document.querySelector("gateway-payment");
      const again = new Promise((resolve) => kit.addEventListener("gateway-payment-ready", resolve));
      kit.refresh();
      await again;
      return { paymentMethodData: { tokenizationData: { token: "by Google" } } };
    }"""
    await offering.page.evaluate(f"() => {{ google.payments.api.PaymentsClient.prototype.loadPaymentData = {grows}; }}")
    await wallet(offering, "Google Pay").dispatch_event("click")  # once: the button is drawn anew meanwhile
    async with unless_it_hangs():
        while not offering.saleor.times(START):  # noqa: ASYNC110 - a page of another process tells by asking
            await asyncio.sleep(0.02)
    assert [asked["amount"] for asked in offering.saleor.variables(START)] == [569.5]


@pytest.mark.parametrize(("script", "name"), [(APPLE, "Apple Pay"), (GOOGLE, "Google Pay")])
async def test_whoever_leaves_the_sheet_has_paid_nothing(offering: Visit, script: str, name: str) -> None:
    await offering.page.add_init_script(script)
    await offering.open()
    await offering.page.evaluate("window.shopper = 'leaves'")
    await wallet(offering, name).click()
    await offering.wait_for_state("ready")
    await expect(wallet(offering, name)).to_have_attribute("aria-disabled", "false")
    assert offering.saleor.times(START) == 0
    assert offering.complaints == []


async def test_a_sheet_without_apples_session_closes_and_says_why(offering: Visit) -> None:
    await offering.page.add_init_script(APPLE)
    await offering.open()
    refused = gateway_config(
        wallets=WALLETS, errors=[{"code": "WALLET_NOT_ENABLED", "message": "Register the domain."}]
    )
    offering.saleor.set_answers(OFFER, refused)
    await wallet(offering, "Apple Pay").click()
    await offering.wait_for_state("ready")
    await expect(wallet(offering, "Apple Pay")).to_have_attribute("aria-disabled", "false")
    assert (await offering.page.evaluate("window.sheet.ended")) == "aborted"
    assert [complaint for complaint in offering.complaints if "WALLET_NOT_ENABLED: Register the domain." in complaint]
    assert offering.saleor.times(START) == 0


async def test_a_decline_is_told_to_the_sheet_and_the_next_try_is_another_payment(offering: Visit) -> None:
    offering.saleor.set_answers(START, refused_session("4009", "No money."), PAID)
    await offering.page.add_init_script(APPLE)
    await offering.open()
    offering.saleor.set_answers(OFFER, SESSION)
    await wallet(offering, "Apple Pay").click()
    await offering.wait_for_state("declined")
    await expect(message(offering.page)).to_contain_text("No money.")
    assert (await offering.page.evaluate("window.sheet.ended")) == 1
    await wallet(offering, "Apple Pay").click()
    await offering.wait_for_state("paid")
    first, second = offering.saleor.variables(START)
    assert first["idempotencyKey"] != second["idempotencyKey"]


async def test_a_lost_answer_is_asked_again_with_the_same_token_and_key(offering: Visit) -> None:
    offering.saleor.set_answers(START, 503, PAID)
    await offering.page.add_init_script(GOOGLE)
    await offering.open()
    await wallet(offering, "Google Pay").click()
    await offering.wait_for_state("error")
    await button(offering.page, "Try again").click()
    await offering.wait_for_state("paid")
    first, second = offering.saleor.variables(START)
    assert first["idempotencyKey"] == second["idempotencyKey"]
    assert opened(offering, 0) == opened(offering, 1)


async def test_what_is_not_offered_is_told_on_the_console(offering: Visit) -> None:
    offering.saleor.set_answers(
        OFFER, gateway_config(wallets={"key": WALLETS["key"], "googlePay": WALLETS["googlePay"]})
    )
    async with offering.page.expect_console_message(lambda message: message.type == "info") as found:
        await offering.open(mode="direct", no_qr="")
    told = (await found.value).text
    assert told == (
        "<gateway-payment>: not offered here: saved cards (no `customerToken`), "
        "the card form (the store takes no cards on this page), Apple Pay (the store does not offer it), "
        "Google Pay (the page has not loaded Google's script)"
    )
    assert offering.complaints == []


async def test_a_shopper_without_a_card_at_google_has_no_button(offering: Visit) -> None:
    await offering.page.add_init_script(GOOGLE.replace('"agrees"', '"has no card"'))
    async with offering.page.expect_console_message(lambda message: "Google cannot be used" in message.text):
        await offering.open()
    await expect(wallet(offering, "Google Pay")).to_have_count(0)


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("uk", "dark")])
async def test_everybody_can_read_and_use_them(offering: Visit, language: str, scheme: Any) -> None:
    await offering.page.add_init_script(APPLE + GOOGLE)
    await offering.page.emulate_media(color_scheme=scheme)
    await offering.page.set_viewport_size({"width": 360, "height": 900})
    await offering.open(language)
    await expect(wallet(offering, "Apple Pay")).to_be_visible()
    await expect(wallet(offering, "Google Pay")).to_be_visible()
    wide = await offering.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert (await faults(offering.page), wide) == ([], 0)
