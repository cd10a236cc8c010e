"""The payment's page in a browser: what is done there, and what is unfolded."""

import pytest
from playwright.async_api import Browser, expect

from app.core.vocabulary import Kind
from integration_base_tests.loopback import ReceivedRequest, json_reply
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import BrowserErrors, clipboard_text, dashboard_of, messages_of, sign_in
from tests.dashboard.test_in_browser import open_dialog, unfold
from tests.pages.hearing import announced, listen
from tests.payments.fake_gateway import action_of, operation, payment
from tests.payments.split.market import enable_splitting, recorded, split_checkout
from tests.payments.split.people import POTTER, SMITH

pytestmark = [pytest.mark.browser, one_database]


async def test_a_refund_of_a_marketplace_pressed_twice_is_done_once(
    browser: Browser, staff_client: StaffClient
) -> None:
    shop = await enable_splitting(staff_client.shop)
    await shop.complete_payment(sourceObject=split_checkout())
    complaints = BrowserErrors()
    path = f"/payments/{shop.order_id}"
    async with dashboard_of(browser, staff_client.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, "Refund")
        await expect(form.get_by_label("Amount, UAH")).to_have_value("")
        await form.get_by_label("Potter").fill("40")
        await form.get_by_label("Smith").fill("10,50")
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "50.50")))
        await form.get_by_role("button", name="Refund now").dblclick()
        await expect(frame.get_by_role("status")).to_have_text("The amount was refunded.")
        await expect(frame.get_by_role("status")).to_be_focused()
        await expect(frame.locator("main").get_by_text("partially refunded")).to_be_visible()
        assert (await messages_of(page, "notification"))[-1]["status"] == "success"
        assert complaints == []
    assert shop.gateway.calls == ["refund"]
    assert {who: str(part) for who, part in (await recorded(shop, Kind.REFUND)).items()} == {
        POTTER: "40.00",
        SMITH: "10.50",
    }


@pytest.mark.long
async def test_the_page_changes_by_itself_until_all_is_told(browser: Browser, staff_client: StaffClient) -> None:
    """But not under the hands of somebody who has begun to fill in a form."""
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    complaints = BrowserErrors()
    path = f"/payments/{shop.order_id}"
    async with dashboard_of(browser, staff_client.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.locator("header .badge")).to_have_text("waiting for the shopper")
        step = frame.get_by_text("asks the gateway for a payment page")
        await expect(step).to_be_hidden()
        await frame.get_by_label("Show every step").check()
        await expect(step).to_be_visible()
        await shop.notify(payment(shop.order_id, method="auth"))
        await shop.work()
        await expect(frame.locator("header .badge")).to_have_text("authorized")
        await expect(step).to_be_visible()  # as somebody wanted to look at it
        await expect(frame.locator("[data-watch]")).to_have_count(0)  # nothing is open: nobody asks any more
        shop.gateway.will_answer(
            json_reply(operation("capture", shop.order_id, "300.00", "pending", operation_id="part"))
        )
        form = await open_dialog(frame, "Capture")
        await form.get_by_label("Amount, UAH").fill("300")
        await form.get_by_role("button", name="Capture now").click()
        await expect(frame.locator("header .badge")).to_have_text(["authorized", "charge under way"])
        await shop.notify(operation("capture", shop.order_id, "300.00", operation_id="part"))
        await shop.work()
        await expect(frame.locator("header .badge")).to_have_text(["paid"])
        await expect(frame.get_by_role("button", name="Refund")).to_be_visible()
        assert complaints == []


async def test_what_a_page_changes_to_by_itself_is_said_once(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.locator("header .badge")).to_have_text("waiting for the shopper")
        await listen(frame.locator("html"))
        await frame.get_by_role("button", name="Look up now").focus()
        await shop.notify(payment(shop.order_id))
        await shop.work()
        await expect(frame.locator("header .badge")).to_have_text("paid")
        await expect(frame.get_by_role("button", name="Look up now")).to_be_focused()
        await expect(frame.locator("[data-watch]")).to_have_count(0)  # what was told to Saleor changes no state
        assert await announced(frame.locator("html")) == ["paid"]


async def test_nothing_moves_before_the_button_inside(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment("AUTHORIZATION")
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}", width=360) as (page, frame):
        await sign_in(page, staff_client.token())
        await page.evaluate("setTheme('dark')")
        await page.evaluate("setLocale('uk')")
        form = await open_dialog(frame, "Списати")
        await expect(form.get_by_text("Авторизовано 569,50")).to_be_visible()
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide == 0
        assert shop.gateway.requests == []
        await expect(form.get_by_label("Сума, UAH")).to_have_value("569,50")
        await form.get_by_label("Сума, UAH").fill("600")
        await form.get_by_role("button", name="Списати зараз").click()
        await expect(form.get_by_role("alert")).to_be_visible()
        await expect(form.get_by_label("Сума, UAH")).to_have_value("600")
        await page.keyboard.press("Escape")
        await expect(frame.get_by_role("dialog")).to_have_count(0)
        await expect(frame.get_by_role("button", name="Списати")).to_be_focused()
        await page.keyboard.press("Enter")
        shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, "300.00")))
        await form.get_by_label("Сума, UAH").fill("300,00")
        await form.get_by_role("button", name="Списати зараз").click()
        await expect(frame.get_by_role("status")).to_have_text("Кошти списано.")
    assert shop.gateway.calls == ["capture"]


@pytest.mark.parametrize("fields", [["Amount, UAH"], ["Potter", "Smith"]], ids=["one wrong field", "several"])
async def test_an_error_in_a_dialog_is_said_there_and_not_over_its_buttons(
    browser: Browser, staff_client: StaffClient, fields: list[str]
) -> None:
    """The Dashboard shows notifications at the bottom, where a dialog has its buttons on a phone."""
    shop = await enable_splitting(staff_client.shop)
    await shop.complete_payment(sourceObject=split_checkout())
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}", width=360) as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, "Refund")
        for field in fields:
            await form.get_by_label(field).fill("a bit")
        await form.get_by_role("button", name="Refund now").click()
        told = form.get_by_role("alert").filter(visible=True)
        await expect(told).to_have_count(1)
        await expect(told.get_by_role("listitem")).to_have_count(len(fields) if len(fields) > 1 else 0)
        if len(fields) == 1:  # and it is said once: the field is in sight
            assert (await form.inner_text()).count(await told.inner_text()) == 1
        assert await messages_of(page, "notification") == []
    assert shop.gateway.calls == []


@pytest.mark.long
async def test_what_was_said_is_fetched_only_when_somebody_looks(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    looked: list[ReceivedRequest] = []

    async def note(asked: ReceivedRequest) -> None:
        looked.append(asked)

    shop.gateway.on_request = note
    complaints = BrowserErrors()
    path = f"/payments/{shop.order_id}"
    async with dashboard_of(browser, staff_client.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        said_before = await unfold(frame, "Requests, notifications and events")
        await expect(said_before.get_by_role("heading", name="Notification from the gateway: purchase")).to_be_visible()
        assert looked == []
        shown = await unfold(frame, "Current state at the gateway")
        await expect(shown.get_by_text('"status": "success"')).to_be_visible()
        assert [action_of(request) for request in looked] == ["look"]
        assert complaints == []


@pytest.mark.long
async def test_the_order_is_opened_in_the_dashboard(browser: Browser, staff_client: StaffClient) -> None:
    kept = await staff_client.payment(1, source_id="T3JkZXI6MQ==")
    async with dashboard_of(browser, staff_client.app, f"/payments/{kept.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_role("button", name="Open the order").click()
        await page.wait_for_url("**/orders/T3JkZXI6MQ%3D%3D")


@pytest.mark.long
async def test_on_a_phone_what_is_rarely_read_is_folded_and_stays_as_somebody_left_it(
    browser: Browser,
    staff_client: StaffClient,
) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}", width=360) as (page, frame):
        await sign_in(page, staff_client.token())
        activity, step = frame.get_by_role("button", name="Activity"), frame.get_by_label("Show every step")
        await expect(activity).to_have_attribute("aria-expanded", "false")
        await expect(step).to_be_hidden()
        await expect(frame.get_by_role("button", name="Money")).to_have_attribute("aria-expanded", "true")
        await activity.press("Enter")
        await expect(step).to_be_visible()
        await shop.notify(payment(shop.order_id, method="auth"))
        await shop.work()
        await expect(frame.locator("header .badge")).to_have_text("authorized")
        await expect(step).to_be_visible()
        await page.set_viewport_size({"width": 1000, "height": 900})
        await expect(frame.get_by_role("button", name="Activity")).to_have_count(0)
        await expect(frame.get_by_text("Raw messages")).to_be_visible()
        await expect(frame.get_by_text("Gateway order ID")).to_be_visible()


@pytest.mark.long
async def test_ids_and_the_link_to_the_page_are_copied(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    complaints = BrowserErrors()
    path = f"/payments/{shop.order_id}"
    async with dashboard_of(browser, staff_client.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        button = frame.get_by_role("button", name="Copy the gateway order ID")
        told = frame.locator("#said")
        await button.press("Enter")
        await expect(told).to_have_text("Copied")
        await expect(button).to_be_focused()
        assert await clipboard_text(page) == shop.order_id
        await expect(told).to_have_text("")  # else what is said next could be of this
        await frame.get_by_role("button", name="Copy the link to this page").click()
        await expect(told).to_have_text("Copied")
        assert f"/payments/{shop.order_id}?saleorApiUrl=" in await clipboard_text(page)
        await expect(told).to_have_text("")
        await frame.get_by_role("link", name="All payments").click()
        await expect(frame.get_by_role("heading", name="Payments", exact=True)).to_be_visible()
        await frame.get_by_role("button", name="Copy the gateway order ID").press("Enter")
        await expect(told).to_have_text("Copied")
        assert await clipboard_text(page) == shop.order_id
        assert complaints == []


async def test_a_payment_is_printed_in_black_on_white_without_what_is_for_the_screen(
    browser: Browser, staff_client: StaffClient
) -> None:
    """As browsers print a frame."""
    paid = await staff_client.payment(1)
    async with dashboard_of(browser, staff_client.app, f"/payments/{paid.order_id}") as (page, frame):
        await page.evaluate("setTheme('dark')")
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("button", name="Refund")).to_be_visible()
        await page.emulate_media(media="print")
        await expect(frame.get_by_role("button")).to_have_count(0)
        await expect(frame.get_by_role("navigation")).to_have_count(0)
        await expect(frame.get_by_role("heading", name="Money")).to_be_visible()
        await expect(frame.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
        await expect(frame.get_by_role("heading", level=1)).to_have_css("color", "rgb(37, 40, 40)")
