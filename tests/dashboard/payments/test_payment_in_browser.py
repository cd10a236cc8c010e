"""The payment's page in a browser: what is done there, and what is unfolded."""

import pytest
from playwright.async_api import Browser, expect

from app.db.tables import Kind
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import Complaints, dashboard_of, heard, pasted, sign_in
from tests.dashboard.test_in_browser import open_dialog, unfold
from tests.loopback import Heard, said
from tests.payments.fake_gateway import action_of, operation, payment
from tests.payments.split.market import becomes_a_market, bought, recorded
from tests.payments.split.people import POTTER, SMITH

pytestmark = [pytest.mark.browser, one_database]


async def test_a_refund_of_a_marketplace_pressed_twice_is_done_once(
    browser: Browser, staff_client: StaffClient
) -> None:
    shop = await becomes_a_market(staff_client.shop)
    await shop.paid(sourceObject=bought())
    complaints = Complaints()
    path = f"/payments/{shop.order_id}"
    async with dashboard_of(browser, staff_client.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, "Refund")
        await expect(form.get_by_label("Amount, UAH")).to_have_value("")
        await form.get_by_label("Potter").fill("40")
        await form.get_by_label("Smith").fill("10,50")
        shop.gateway.will(said(operation("refund", shop.order_id, "50.50")))
        await form.get_by_role("button", name="Refund now").dblclick()
        await expect(frame.get_by_role("status")).to_have_text("It is refunded.")
        await expect(frame.get_by_role("status")).to_be_focused()
        await expect(frame.get_by_text("partly refunded")).to_be_visible()
        assert (await heard(page, "notification"))[-1]["status"] == "success"
        assert complaints == []
    assert shop.gateway.calls == ["refund"]
    assert {who: str(part) for who, part in (await recorded(shop, Kind.REFUND)).items()} == {
        POTTER: "40.00",
        SMITH: "10.50",
    }


async def test_the_page_changes_by_itself_until_all_is_told(browser: Browser, staff_client: StaffClient) -> None:
    """But not under the hands of somebody who has begun to fill in a form."""
    shop = staff_client.shop
    shop.gateway.will(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    complaints = Complaints()
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
        await expect(frame.locator("header .badge")).to_have_text("authorized", timeout=15_000)
        await expect(step).to_be_visible()  # as somebody wanted to look at it
        assert await frame.locator("[data-watch]").count() == 0  # nothing is open: nobody asks any more
        shop.gateway.will(said(operation("capture", shop.order_id, "300.00", "pending", named="part")))
        form = await open_dialog(frame, "Capture")
        await form.get_by_label("Amount, UAH").fill("300")
        await form.get_by_role("button", name="Capture now").click()
        await expect(frame.locator("header .badge")).to_have_text("authorized, charge under way")
        await shop.notify(operation("capture", shop.order_id, "300.00", named="part"))
        await shop.work()
        await expect(frame.locator("header .badge")).to_have_text("charged", timeout=15_000)
        await expect(frame.get_by_role("button", name="Refund")).to_be_visible()
        assert complaints == []


async def test_nothing_moves_before_the_button_inside(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.paid("AUTHORIZATION")
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}", width=360) as (page, frame):
        await sign_in(page, staff_client.token())
        await page.evaluate("dress('dark')")
        await page.evaluate("speak('uk')")
        form = await open_dialog(frame, "Списати")
        await expect(form.get_by_text("Авторизовано 569,50")).to_be_visible()
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide == 0
        assert shop.gateway.heard == []
        await form.get_by_label("Сума, UAH").fill("600")
        await form.get_by_role("button", name="Списати зараз").click()
        await expect(form.get_by_role("alert")).to_be_visible()
        await expect(form.get_by_label("Сума, UAH")).to_have_value("600")
        await page.keyboard.press("Escape")
        await expect(frame.get_by_role("dialog")).to_have_count(0)
        await expect(frame.get_by_role("button", name="Списати")).to_be_focused()
        await page.keyboard.press("Enter")
        shop.gateway.will(said(operation("capture", shop.order_id, "300.00")))
        await form.get_by_label("Сума, UAH").fill("300,00")
        await form.get_by_role("button", name="Списати зараз").click()
        await expect(frame.get_by_role("status")).to_have_text("Кошти списано.")
    assert shop.gateway.calls == ["capture"]


async def test_what_was_said_is_fetched_only_when_somebody_looks(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.paid()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    looked: list[Heard] = []

    async def note(asked: Heard) -> None:
        looked.append(asked)

    shop.gateway.on_arrival = note
    complaints = Complaints()
    path = f"/payments/{shop.order_id}"
    async with dashboard_of(browser, staff_client.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        said_before = await unfold(frame, "What was asked, notified and told")
        await expect(said_before.get_by_role("heading", name="The gateway notified: purchase")).to_be_visible()
        assert looked == []
        shown = await unfold(frame, "What the gateway shows at this moment")
        await expect(shown.get_by_text('"status": "success"')).to_be_visible()
        assert [action_of(each) for each in looked] == ["look"]
        assert complaints == []


async def test_the_order_is_opened_in_the_dashboard(browser: Browser, staff_client: StaffClient) -> None:
    kept = await staff_client.payment(1, source_id="T3JkZXI6MQ==")
    async with dashboard_of(browser, staff_client.app, f"/payments/{kept.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_role("button", name="Open the order").click()
        await page.wait_for_url("**/orders/T3JkZXI6MQ%3D%3D")


async def test_on_a_phone_what_is_rarely_read_is_folded_and_stays_as_somebody_left_it(
    browser: Browser,
    staff_client: StaffClient,
) -> None:
    shop = staff_client.shop
    shop.gateway.will(shop.gateway.page())
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
        await expect(frame.locator("header .badge")).to_have_text("authorized", timeout=15_000)
        await expect(step).to_be_visible()
        await page.set_viewport_size({"width": 1000, "height": 900})
        await expect(frame.get_by_role("button", name="Activity")).to_have_count(0)
        await expect(frame.get_by_text("Raw messages")).to_be_visible()
        await expect(frame.get_by_text("Order at the gateway")).to_be_visible()


async def test_ids_and_the_link_to_the_page_are_copied(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will(shop.gateway.page())
    await shop.begin()
    complaints = Complaints()
    path = f"/payments/{shop.order_id}"
    async with dashboard_of(browser, staff_client.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        button = frame.get_by_role("button", name="Copy the order ID at the gateway")
        told = frame.locator("#copied")
        await button.press("Enter")
        await expect(told).to_have_text("Copied")
        await expect(button).to_be_focused()
        assert await pasted(page) == shop.order_id
        await expect(told).to_have_text("")  # else what is said next could be of this
        await frame.get_by_role("button", name="Copy the link to this page").click()
        await expect(told).to_have_text("Copied")
        assert f"/payments/{shop.order_id}?saleorApiUrl=" in await pasted(page)
        await expect(told).to_have_text("")
        await frame.get_by_role("link", name="All payments").click()
        await expect(frame.get_by_role("heading", name="Payments", exact=True)).to_be_visible()
        await frame.get_by_role("button", name="Copy the order ID at the gateway").press("Enter")
        await expect(told).to_have_text("Copied")
        assert await pasted(page) == shop.order_id
        assert complaints == []
