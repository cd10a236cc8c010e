"""The kit beside a Saleor that says what a test wants: every state, what is asked, and what the storefront hears."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from joserfc import jwe
from joserfc.jwk import RSAKey
from playwright.async_api import expect

from tests.journeys.card_shop import GOOD
from tests.pages.sight import faults
from tests.payments.cards.seals import ALGORITHMS
from tests.storefront_kit.conftest import (
    CHECKOUT,
    OFFER,
    PROCESS,
    REFERENCE,
    START,
    TRANSACTION,
    Visit,
    gateway_config,
    key_of,
    refused_session,
    session,
)
from tests.storefront_kit.shop import button, events_of, message, type_card, wait_for_events

pytestmark = [pytest.mark.browser, pytest.mark.long]

PAID = session("CHARGE_SUCCESS")
PAGE = {"checkoutUrl": "https://pay.example.net/checkout/1", "expiresAt": "2099-01-01T00:00:00Z"}
OPEN = session("CHARGE_ACTION_REQUIRED", PAGE)
BUSY_AT_IT = refused_session("CREATION_UNKNOWN", "Your payment is being processed.", event="CHARGE_ACTION_REQUIRED")
STAYS = "kit.addEventListener('gateway-payment-redirect', (event) => event.preventDefault());"
NOT_ENOUGH = {
    "en": "There is not enough money on the card. Please top it up or use another card.",
    "uk": "На картці недостатньо коштів. Будь ласка, поповніть її або використайте іншу картку.",
}


async def presses(visit: Visit, name: str = "Pay") -> None:
    await button(visit.page, name).click()


async def test_a_double_click_and_impatient_keys_begin_one_payment(visit: Visit) -> None:
    visit.saleor.set_answers(START, PAID)
    await visit.open()
    visit.saleor.gate.clear()
    await button(visit.page).dblclick()
    for _ in range(3):
        await visit.page.keyboard.press("Enter")
    await expect(button(visit.page)).to_have_attribute("aria-disabled", "true")
    visit.saleor.gate.set()
    await visit.wait_for_state("paid")
    assert visit.saleor.times(START) == 1
    [paid] = await events_of(visit.page, "paid")
    assert paid == {"transactionId": TRANSACTION, "confirmed": True}
    assert visit.complaints == []


async def test_everything_that_is_missing_is_told_at_once(visit: Visit) -> None:
    await visit.open(saleor_api_url="", checkout_id=" ", return_url="javascript:alert(1)", state="error")
    [error] = await events_of(visit.page, "error")
    assert error["kind"] == "setup"
    assert error["attributes"] == ["saleor-api-url", "checkout-id", "return-url"]
    await expect(message(visit.page)).to_contain_text("saleor-api-url, checkout-id, return-url")
    assert visit.saleor.asked == []
    assert [complaint for complaint in visit.complaints if "saleor-api-url, checkout-id, return-url" in complaint]
    # A framework that sets them later is all right.
    await visit.evaluates(
        f"for (const [name, value] of [['saleor-api-url', '/graphql/'], ['checkout-id', '{CHECKOUT}'], "
        "['return-url', '/checkout']]) kit.setAttribute(name, value);"
    )
    await visit.wait_for_state("ready")
    assert visit.saleor.times(OFFER) == 1


async def test_what_is_asked_says_where_the_shopper_comes_back_and_in_which_language(visit: Visit) -> None:
    visit.saleor.set_answers(START, PAID)
    await visit.open("uk-UA", gateway_id="another.app")
    await visit.evaluates("kit.customer = { phone: '+380501234567' };")
    await presses(visit, "Оплатити")
    await visit.wait_for_state("paid")
    await expect(message(visit.page)).to_contain_text("Оплату отримано")
    [asked] = visit.saleor.variables(START)
    assert asked["gateway"] == {
        "id": "another.app",
        "data": {
            "returnUrl": f"{visit.shop.url}/checkout",
            "language": "uk",
            "customer": {"phone": "+380501234567"},
        },
    }
    assert len(asked["idempotencyKey"]) == 32
    assert visit.saleor.variables(OFFER) == [{"id": CHECKOUT, "gateway": "another.app"}]


@pytest.mark.parametrize("code", ["ua", "UA-ua", "ukr"])
async def test_page_that_calls_ukrainian_otherwise_gets_it_too(visit: Visit, code: str) -> None:
    visit.saleor.set_answers(START, PAID)
    await visit.open(code)
    await presses(visit, "Оплатити")
    await visit.wait_for_state("paid")
    assert [asked["gateway"]["data"]["language"] for asked in visit.saleor.variables(START)] == ["uk"]


async def test_attempt_is_remembered_where_the_shops_storage_is_full(visit: Visit) -> None:
    visit.saleor.set_answers(START, OPEN)
    visit.saleor.set_answers(PROCESS, OPEN)
    await visit.page.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('it is full', 'QuotaExceededError'); };"
    )
    await visit.open()
    await visit.evaluates(STAYS)
    await presses(visit)
    await wait_for_events(visit.page, "redirect")
    await visit.evaluates("kit.refresh();")
    await visit.wait_for_state("ready")
    await presses(visit)
    assert (visit.saleor.times(START), visit.saleor.times(PROCESS)) == (1, 1)


async def test_the_attribute_language_goes_before_the_documents(visit: Visit) -> None:
    await visit.open("uk", language="en", label="Pay 569.50 UAH")
    await expect(button(visit.page, "Pay 569.50 UAH")).to_be_visible()
    await expect(message(visit.page)).to_contain_text("You pay on the payment page")


async def test_it_looks_as_the_storefront_wants(visit: Visit) -> None:
    await visit.open()
    await expect(button(visit.page)).to_have_css("background-color", "rgb(0, 90, 60)")
    await expect(button(visit.page)).to_have_css("text-transform", "uppercase")


async def test_a_lost_answer_is_asked_again_under_the_same_key(visit: Visit) -> None:
    visit.saleor.set_answers(START, 503, PAID)
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("error")
    await expect(message(visit.page)).to_be_focused()
    assert (await events_of(visit.page, "error"))[0]["kind"] == "network"
    await presses(visit, "Try again")
    await visit.wait_for_state("paid")
    first, second = visit.saleor.variables(START)
    assert first["idempotencyKey"] == second["idempotencyKey"]


async def test_an_answer_that_never_comes_is_given_up(visit: Visit) -> None:
    visit.saleor.set_answers(START, PAID)
    await visit.open()
    visit.saleor.gate.clear()
    await presses(visit)
    await visit.pass_time(1, until=lambda: visit.saleor.times(START) == 1)
    await visit.pass_time(46)
    await visit.wait_for_state("error")
    visit.saleor.gate.set()
    await presses(visit, "Try again")
    await visit.wait_for_state("paid")
    assert len({variable["idempotencyKey"] for variable in visit.saleor.variables(START)}) == 1


async def test_a_reload_goes_on_with_the_same_attempt(visit: Visit) -> None:
    visit.saleor.set_answers(START, 503)
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("error")
    visit.saleor.set_answers(START, PAID)
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("paid")
    first, second = visit.saleor.variables(START)
    assert first["idempotencyKey"] == second["idempotencyKey"]
    visit.saleor.set_answers(PROCESS, PAID)
    await visit.open(state="paid")
    assert visit.saleor.times(START) == 2


@pytest.mark.parametrize(
    ("first", "amounts", "state"),
    [
        ("CHARGE_FAILURE", {"charged": 569.5}, "paid"),
        ("CHARGE_FAILURE", {"chargePending": 569.5}, "paid"),
        ("AUTHORIZATION_FAILURE", {"authorized": 569.5}, "reserved"),
        ("AUTHORIZATION_FAILURE", {"charged": 569.5}, "reserved"),
        ("CHARGE_FAILURE", {"refunded": 569.5}, "declined"),
        ("CHARGE_FAILURE", {}, "declined"),
        ("CHARGE_REQUEST", {"chargePending": 569.5}, "paid"),
        ("CHARGE_REQUEST", {"refunded": 569.5}, "paid"),
        ("CHARGE_REQUEST", {}, "declined"),
        ("AUTHORIZATION_REQUEST", {}, "declined"),
        ("CHARGE_SUCCESS", {"refunded": 569.5}, "paid"),
    ],
)
async def test_first_outcome_that_saleor_names_is_not_the_last(
    visit: Visit, first: str, amounts: dict[str, float], state: str
) -> None:
    """Another card has paid on the same page, or what was at the bank has failed: Saleor names what it heard first."""
    visit.saleor.set_answers(START, session(first, amounts=amounts))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state(state)
    assert len(await events_of(visit.page, {"declined": "failed"}.get(state, state))) == 1


@pytest.mark.parametrize("language", ["en", "uk"])
@pytest.mark.parametrize("by_itself", [False, True], ids=["the app answers", "Saleor answers by itself"])
async def test_a_decline_says_why_and_another_try_is_another_payment(
    visit: Visit, language: str, by_itself: bool
) -> None:
    said = {"errors": [{"code": "4009", "message": NOT_ENOUGH[language]}]}
    words = "Insufficient funds [4009]."
    visit.saleor.set_answers(START, session("CHARGE_FAILURE", None if by_itself else said, words=words), PAID)
    await visit.open(language)
    await presses(visit, {"en": "Pay", "uk": "Оплатити"}[language])
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).to_contain_text(NOT_ENOUGH[language])
    await expect(message(visit.page)).to_be_focused()
    [failed] = await events_of(visit.page, "failed")
    assert (failed["code"], failed["message"]) == ("4009", NOT_ENOUGH[language])
    await presses(visit, {"en": "Try again", "uk": "Спробувати ще раз"}[language])
    await visit.wait_for_state("paid")
    first, second = visit.saleor.variables(START)
    assert first["idempotencyKey"] != second["idempotencyKey"]


async def test_what_is_left_to_pay_is_another_payment(visit: Visit) -> None:
    visit.saleor.set_answers(PROCESS, PAID)
    visit.saleor.set_answers(START, PAID)
    await visit.open(transactionId=TRANSACTION, state="paid")
    await visit.evaluates("kit.reset();")
    await visit.wait_for_state("ready")
    assert "transactionId" not in visit.page.url
    await presses(visit)
    await visit.wait_for_state("paid")
    assert visit.saleor.times(START) == 1


TOO_HIGH = "Less is left to pay than this amount, and nothing was charged. Please reload the page and try again."


@pytest.mark.parametrize("code", ["AMOUNT_TOO_HIGH", "ALREADY_PAID"])
async def test_what_saleor_requests_too_much_is_requested_again_as_another_payment(visit: Visit, code: str) -> None:
    """A gift card pays a part, which Saleor's default amount ignores; or another payment has paid one."""
    visit.saleor.set_answers(START, refused_session(code, TOO_HIGH, amountToPay=369.5), 503, PAID)
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("error")
    await presses(visit, "Try again")
    await visit.wait_for_state("paid")
    first, second, third = visit.saleor.variables(START)
    assert "amount" not in first
    assert (second["amount"], third["amount"]) == (369.5, 369.5)
    assert first["idempotencyKey"] != second["idempotencyKey"] == third["idempotencyKey"]
    assert await events_of(visit.page, "failed") == []


async def test_what_is_too_much_once_more_is_told(visit: Visit) -> None:
    visit.saleor.set_answers(START, refused_session("AMOUNT_TOO_HIGH", TOO_HIGH, amountToPay=369.5))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).to_contain_text(TOO_HIGH)
    assert [asked.get("amount") for asked in visit.saleor.variables(START)] == [None, 369.5]
    await presses(visit, "Try again")  # and begins anew, over whatever Saleor says then
    await visit.wait_for_state("declined")
    assert visit.saleor.variables(START)[2].get("amount") is None


@pytest.mark.parametrize("code", ["ALREADY_PAID", "INVALID_AMOUNT"])
async def test_nothing_is_requested_when_nothing_is_left(visit: Visit, code: str) -> None:
    visit.saleor.set_answers(START, refused_session(code, amountToPay=0))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("paid")
    assert visit.saleor.times(START) == 1


async def test_what_may_still_be_paid_by_another_attempt_is_not_requested_again(visit: Visit) -> None:
    visit.saleor.set_answers(START, refused_session("PAYMENT_IN_PROGRESS", "Your bank ...", amountToPay=40))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    assert visit.saleor.times(START) == 1


async def test_nobody_is_told_that_it_failed_while_another_attempt_is_at_the_bank(visit: Visit) -> None:
    words = "Your bank is processing your payment. Please wait a moment, and do not pay again."
    visit.saleor.set_answers(START, refused_session("PAYMENT_IN_PROGRESS", words))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).to_contain_text(words)
    await expect(message(visit.page)).not_to_contain_text("did not go through")


async def test_words_for_developers_are_not_shown_to_shoppers(visit: Visit) -> None:
    words = "The shopper's phone number is missing: pass it."
    visit.saleor.set_answers(START, refused_session("MISSING_PHONE", words, field="data.customer.phone"))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).to_have_text(re.compile("The payment did not go through.*received no money"))
    [failed] = await events_of(visit.page, "failed")
    assert failed["details"] == words
    assert [complaint for complaint in visit.complaints if "MISSING_PHONE" in complaint]


async def test_developers_read_everything_that_is_missing_at_once(visit: Visit) -> None:
    missing = [{"code": code, "message": f"Pass it: {code}."} for code in ("MISSING_PHONE", "MISSING_EMAIL")]
    visit.saleor.set_answers(START, session("CHARGE_FAILURE", {"errors": missing}))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    for error in missing:
        assert [said for said in visit.complaints if f"{error['code']}: {error['message']}" in said]


async def test_a_card_number_where_a_name_belongs_is_told_to_whoever_typed_it(visit: Visit) -> None:
    words = "Please remove the card number from your name."
    visit.saleor.set_answers(START, refused_session("CARD_DATA_REFUSED", words, field="data.customer.firstName"))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).to_contain_text(words)


async def test_card_data_in_a_field_of_the_storefront_is_told_to_its_developers_only(visit: Visit) -> None:
    visit.saleor.set_answers(START, refused_session("CARD_DATA_REFUSED", "Never pass `data.pan`.", field="data.pan"))
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).not_to_contain_text("data.pan")


async def test_what_no_other_attempt_can_change_offers_none(visit: Visit) -> None:
    visit.saleor.set_answers(
        START, refused_session("4124", "The payment could not be accepted. Please contact the store.")
    )
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).to_contain_text("Please contact the store")
    await expect(button(visit.page, "Try again")).to_be_hidden()


@pytest.mark.parametrize("code", ["4149", "6007"])
async def test_a_page_that_is_closed_is_said_to_be(visit: Visit, code: str) -> None:
    visit.saleor.set_answers(PROCESS, session("CHARGE_FAILURE", words=f"Closed [{code}]."))
    await visit.open(transactionId=TRANSACTION, state="expired")
    await expect(message(visit.page)).to_contain_text("This payment is closed")
    await expect(button(visit.page, "Try again")).to_be_visible()


async def test_a_reservation_and_a_bank_that_is_still_at_it(visit: Visit) -> None:
    visit.saleor.set_answers(PROCESS, session("AUTHORIZATION_REQUEST"))
    await visit.open(transactionId=TRANSACTION, state="reserved")
    assert await events_of(visit.page, "reserved") == [{"transactionId": TRANSACTION, "confirmed": False}]


@pytest.mark.parametrize(
    "answer",
    [
        {"gatewayConfigs": [{"data": {"available": False, "errors": [{"code": "X", "message": "Why"}]}}], "errors": []},
        {"gatewayConfigs": [{"data": None, "errors": [{"code": "X", "message": "Why"}]}], "errors": []},
        {"gatewayConfigs": None, "errors": [{"code": "X", "message": "Why"}]},
    ],
    ids=["the app", "no answer of the app", "Saleor"],
)
async def test_what_is_not_available_is_said_to_be(visit: Visit, answer: dict[str, Any]) -> None:
    visit.saleor.set_answers(OFFER, answer)
    await visit.open(state="unavailable")
    assert await events_of(visit.page, "unavailable") == [{"code": "X", "message": "Why"}]
    await expect(button(visit.page)).to_be_hidden()


async def test_it_asks_less_and_less_often_and_stops(visit: Visit) -> None:
    visit.saleor.set_answers(START, BUSY_AT_IT)
    visit.saleor.set_answers(PROCESS, BUSY_AT_IT)
    await visit.stop_clock()
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("waiting")
    await expect(message(visit.page)).to_contain_text("Your payment is being processed.")
    asked_at: list[int] = []
    for second in range(240):
        await visit.pass_seconds(1)
        if visit.saleor.times(PROCESS) > len(asked_at):
            asked_at.append(second)
    pauses = [later - earlier for earlier, later in pairwise(asked_at)]
    assert asked_at[0] <= 3
    assert pauses[-1] >= 14
    assert max(pauses) <= 17
    assert len(asked_at) < 25
    await expect(message(visit.page)).to_contain_text("do not pay again")
    visit.saleor.set_answers(PROCESS, PAID)
    await presses(visit, "Check again")
    await visit.wait_for_state("paid")
    assert visit.saleor.times(START) == 1


async def test_a_review_stops_everything(visit: Visit) -> None:
    words = "The store is checking your payment. Please do not pay again, and contact the store."
    visit.saleor.set_answers(START, refused_session("UNDER_REVIEW", words, event="CHARGE_ACTION_REQUIRED"))
    await visit.open()
    await presses(visit)
    await expect(message(visit.page)).to_contain_text(words)
    await visit.pass_time(60)
    assert visit.saleor.times(PROCESS) == 0
    await expect(button(visit.page)).to_be_hidden()
    assert (await events_of(visit.page, "waiting"))[-1] == {
        "transactionId": TRANSACTION, "reason": "review", "code": "UNDER_REVIEW",
    }  # fmt: skip


@pytest.mark.threat("open-redirect")
@pytest.mark.parametrize("address", ["http://pay.example.net/1", "javascript:alert(1)", "data:text/html,x", "/here"])
async def test_a_browser_is_sent_to_no_unsafe_address(visit: Visit, address: str) -> None:
    visit.saleor.set_answers(START, session("CHARGE_ACTION_REQUIRED", {"checkoutUrl": address}))
    await visit.open()
    here = visit.page.url
    await presses(visit)
    await visit.wait_for_state("declined")
    assert visit.page.url == here
    assert await events_of(visit.page, "redirect") == []


async def test_a_storefront_can_lead_on_by_itself(visit: Visit) -> None:
    visit.saleor.set_answers(START, OPEN)
    await visit.open()
    await visit.evaluates(STAYS)
    here = visit.page.url
    await presses(visit)
    assert await wait_for_events(visit.page, "redirect") == [{"transactionId": TRANSACTION, "url": PAGE["checkoutUrl"]}]
    assert visit.page.url == here


async def test_the_old_key_is_given_up_when_saleor_says_that_it_is_used(visit: Visit) -> None:
    unique = {
        "transaction": None,
        "transactionEvent": None,
        "data": None,
        "errors": [{"code": "UNIQUE", "message": ""}],
    }
    visit.saleor.set_answers(START, unique, PAID)
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("paid")
    first, second = visit.saleor.variables(START)
    assert first["idempotencyKey"] != second["idempotencyKey"]


async def test_the_code_stands_beside_the_button_where_there_is_room(visit: Visit) -> None:
    visit.saleor.set_answers(START, OPEN)
    visit.saleor.set_answers(PROCESS, OPEN)
    code = visit.page.get_by_role("button", name="Pay with your phone: show the QR code")
    await visit.open()
    await expect(code).to_be_visible()
    await visit.page.set_viewport_size({"width": 400, "height": 800})
    await expect(code).to_be_hidden()
    await visit.page.set_viewport_size({"width": 900, "height": 900})
    async with visit.page.expect_request(f"{visit.shop.url}/pay/{REFERENCE}.svg"):
        await code.click()
    await expect(message(visit.page)).to_contain_text("Scan the code")
    await expect(visit.page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    await visit.pass_time(3, until=lambda: visit.saleor.times(PROCESS) >= 1)
    visit.saleor.set_answers(PROCESS, PAID)
    await visit.pass_time(10, until=lambda: visit.saleor.times(PROCESS) > 1)
    await visit.wait_for_state("paid")
    assert visit.saleor.times(START) == 1


async def test_whoever_shows_the_code_and_pays_here_after_all_pays_the_same_payment(visit: Visit) -> None:
    visit.saleor.set_answers(START, OPEN)
    await visit.open()
    await visit.evaluates(STAYS)
    await visit.page.get_by_role("button", name="show the QR code").click()
    await expect(message(visit.page)).to_contain_text("Scan the code")
    await presses(visit)
    assert len(await wait_for_events(visit.page, "redirect")) == 1
    assert visit.saleor.times(START) == 1


async def test_a_code_that_cannot_be_shown_leaves_the_button(visit: Visit) -> None:
    visit.saleor.set_answers(START, OPEN)
    visit.saleor.set_answers(PROCESS, OPEN)
    await visit.page.route("**/*.svg", lambda route: route.abort())
    await visit.open()
    await visit.page.get_by_role("button", name="show the QR code").click()
    await expect(message(visit.page)).to_contain_text("You can go on to the payment page.")
    await visit.evaluates(STAYS)
    await presses(visit)
    assert len(await wait_for_events(visit.page, "redirect")) == 1
    assert visit.saleor.times(START) == 1


async def test_it_can_be_imported_where_there_are_no_elements(visit: Visit) -> None:
    """As a server does that renders pages; a worker of a browser has none either."""
    await visit.page.goto(f"{visit.shop.url}/shop.css")  # a page without a policy
    worker = "import(source).then((all) => postMessage(Object.keys(all)), (error) => postMessage(String(error)))"
    imported = await visit.page.evaluate(
        """([source, says]) => new Promise((resolve) => {
          const script = new Blob([`const source = "${source}"; ${says}`], { type: "text/javascript" });
          new Worker(URL.createObjectURL(script)).onmessage = ({ data }) => resolve(data);
        })""",
        [f"{visit.shop.url}/static/gateway-payment.js", worker],
    )
    assert imported == ["GatewayPaymentElement"]


class TestCards:
    """Typed into the page, and gone from it encrypted."""

    KEY = RSAKey.generate_key(2048, {"kid": "k1", "use": "enc", "alg": "RSA-OAEP-256"})

    def offer(self) -> Any:
        """Return what a store says that takes cards in the storefront."""
        return gateway_config(modes=["hosted", "direct"], card=key_of(self.KEY.as_dict(private=False)))

    @pytest.mark.threat("card-numbers")
    async def test_what_leaves_the_page_is_encrypted_and_nothing_else_knows_it(self, visit: Visit) -> None:
        visit.saleor.set_answers(OFFER, self.offer())
        visit.saleor.set_answers(START, PAID)
        await visit.open(mode="direct")
        await visit.evaluates(
            "window.keys = []; for (const name of ['keydown', 'input', 'beforeinput', 'change', 'paste']) "
            "document.addEventListener(name, ({ key, data }) => keys.push(key ?? data));"
        )
        await type_card(visit.page, GOOD)
        await expect(visit.page.get_by_label("Card number")).to_have_value("5454 5454 5454 5454")
        assert await visit.page.evaluate("keys") == []
        await presses(visit)
        await visit.wait_for_state("paid")
        [asked] = visit.saleor.variables(START)
        sealed = jwe.decrypt_compact(asked["gateway"]["data"].pop("card"), self.KEY, ALGORITHMS)
        assert sealed.plaintext is not None
        content = json.loads(sealed.plaintext)
        assert content.pop("at")
        assert content == {"number": GOOD, "expMonth": "12", "expYear": "40", "cvv": "737", "for": CHECKOUT}
        assert len(asked["gateway"]["data"]["browserFingerprint"]) == 9
        everywhere = str(visit.saleor.asked) + str(
            await visit.page.evaluate("JSON.stringify([told, {...sessionStorage}])")
        )
        everywhere += await visit.page.locator("gateway-payment").evaluate(
            "kit => kit.outerHTML + kit.shadowRoot.innerHTML"
        )
        assert GOOD not in everywhere
        assert await visit.page.locator("gateway-payment input").evaluate_all(
            "all => all.map(({ value }) => value)"
        ) == ["", "", ""]

    @pytest.mark.parametrize("zero", ["٠", "۰", "०", "０"])
    async def test_card_is_typed_with_the_digits_of_any_keyboard(self, visit: Visit, zero: str) -> None:
        digits = str.maketrans("0123456789", "".join(chr(ord(zero) + number) for number in range(10)))
        visit.saleor.set_answers(OFFER, self.offer())
        visit.saleor.set_answers(START, PAID)
        await visit.open(mode="direct")
        await type_card(visit.page, GOOD.translate(digits), "12/40".translate(digits), "737".translate(digits))
        await expect(visit.page.get_by_label("Card number")).to_have_value("5454 5454 5454 5454")
        await presses(visit)
        await visit.wait_for_state("paid")
        [asked] = visit.saleor.variables(START)
        content = json.loads(
            jwe.decrypt_compact(asked["gateway"]["data"]["card"], self.KEY, ALGORITHMS).plaintext or b""
        )
        assert (content["number"], content["expMonth"], content["expYear"], content["cvv"]) == (GOOD, "12", "40", "737")

    async def test_what_cannot_be_right_is_told_at_its_field_before_anything_is_asked(self, visit: Visit) -> None:
        visit.saleor.set_answers(OFFER, self.offer())
        await visit.open("uk", mode="direct")
        await presses(visit, "Оплатити")
        number = visit.page.get_by_label("Номер картки")
        await expect(number).to_be_focused()
        await expect(number).to_have_attribute("aria-invalid", "true")
        await expect(number).to_have_accessible_description("Номер картки неправильний. Будь ласка, перевірте його.")
        await number.press_sequentially(GOOD)
        await expect(number).to_have_attribute("aria-invalid", "false")
        await presses(visit, "Оплатити")
        await expect(visit.page.get_by_label("Термін дії")).to_be_focused()
        assert visit.saleor.times(START) == 0

    async def test_what_the_app_says_of_a_field_is_told_there(self, visit: Visit) -> None:
        visit.saleor.set_answers(OFFER, self.offer())
        words = "The card's security code is not valid."
        visit.saleor.set_answers(START, refused_session("INVALID_CARD", words, field="data.card.cvv"), PAID)
        await visit.open(mode="direct")
        await type_card(visit.page, GOOD)
        await presses(visit)
        await visit.wait_for_state("declined")
        await expect(message(visit.page)).to_contain_text(words)
        code = visit.page.get_by_label("Security code")
        await expect(code).to_be_focused()
        await expect(code).to_have_value("")
        await code.press_sequentially("737")
        await code.press("Enter")
        await visit.wait_for_state("paid")
        first, second = visit.saleor.variables(START)
        assert first["idempotencyKey"] != second["idempotencyKey"]

    async def test_a_page_that_was_open_for_long_encrypts_for_the_new_key(self, visit: Visit) -> None:
        visit.saleor.set_answers(OFFER, self.offer())
        visit.saleor.set_answers(START, refused_session("SEAL_OUTDATED", "Fetch the key again."), PAID)
        await visit.open(mode="direct")
        await type_card(visit.page, GOOD)
        await presses(visit)
        await visit.wait_for_state("paid")
        assert visit.saleor.times(OFFER) == 2
        first, second = visit.saleor.variables(START)
        assert first["idempotencyKey"] != second["idempotencyKey"]
        assert first["gateway"]["data"]["card"] != second["gateway"]["data"]["card"]

    async def test_the_bank_may_want_to_see_the_shopper(self, visit: Visit) -> None:
        visit.saleor.set_answers(OFFER, self.offer())
        visit.saleor.set_answers(
            START, session("CHARGE_ACTION_REQUIRED", {"redirectUrl": "https://bank.example.net/3ds"})
        )
        await visit.open(mode="direct")
        await visit.evaluates(STAYS)
        await type_card(visit.page, GOOD)
        await presses(visit)
        assert (await wait_for_events(visit.page, "redirect"))[0]["url"] == "https://bank.example.net/3ds"

    async def test_whoever_is_back_from_the_bank_too_early_goes_there_again(self, visit: Visit) -> None:
        visit.saleor.set_answers(OFFER, self.offer())
        visit.saleor.set_answers(
            PROCESS, session("CHARGE_ACTION_REQUIRED", {"redirectUrl": "https://bank.example.net/3ds"})
        )
        await visit.stop_clock()
        await visit.open(mode="direct", transactionId=TRANSACTION, state="waiting")
        await visit.pass_seconds(25)
        await visit.wait_for_state("ready")
        await expect(message(visit.page)).to_contain_text("Not paid yet")
        await expect(visit.page.get_by_label("Card number")).to_have_count(0)
        await expect(visit.page.get_by_role("button", name="show the QR code")).to_be_hidden()
        await visit.evaluates(STAYS)
        await presses(visit)
        assert (await wait_for_events(visit.page, "redirect"))[0]["url"] == "https://bank.example.net/3ds"
        assert visit.saleor.times(START) == 0

    async def test_a_store_that_takes_no_cards_here_has_its_payment_page(self, visit: Visit) -> None:
        visit.saleor.set_answers(START, PAID)
        await visit.open(mode="direct")
        await expect(visit.page.get_by_label("Card number")).to_have_count(0)
        await presses(visit)
        await visit.wait_for_state("paid")


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("uk", "dark")])
@pytest.mark.parametrize("mode", ["hosted", "direct"])
@pytest.mark.parametrize("width", [900, 360])
async def test_everybody_can_read_and_use_it_and_nothing_jumps(
    visit: Visit, language: str, scheme: Any, mode: str, width: int
) -> None:
    await visit.page.set_viewport_size({"width": width, "height": 900})
    await visit.page.emulate_media(color_scheme=scheme)
    visit.saleor.set_answers(OFFER, TestCards().offer())
    visit.saleor.set_answers(START, refused_session("4009", NOT_ENOUGH[language]))
    await visit.open(language, mode=mode)
    found = [f"ready: {fault}" for fault in await faults(visit.page)]
    if mode == "direct":
        await visit.page.get_by_role("button", name=re.compile("^(Pay|Оплатити)$")).click()
        found += [f"wrong: {fault}" for fault in await faults(visit.page)]
        for number, value in enumerate((GOOD, "1240", "737")):
            await visit.page.locator("gateway-payment input").nth(number).press_sequentially(value)
    await visit.page.get_by_role("button", name=re.compile("^(Pay|Оплатити)$")).click()
    await visit.wait_for_state("declined")
    found += [f"declined: {fault}" for fault in await faults(visit.page)]
    wide = await visit.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert (found, wide, visit.complaints) == ([], 0, [])
