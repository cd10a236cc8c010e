"""What somebody has typed, and the place where they are, in a browser: neither is lost, whatever happens meanwhile."""

import re
from datetime import UTC, datetime

import pytest
from playwright.async_api import Browser, Route, expect

from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import dashboard_of, messages_of, sign_in
from tests.dashboard.payouts.test_payouts import may_pay_out
from tests.dashboard.set_up.test_in_browser import edit_rules_as_text
from tests.dashboard.test_in_browser import open_dialog, unfold
from tests.payments.fake_gateway import payment

pytestmark = [pytest.mark.browser, one_database]


async def test_one_empty_field_is_told_beside_it_and_under_no_heading_of_a_list(
    browser: Browser, staff_client: StaffClient
) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    async with dashboard_of(browser, staff_client.app, "/set-up/try") as (page, frame):
        await sign_in(page, staff_client.token())
        phone = frame.get_by_label("Phone number")
        await frame.get_by_role("button", name="Open the payment page").click()
        await expect(phone).to_have_accessible_error_message("Fill this in.")
        await expect(phone).to_be_focused()
        await expect(frame.get_by_role("alert").filter(visible=True)).to_have_text("Fill this in.")
        assert await messages_of(page, "notification") == []


async def test_one_empty_field_of_a_dialog_is_told_once(browser: Browser, staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment("AUTHORIZATION")
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, "Capture")
        await form.get_by_label("Amount, UAH").fill("")
        await form.get_by_role("button", name="Capture now").click()
        await expect(form.get_by_role("alert").filter(visible=True)).to_have_text("Fill this in.")
        await expect(form.get_by_text("Correct these fields:")).to_have_count(0)
    assert shop.gateway.calls == []


async def test_a_page_that_changes_by_itself_leaves_the_keyboard_where_it_was(
    browser: Browser, staff_client: StaffClient
) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        look = frame.get_by_role("button", name="Look up now")
        await look.focus()
        await shop.notify(payment(shop.order_id, method="auth"))
        await shop.work()
        await expect(frame.locator("header .badge")).to_have_text("authorized")
        await expect(look).to_be_focused()


async def test_a_form_that_is_refused_late_leaves_the_keyboard_to_the_dashboard(
    browser: Browser, staff_client: StaffClient
) -> None:
    shop = staff_client.shop
    await shop.complete_payment("AUTHORIZATION")
    async with dashboard_of(browser, staff_client.app, f"/payments/{shop.order_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        elsewhere = page.locator("#theme")

        async def go_on(route: Route) -> None:
            await elsewhere.focus()
            await route.continue_()

        await page.route("**/capture", go_on)
        form = await open_dialog(frame, "Capture")
        await form.get_by_label("Amount, UAH").fill("12,345.678")
        await form.get_by_role("button", name="Capture now").press("Enter")
        await expect(form.get_by_label("Amount, UAH")).to_have_attribute("aria-invalid", "true")
        await expect(elsewhere).to_be_focused()


async def test_a_page_that_a_busy_server_refused_is_asked_for_again_by_a_button(
    browser: Browser, staff_client: StaffClient
) -> None:
    await staff_client.payment(1)
    async with dashboard_of(browser, staff_client.app, "/payments") as (page, frame):
        await page.route(
            "**/parts/payments*", lambda route: route.fulfill(status=429, body="<h1>Too many requests</h1>")
        )
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("alert")).to_have_text("That did not work. Try again.")
        await page.unroute_all()
        await frame.get_by_role("button", name="Try again").click()
        await expect(frame.get_by_role("row")).to_have_count(2)


async def test_a_payout_that_is_being_typed_is_not_lost_by_a_search_for_cards(
    browser: Browser, staff_client: StaffClient
) -> None:
    await may_pay_out(staff_client)
    async with dashboard_of(browser, staff_client.app, "/payouts/new") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Amount, UAH").fill("40")
        await frame.get_by_label("Find a customer").fill("olena@example.com")
        await frame.get_by_role("button", name="Find").click()
        await frame.get_by_role("button", name="Stay on this page").click()
        await expect(frame.get_by_label("Amount, UAH")).to_have_value("40")


@pytest.mark.parametrize("summary", ["Replace keys", "Use another gateway"])
async def test_keys_that_are_being_typed_are_not_lost_by_another_button(
    browser: Browser, staff_client: StaffClient, summary: str
) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{staff_client.shop.account.id}") as (
        page,
        frame,
    ):
        await sign_in(page, staff_client.token())
        form = await unfold(frame, summary)
        key = form.get_by_label("Endpoints key", exact=False)
        await key.fill("a-new-key")
        await frame.get_by_role("button", name="Compare them now").click()
        await frame.get_by_role("button", name="Stay on this page").click()
        await expect(key).to_have_value("a-new-key")


async def test_the_period_that_is_proposed_has_the_payment_in_it_also_after_midnight(
    browser: Browser, staff_client: StaffClient
) -> None:
    """Half past midnight in Kyiv is the day before in UTC."""
    kept = await staff_client.payment(1, created_at=datetime(2026, 11, 20, 22, 30, tzinfo=UTC))
    path = f"/payments/{kept.order_id}"
    async with dashboard_of(browser, staff_client.app, path, timezone="Europe/Kyiv") as (page, frame):
        await sign_in(page, staff_client.token())
        form = await unfold(frame, "A period")
        for name in ("From", "To (inclusive)"):
            await expect(form.get_by_label(name)).to_have_value("2026-11-21")
        await expect(form.get_by_text("Nov 21, 2026")).to_have_count(2)


async def test_rules_that_were_only_checked_are_not_lost_without_a_question(
    browser: Browser, staff_client: StaffClient
) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    account_id = staff_client.shop.account.id
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{account_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        rules, text = await edit_rules_as_text(frame)
        await rules.fill('mode = "percentages"\npercentages = { "7d1f4c2b-0000-4000-8000-000000000001" = 100 }')
        await text.get_by_role("button", name="Only check").click()
        await expect(frame.get_by_role("status")).to_contain_text("Nothing was saved")
        await frame.get_by_role("link", name="Merchant accounts").click()
        await frame.get_by_role("button", name="Stay on this page").click()
        await expect(rules).to_have_value(re.compile("7d1f4c2b-0000-4000-8000-000000000001"))
        await text.get_by_role("button", name="Save rules").click()
        await expect(frame.get_by_role("status")).to_contain_text("The account was updated.")
        await frame.get_by_role("link", name="Merchant accounts").click()  # nothing to ask about
        await expect(frame.get_by_role("heading", name="Merchant accounts")).to_be_visible()
