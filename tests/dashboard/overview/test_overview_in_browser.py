"""Staff open the app in the Dashboard: they see the overview, go from it to what they want to know, and back."""

from typing import Literal

import pytest
from playwright.async_api import Browser, expect

from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import BrowserErrors, dashboard_of, path_of, sign_in
from tests.pages.two_months import add_two_months_of_payments

pytestmark = pytest.mark.browser


@pytest.mark.long
@one_database
async def test_from_the_first_page_to_another_period_to_the_payments_and_back(
    browser: Browser, staff_client: StaffClient
) -> None:
    services = staff_client.services
    await add_two_months_of_payments(
        services, staff_client.shop.account, services.now(), currencies=("UAH", "UAH", "EUR")
    )
    complaints = BrowserErrors()
    async with dashboard_of(browser, staff_client.app, complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("heading", name="Overview")).to_be_visible()
        await expect(frame.get_by_role("img", name="Charged by day, in UAH")).to_be_visible()
        await expect(frame.get_by_role("table", name="Successful payments by payment method")).to_be_visible()

        await frame.get_by_role("link", name="30 days").click()
        await expect(frame.get_by_role("link", name="30 days")).to_have_attribute("aria-current", "true")
        assert await path_of(frame) == "/?days=30"
        await frame.get_by_label("Currency").select_option("EUR")
        await frame.get_by_role("button", name="Show").click()
        await expect(frame.get_by_role("img", name="Charged by day, in EUR")).to_be_visible()
        assert await path_of(frame) == "/?days=30&currency=EUR"

        await frame.get_by_role("link", name="Payments", exact=True).click()
        await expect(frame.get_by_role("heading", name="Payments")).to_be_visible()
        await page.evaluate("() => history.back()")
        await expect(frame.get_by_role("img", name="Charged by day, in EUR")).to_be_visible()
        await page.evaluate("() => history.back()")
        await expect(frame.get_by_role("img", name="Charged by day, in UAH")).to_be_visible()
        assert await path_of(frame) == "/?days=30"
        await page.evaluate("() => history.back()")
        await expect(frame.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")

        await page.set_viewport_size({"width": 360, "height": 800})
        await frame.locator("summary", has_text="As a table").click()
        wide = await frame.locator("html").evaluate("it => it.scrollWidth - it.clientWidth")
        assert wide == 0
    assert complaints == []


@pytest.mark.parametrize(("theme", "system"), [("light", "dark"), ("dark", "light")])
@one_database
async def test_charts_and_messages_are_seen_in_a_contrast_theme_whatever_the_dashboards(
    browser: Browser, staff_client: StaffClient, theme: str, system: Literal["dark", "light"]
) -> None:
    services = staff_client.services
    await add_two_months_of_payments(services, staff_client.shop.account, services.now())
    await staff_client.payment(9999, problem="Compare it.")
    async with dashboard_of(browser, staff_client.app) as (page, frame):
        await page.emulate_media(forced_colors="active", color_scheme=system)
        await page.evaluate("theme => setTheme(theme)", theme)
        await sign_in(page, staff_client.token())
        link = frame.get_by_role("link", name="Money", exact=True).last
        of_links = await link.evaluate("link => getComputedStyle(link).color")
        for drawn, kind in ((".plot .now", "stroke"), (".bars .part", "fill"), (".bars.declined .part", "fill")):
            part = frame.locator(drawn).first
            assert await part.evaluate("(part, kind) => getComputedStyle(part)[kind]", kind) == of_links
        await frame.get_by_role("link", name="Payments", exact=True).click()
        await frame.get_by_role("link", name="Order 10999").click()
        box = frame.locator(".problem")
        await expect(box).to_be_visible()
        assert await box.evaluate("box => getComputedStyle(box).borderTopWidth") == "1px"
