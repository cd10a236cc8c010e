"""Forms to which no answer of the app comes: what they asked for may be done, and nothing is done twice."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser, FrameLocator, Locator, Page, Route, expect

from integration_base_tests.loopback import Reply, json_reply
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import dashboard_of, sign_in
from tests.dashboard.payouts.test_payouts import may_pay_out, payouts_asked
from tests.dashboard.test_in_browser import open_dialog
from tests.payments.fake_gateway import operation

pytestmark = [pytest.mark.browser, one_database]

UNANSWERED = "The app did not answer, and may have done what you asked. Try again: nothing is done twice."


async def lose_the_answer(route: Route) -> None:
    """Let the app do what was asked, and a server between it and the browser lose its answer."""
    await route.fetch()
    await route.fulfill(status=502, body="<h1>Bad gateway</h1>")


async def lose_the_request(route: Route) -> None:
    await route.abort()


Lose = Callable[[Route], Awaitable[None]]
LOST = pytest.mark.parametrize("lose", [lose_the_answer, lose_the_request])


@dataclass(frozen=True)
class Action:
    """What staff do with a payment, the answer of the gateway, and what the page says of it then."""

    words: str
    button: str
    answer: str
    typed: str
    done: str


ACTIONS = {
    "refund": Action("Refund", "Refund now", "100.00", "100", "The amount was refunded."),
    "capture": Action("Capture", "Capture now", "300.00", "300", "The amount was captured."),
    "void": Action(
        "Cancel the authorization", "Cancel the authorization now", "569.50", "", "The authorized amount was released."
    ),
}


@pytest.mark.parametrize("kind", ACTIONS)
@LOST
async def test_an_action_that_was_not_answered_is_tried_again_and_done_once(
    browser: Browser, staff_client: StaffClient, kind: str, lose: Lose
) -> None:
    shop, action = staff_client.shop, ACTIONS[kind]
    await shop.complete_payment("CHARGE" if kind == "refund" else "AUTHORIZATION")
    shop.gateway.will_answer(json_reply(operation(kind, shop.order_id, action.answer)))
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, action.words)
        if action.typed:
            await form.get_by_label("Amount, UAH").fill(action.typed)
        await form.get_by_label("Reason (optional)").fill("Too small")
        await press_in_vain(page, form, action.button, f"**/{kind}", lose)
        await expect(form.get_by_label("Reason (optional)")).to_have_value("Too small")
        if action.typed:
            await expect(form.get_by_label("Amount, UAH")).to_have_value(action.typed)
        await form.get_by_role("button", name=action.button).click()
        await expect(frame.get_by_role("status")).to_have_text(action.done)
    assert shop.gateway.calls == [kind]


async def press_in_vain(page: Page, form: Locator | FrameLocator, button: str, path: str, lose: Lose) -> None:
    """Press a button whose request or answer is lost; the page says what is to be done."""
    await page.route(path, lose)
    await form.get_by_role("button", name=button).click()
    await expect(form.get_by_role("alert").filter(visible=True)).to_have_text(UNANSWERED)
    await page.unroute(path)


@LOST
async def test_a_payout_that_was_not_answered_is_made_once(
    browser: Browser, staff_client: StaffClient, lose: Lose
) -> None:
    await may_pay_out(staff_client)
    async with dashboard_of(browser, staff_client.app, "/payouts/new") as (page, frame):
        await sign_in(page, staff_client.token())
        for label, text in (
            ("Amount, UAH", "40"), ("Card number", "4242 4242 4242 4242"), ("First name", "Solomiia"),
            ("Last name", "Pavlychko"), ("Purpose of the payout", "A prize"),
        ):  # fmt: skip
            await frame.get_by_label(label).fill(text)
        await press_in_vain(page, frame, "Go on", "**/payouts/review", lose)
        await expect(frame.get_by_label("Card number")).to_have_value("4242 4242 4242 4242")
        await frame.get_by_role("button", name="Go on").click()
        await press_in_vain(page, frame, "Pay out now", "**/payouts/confirm", lose)
        await frame.get_by_role("button", name="Pay out now").click()
        await expect(frame.get_by_role("status")).to_have_text("The payout was made.")
    assert len(payouts_asked(staff_client)) == 1


@LOST
async def test_a_trial_that_was_not_answered_is_begun_once(
    browser: Browser, staff_client: StaffClient, lose: Lose
) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    staff_client.shop.gateway.will_answer(staff_client.shop.gateway.page())
    async with dashboard_of(browser, staff_client.app, "/set-up/try") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Phone number").fill("+380501234567")
        await press_in_vain(page, frame, "Open the payment page", "**/set-up/try", lose)
        await expect(frame.get_by_label("Phone number")).to_have_value("+380501234567")
        await frame.get_by_role("button", name="Open the payment page").click()
        await expect(frame.get_by_role("heading", level=1)).to_contain_text("Trial payment of 1.00")
    assert staff_client.shop.gateway.calls == ["payment"]


@LOST
async def test_options_that_were_not_answered_are_saved(
    browser: Browser, staff_client: StaffClient, lose: Lose
) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    path = f"/set-up/accounts/{staff_client.shop.account.id}"
    async with dashboard_of(browser, staff_client.app, path) as (page, frame):
        await sign_in(page, staff_client.token())
        name = frame.get_by_role("textbox", name="Name", exact=True)
        await name.fill("Corner shop")
        await press_in_vain(page, frame, "Save options", "**/options", lose)
        await expect(name).to_have_value("Corner shop")
        await frame.get_by_role("button", name="Save options").click()
        await expect(frame.get_by_role("status").first).to_be_focused()
        await expect(frame.get_by_role("heading", level=1)).to_have_text("Corner shop")


@pytest.mark.parametrize("trouble", [Reply(502, b"<h1>Bad gateway</h1>"), Reply(length=100)], ids=["502", "cut"])
async def test_what_the_gateway_did_not_answer_is_said_to_be_open_and_not_sent_again(
    browser: Browser, staff_client: StaffClient, trouble: Reply
) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.will_answer(trouble)
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, "Refund")
        await form.get_by_label("Amount, UAH").fill("100")
        await form.get_by_role("button", name="Refund now").click()
        await expect(frame.get_by_role("status")).to_contain_text("it may have been done: do not do it again")
        await expect(frame.get_by_text("refund under way").first).to_be_visible()
    assert shop.gateway.calls == ["refund"]


async def test_an_app_that_hangs_is_not_waited_for_for_ever(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, "Refund")
        await form.get_by_label("Amount, UAH").fill("100")
        # Nobody waits for the minute here.
        await frame.locator("html").evaluate("() => { AbortSignal.timeout = () => AbortSignal.abort(); }")
        await form.get_by_role("button", name="Refund now").click()
        await expect(form.get_by_role("alert").filter(visible=True)).to_have_text(UNANSWERED)
        await frame.get_by_role("button", name="Back").click()
        await frame.get_by_role("link", name="All payments").click()
        await expect(frame.locator("#alert")).to_have_text("That did not work. Try again.")
        await expect(frame.get_by_role("button", name="Try again")).to_be_visible()
    assert shop.gateway.calls == []
