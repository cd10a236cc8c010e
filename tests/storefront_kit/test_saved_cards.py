"""The signed-in customer's cards: listed, used and deleted with their token, and kept where they agree."""

from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.pages.sight import faults
from tests.storefront_kit.conftest import (
    DELETE,
    OFFER,
    OWED,
    SAVED,
    START,
    Visit,
    gateway_config,
    refused_session,
    session,
)
from tests.storefront_kit.shop import button, message

pytestmark = [pytest.mark.browser, pytest.mark.long]

PAID = session("CHARGE_SUCCESS")
SIGN_IN = "kit.customerToken = 'the-customers-token';"
IN_THE_CHANNEL = {"channel": {"slug": "uah"}}


def stored(number: int, name: str, app: str = "gateway.payments.app") -> dict[str, Any]:
    """Return a card as Saleor lists it."""
    info = {"expMonth": 3, "expYear": 2031}
    return {"id": f"app:{app}:card{number}", "paymentMethodId": f"card{number}", "name": name, "creditCardInfo": info}


VISA, MASTERCARD = stored(1, "Visa ****4242"), stored(2, "Mastercard ****5454") | {"creditCardInfo": None}


@pytest.fixture
def keeping(visit: Visit) -> Visit:
    """A store that keeps cards, and a customer who has two, and one with another app."""
    visit.saleor.set_answers(OFFER, gateway_config(saveCard=True))
    visit.saleor.set_answers(OWED, IN_THE_CHANNEL)
    visit.saleor.set_answers(SAVED, {"storedPaymentMethods": [VISA, MASTERCARD, stored(3, "Other", "another.app")]})
    visit.saleor.set_answers(START, PAID)
    return visit


def way(visit: Visit, name: str) -> Locator:
    """Return a saved card, or the other way to pay."""
    return visit.page.get_by_role("radio", name=name)


async def sign_in(visit: Visit, lang: str = "en", **attributes: str) -> None:
    await visit.open(lang, **attributes)
    await visit.evaluates(SIGN_IN)
    await expect(
        visit.page.get_by_role("group", name="Your saved cards" if lang == "en" else "Ваші збережені")
    ).to_be_visible()


async def test_the_customers_cards_are_listed_and_the_first_pays(keeping: Visit) -> None:
    await sign_in(keeping)
    cards = keeping.page.get_by_role("radio")
    await expect(cards).to_have_count(3)
    await expect(way(keeping, "Visa ****4242 · 03/31")).to_be_checked()
    await button(keeping.page).click()
    await keeping.wait_for_state("paid")
    [asked] = keeping.saleor.variables(START)
    data = asked["gateway"]["data"]
    assert data["savedCardId"] == "card1"
    assert len(data["browserFingerprint"]) == 9
    assert not {"card", "saveCard"} & set(data)
    sent = dict(keeping.saleor.tokens)
    assert {sent[name] for name in (OFFER, SAVED, START)} == {"Bearer the-customers-token"}
    assert keeping.saleor.variables(SAVED) == [{"channel": "uah"}]
    assert keeping.complaints == []


async def test_the_question_before_deleting_moves_nothing_on_a_phone(keeping: Visit) -> None:
    await keeping.page.set_viewport_size({"width": 360, "height": 740})
    await sign_in(keeping, "uk")
    heights = "rows => rows.map((row) => row.getBoundingClientRect().height)"
    rows = keeping.page.locator("gateway-payment [part=saved-card]")
    before = await rows.evaluate_all(heights)
    await keeping.page.get_by_role("button", name="Видалити: Visa").click()
    await expect(keeping.page.get_by_role("button", name="видалити: Visa")).to_be_focused()
    assert await rows.evaluate_all(heights) == before


async def test_a_long_name_of_a_card_stays_clear_of_its_frame(keeping: Visit) -> None:
    keeping.saleor.set_answers(SAVED, {"storedPaymentMethods": [stored(1, "Mastercard of the whole family ****5454")]})
    await keeping.page.set_viewport_size({"width": 360, "height": 740})
    await sign_in(keeping)
    row = keeping.page.locator("gateway-payment [part=saved-card]").first
    text = await row.get_by_text("Mastercard").evaluate(
        "(label) => { const all = document.createRange(); all.selectNodeContents(label.lastChild);"
        " return all.getBoundingClientRect().height; }"
    )
    assert await row.evaluate("row => row.clientHeight") - text >= 6


async def test_another_card_pays_and_another_way_leads_to_the_page(keeping: Visit) -> None:
    keeping.saleor.set_answers(START, refused_session("4009"), PAID)
    await sign_in(keeping)
    await way(keeping, "Mastercard ****5454").check()
    await button(keeping.page).click()
    await keeping.wait_for_state("declined")
    await way(keeping, "Another way to pay").check()
    await button(keeping.page, "Try again").click()
    await keeping.wait_for_state("paid")
    first, second = (asked["gateway"]["data"] for asked in keeping.saleor.variables(START))
    assert first["savedCardId"] == "card2"
    assert "savedCardId" not in second


async def test_a_lost_answer_is_asked_again_for_the_same_card_only(keeping: Visit) -> None:
    keeping.saleor.set_answers(START, 503, 503, PAID)
    await sign_in(keeping)
    await button(keeping.page).click()
    await keeping.wait_for_state("error")
    await button(keeping.page, "Try again").click()
    await expect(button(keeping.page, "Try again")).to_have_attribute("aria-disabled", "false")
    await way(keeping, "Mastercard").check()
    await button(keeping.page, "Try again").click()
    await keeping.wait_for_state("paid")
    first, second, third = (asked["idempotencyKey"] for asked in keeping.saleor.variables(START))
    assert first == second != third


async def test_a_card_is_kept_only_if_the_customer_says_so(keeping: Visit) -> None:
    keeping.saleor.set_answers(SAVED, {"storedPaymentMethods": []})
    keeping.saleor.set_answers(START, refused_session("4009"), PAID)
    await keeping.open()
    await expect(keeping.page.get_by_role("checkbox")).to_have_count(0)  # nobody has signed in
    await keeping.evaluates(SIGN_IN)
    consent = keeping.page.get_by_label("Save my card for the next time")
    await expect(consent).not_to_be_checked()
    await button(keeping.page).click()
    await keeping.wait_for_state("declined")
    await consent.check()
    await button(keeping.page, "Try again").click()
    await keeping.wait_for_state("paid")
    first, second = (asked["gateway"]["data"] for asked in keeping.saleor.variables(START))
    assert "saveCard" not in first
    assert second["saveCard"] is True


async def test_consent_belongs_to_a_card_that_is_not_saved_yet(keeping: Visit) -> None:
    await sign_in(keeping)
    consent = keeping.page.get_by_label("Save my card for the next time")
    await expect(consent).to_be_hidden()
    await way(keeping, "Another way to pay").check()
    await consent.check()
    await way(keeping, "Visa").check()
    await button(keeping.page).click()
    await keeping.wait_for_state("paid")
    assert "saveCard" not in keeping.saleor.variables(START)[0]["gateway"]["data"]


async def test_a_card_is_deleted_by_whoever_presses_twice(keeping: Visit) -> None:
    keeping.saleor.set_answers(DELETE, {"result": "SUCCESSFULLY_DELETED", "errors": []})
    await sign_in(keeping)
    await keeping.page.get_by_role("button", name="Delete: Visa").click()
    assert keeping.saleor.times(DELETE) == 0
    await keeping.page.get_by_role("button", name="Really delete: Visa").click()
    await expect(message(keeping.page)).to_contain_text("The card is deleted.")
    await expect(message(keeping.page)).to_be_focused()
    await expect(way(keeping, "Visa")).to_have_count(0)
    assert keeping.saleor.variables(DELETE) == [{"id": VISA["id"], "channel": "uah"}]
    assert keeping.saleor.times(START) == 0


@pytest.mark.parametrize(
    "answer", [503, {"result": "FAILED_TO_DELETE", "errors": [{"code": "GATEWAY_ERROR", "message": "No such card."}]}]
)
async def test_a_card_that_was_not_deleted_stays_and_nothing_is_paid_instead(keeping: Visit, answer: Any) -> None:
    keeping.saleor.set_answers(DELETE, answer)
    await sign_in(keeping)
    await keeping.page.get_by_role("button", name="Delete: Visa").click()
    await keeping.page.get_by_role("button", name="Really delete: Visa").click()
    await expect(message(keeping.page)).to_contain_text("The card was not deleted.")
    await expect(way(keeping, "Visa ****4242")).to_have_count(1)
    await keeping.wait_for_state("ready")
    assert keeping.saleor.times(START) == 0


async def test_a_card_that_cannot_be_used_is_no_longer_offered(keeping: Visit) -> None:
    words = "This saved card cannot be used. Please pay in another way."
    keeping.saleor.set_answers(START, refused_session("SAVED_CARD_UNUSABLE", words))
    await sign_in(keeping)
    await button(keeping.page).click()
    await expect(message(keeping.page)).to_contain_text(words)
    await expect(way(keeping, "Visa")).to_have_count(0)
    await expect(way(keeping, "Mastercard")).to_be_checked()


async def test_without_a_token_no_card_is_asked_for(keeping: Visit) -> None:
    await keeping.open()
    await expect(button(keeping.page)).to_be_visible()
    assert keeping.saleor.times(SAVED) == 0
    assert {token for _, token in keeping.saleor.tokens} == {None}


async def test_a_token_may_be_fetched_for_each_request(keeping: Visit) -> None:
    await keeping.open()
    await keeping.evaluates("let n = 0; kit.customerToken = async () => `token-${n += 1}`; kit.refresh();")
    await expect(way(keeping, "Visa")).to_have_count(1)
    told = [token for _, token in keeping.saleor.tokens if token]
    assert len(told) == len(set(told)) >= 3


async def test_a_token_that_has_expired_leaves_a_guest(keeping: Visit) -> None:
    expired = {"message": "Signature has expired", "extensions": {"exception": {"code": "ExpiredSignatureError"}}}
    await keeping.open()
    keeping.saleor.set_answers(OFFER, expired, gateway_config())
    await keeping.evaluates(SIGN_IN)
    await keeping.wait_for_state("ready")
    await button(keeping.page).click()
    await keeping.wait_for_state("paid")
    assert [token for mutation, token in keeping.saleor.tokens if mutation == START] == [None]
    assert [complaint for complaint in keeping.complaints if "customerToken" in complaint]


async def test_a_token_that_was_set_before_the_file_was_loaded_counts(keeping: Visit) -> None:
    await keeping.page.add_init_script(
        "document.addEventListener('readystatechange', () => Object.assign("
        "document.querySelector('gateway-payment'), { customerToken: 'early' }), { once: true });"
    )
    await keeping.open()
    await expect(way(keeping, "Visa")).to_have_count(1)


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("uk", "dark")])
@pytest.mark.parametrize("width", [900, 360])
async def test_everybody_can_read_and_use_them(keeping: Visit, language: str, scheme: Any, width: int) -> None:
    await keeping.page.set_viewport_size({"width": width, "height": 900})
    await keeping.page.emulate_media(color_scheme=scheme)
    await sign_in(keeping, language)
    found = await faults(keeping.page)
    await keeping.page.get_by_role("radio").last.check()
    found += await faults(keeping.page)
    wide = await keeping.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert (found, wide, keeping.complaints) == ([], 0, [])
