"""Staff look at the money in the Dashboard's frame, go from period to period, and save the file."""

import csv
from datetime import timedelta
from decimal import Decimal

import pytest
from playwright.async_api import Browser, expect

from app.core.vocabulary import Kind
from tests.commands.books import operation
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import BrowserErrors, dashboard_of, sign_in
from tests.dashboard.money.test_money_page import ALL_OF_IT, AT, compared, sold

pytestmark = pytest.mark.browser


async def test_days_are_read_in_the_pages_language(browser: Browser, staff_client: StaffClient) -> None:
    """The browser writes the field itself in its own language: 11/02/2026 may be the second of November."""
    path = "/money?from=2026-11-02&to=2026-11-30"
    async with dashboard_of(browser, staff_client.app, path, timezone="Pacific/Auckland") as (page, frame):
        await sign_in(page, staff_client.token())
        await page.evaluate("setLocale('uk')")
        first = frame.locator("label", has_text="Від")
        await expect(first).to_contain_text("2 лист. 2026")
        await first.locator("input").fill("2026-12-01")
        await expect(first).to_contain_text("1 груд. 2026")
        await page.evaluate("setLocale('en')")
        await expect(frame.locator("label", has_text="From")).to_contain_text("Nov 2, 2026")
        field = await frame.get_by_label("From").bounding_box()
        button = await frame.get_by_role("button", name="Show").bounding_box()
        assert field is not None
        assert button is not None
        assert abs(field["y"] + field["height"] - button["y"] - button["height"]) < 2


@one_database
async def test_from_a_month_to_a_day_and_its_file(browser: Browser, staff_client: StaffClient) -> None:
    await sold(staff_client)
    await compared(staff_client.services, staff_client.shop.account, *ALL_OF_IT)
    complaints = BrowserErrors()
    async with dashboard_of(
        browser,
        staff_client.app,
        "/money?from=2026-11-01&to=2026-11-30",
        complaints=complaints,
        timezone="Pacific/Auckland",
    ) as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("heading", name="November 2026")).to_be_visible()
        await frame.get_by_role("link", name="Previous").click()
        await expect(frame.get_by_role("heading", name="October 2026")).to_be_visible()
        await expect(frame.get_by_text("Nothing was charged, refunded, charged back or paid out.")).to_be_visible()
        # Days are those of UTC, wherever the browser is.
        await frame.get_by_label("From").fill("2026-11-20")
        await frame.get_by_label("to (inclusive)").fill("2026-11-20")
        await frame.get_by_role("button", name="Show").click()
        await expect(frame.get_by_role("heading", name="Nov 20, 2026")).to_be_visible()
        await expect(frame.get_by_text("both agree")).to_be_visible()
        await expect(frame.get_by_role("cell", name="1,234.50")).to_have_count(1)
        async with page.expect_download() as download:
            await frame.get_by_role("button", name="Download as CSV").click()
        saved = await download.value
        assert saved.suggested_filename == "money-2026-11-20-2026-11-20.csv"
        [line] = csv.DictReader((await saved.path()).read_text("utf-8-sig").splitlines())
        assert (
            line["Charged"],
            line["Charged (the gateway’s)"],
            line["Our records and the gateway’s"],
        ) == ("1234.50", "1234.50", "both agree")

        await frame.get_by_label("From").fill("2026-11-21")
        await frame.get_by_role("button", name="Show").click()
        await expect(frame.get_by_text("The last day is before the first day.")).to_be_visible()
        await page.set_viewport_size({"width": 360, "height": 800})
        wide = await frame.locator("html").evaluate("it => it.scrollWidth - it.clientWidth")
        assert wide == 0
    assert [complaint for complaint in complaints if "422" not in complaint] == []


@pytest.mark.long
@one_database
async def test_beside_the_dashboards_menu_on_a_small_screen_all_columns_are_in_sight(
    browser: Browser, staff_client: StaffClient
) -> None:
    """In a window of 1024 pixels the Dashboard of Saleor leaves 763 to an app."""
    fee = {"fee": {"amount": "116170.90", "currency": "UAH"}}
    paid = operation(Kind.CREATE, amount=Decimal("11411498.11"), details=fee, updated_at=AT)
    refunded = operation(Kind.REFUND, amount=Decimal("19262.11"), updated_at=AT)
    await staff_client.payment(1, operations=[paid, refunded])
    async with dashboard_of(browser, staff_client.app, "/money?from=2026-11-01&to=2026-11-30") as (page, frame):
        await page.evaluate("setLocale('uk')")
        await sign_in(page, staff_client.token())
        beside = await page.evaluate("() => innerWidth - document.querySelector('iframe').clientWidth")
        await page.set_viewport_size({"width": 763 + beside, "height": 900})
        await expect(frame.get_by_role("heading", name="Гроші")).to_be_visible()
        assert await frame.locator("html").evaluate("html => [html.scrollWidth, html.clientWidth]") == [763, 763]


# Where the figures of each row begin from above, and where those of each column end, of all tables.
_PLACES = """tables => {
  const places = tables.map(table => [...table.querySelectorAll("tbody tr")].map(row =>
    [...row.querySelectorAll("td")].map(cell => {
      const figure = document.createRange();
      figure.selectNodeContents(cell.querySelector("strong") ?? cell.firstChild);
      const { right, top } = figure.getBoundingClientRect();
      return { right: Math.round(right), top: Math.round(top) };
    })));
  return { tops: places.flat().map(row => row.map(({ top }) => top)),
           rights: places.flat().map(row => row.map(({ right }) => right)) };
}"""


async def sell_in_two_channels(staff_client: StaffClient) -> None:
    fee = {"fee": {"amount": "116170.90", "currency": "UAH"}}
    for number, at in enumerate((AT, AT - timedelta(days=1))):
        paid = operation(Kind.CREATE, amount=Decimal("999999.99"), details=fee, updated_at=at)
        await staff_client.payment(number, operations=[paid], channel=f"wholesale-in-the-west-of-ukraine-{number}")
    await sold(staff_client, 2, channel="uah")


@one_database
@pytest.mark.parametrize("width", [1500, 1228, 971])
async def test_columns_of_all_tables_of_a_period_stand_below_each_other(
    browser: Browser, staff_client: StaffClient, width: int
) -> None:
    await sell_in_two_channels(staff_client)
    path = "/money?from=2026-11-01&to=2026-11-30"
    async with dashboard_of(browser, staff_client.app, path, width=width) as (page, frame):
        await page.evaluate("setLocale('uk')")
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("heading", name="Гроші")).to_be_visible()
        rights = (await frame.locator(".money").evaluate_all(_PLACES))["rights"]
        assert len(rights) > 3
        assert all(row == rights[0] for row in rights), rights


@one_database
async def test_figures_that_stand_side_by_side_on_a_phone_are_in_one_line(
    browser: Browser, staff_client: StaffClient
) -> None:
    """In Ukrainian one of their names needs two lines."""
    await sell_in_two_channels(staff_client)
    path = "/money?from=2026-11-01&to=2026-11-30"
    async with dashboard_of(browser, staff_client.app, path, width=375) as (page, frame):
        await page.evaluate("setLocale('uk')")
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("heading", name="Гроші")).to_be_visible()
        tops = (await frame.locator(".money").evaluate_all(_PLACES))["tops"]
        for row in tops:
            assert [len({*line}) for line in (row[:3], row[3:])] == [1, 1], tops
