"""A day's work of a member of staff, by clicks, at most four for each task; what is typed is no click."""

import csv
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile

import pytest
from playwright.async_api import Browser, FrameLocator, Locator, Page, expect

from tests.journeys.stories import order_of
from tests.pages.sight import choosing
from tests.pages.stack import AppUnderTest
from tests.payments.split.people import POTTER
from tests.payments.staff.test_sheet import cells

pytestmark = [pytest.mark.browser, pytest.mark.long]

MOST_CLICKS = 4


class Staff:
    """A member of staff with a mouse and a keyboard, in front of the Dashboard."""

    def __init__(self, page: Page, app_under_test: AppUnderTest) -> None:
        self.page = page
        self.clicks = 0
        self._app_under_test = app_under_test

    @property
    def app(self) -> FrameLocator:
        """What the app shows in the Dashboard."""
        return self.page.frame_locator("iframe")

    async def begin(self, path: str = "/") -> None:
        """Open the app, as the Dashboard's menu does it."""
        app_under_test = self._app_under_test
        await self.page.goto(await app_under_test.frame(app_under_test.shop.saleor, path))
        await self._shown()

    async def click(self, place: Locator) -> None:
        """Click once."""
        self.clicks += 1
        await place.click()
        await self._shown()

    async def _shown(self) -> None:
        await expect(self.app.locator("#content:not([aria-busy]) h1, main:not([aria-busy]) .link")).not_to_have_count(0)

    async def go(self, place: str) -> None:
        """Click on a place of the app's menu."""
        await self.click(self.app.get_by_role("navigation", name="Places").get_by_role("link", name=place))

    @contextmanager
    def task(self) -> Iterator[None]:
        """Count the clicks of one task."""
        self.clicks = 0
        yield
        assert self.clicks <= MOST_CLICKS, f"{self.clicks} clicks"


@pytest.fixture
async def staff(app_under_test: AppUnderTest, browser: Browser) -> AsyncIterator[Staff]:
    page = await browser.new_page(viewport={"width": 1280, "height": 900}, locale="en-GB")
    yield Staff(page, app_under_test)
    await page.close()


async def search(staff: Staff, typed: str) -> None:
    await staff.go("Payments")
    field = staff.app.get_by_role("searchbox")
    await staff.click(field)
    await field.fill(typed)
    await staff.click(staff.app.get_by_role("button", name="Search"))


async def test_a_payment_is_found_by_the_number_of_its_order(staff: Staff, app_under_test: AppUnderTest) -> None:
    order = await app_under_test.shop.saleor.order(app_under_test.orders[0])
    await staff.begin()
    with staff.task():
        await search(staff, order.number)
        await staff.click(staff.app.get_by_role("row").filter(has_text=f"Order {order.number}").get_by_role("link"))
        await expect(staff.app.locator("header .about")).to_contain_text(f"Order {order.number}")


async def test_a_payment_is_found_by_the_shoppers_address(staff: Staff) -> None:
    await staff.begin()
    with staff.task():
        await search(staff, "taras@example.com")
        await staff.click(staff.app.get_by_role("row").filter(has_text="refunded").get_by_role("link"))
        await expect(staff.app.locator("header .badge")).to_have_text("partially refunded")
    assert "taras" not in staff.page.url


async def test_why_a_payment_failed(staff: Staff) -> None:
    await staff.begin()
    with staff.task():
        await staff.go("Payments")
        await staff.click(staff.app.get_by_role("navigation", name="Status").get_by_role("link", name="Failed"))
        reason = await staff.app.get_by_role("row").nth(1).get_by_role("cell").nth(1).locator("small").inner_text()
        await staff.click(staff.app.get_by_role("row").nth(1).get_by_role("link"))
        await expect(staff.app.locator("header .reason")).to_have_text(reason)


async def test_a_part_is_captured(staff: Staff) -> None:
    await staff.begin()
    with staff.task():
        await staff.go("Payments")
        await staff.click(staff.app.get_by_role("row").filter(has_text="authorized").first.get_by_role("link"))
        await staff.click(staff.app.get_by_role("button", name="Capture", exact=True))
        form = staff.app.get_by_role("dialog")
        await expect(form.get_by_label("Amount, UAH")).to_be_focused()
        await form.get_by_label("Amount, UAH").fill("300")
        await staff.click(form.get_by_role("button", name="Capture now"))
        await expect(staff.app.get_by_role("status")).to_have_text("The amount was captured.")
        await expect(staff.app.get_by_role("heading", name="300.00 of 569.50")).to_be_visible()


async def test_what_one_seller_sold_is_refunded(staff: Staff) -> None:
    await staff.begin()
    with staff.task():
        await staff.go("Payments")
        await staff.click(staff.app.get_by_role("row").filter(has_text="partially refunded").first.get_by_role("link"))
        await staff.click(staff.app.get_by_role("button", name="Refund", exact=True))
        form = staff.app.get_by_role("dialog")
        await form.locator(f"[name='from.{POTTER}']").fill("10")
        await staff.click(form.get_by_role("button", name="Refund now"))
        await expect(staff.app.get_by_role("status")).to_have_text("The amount was refunded.")


async def test_one_of_the_products_of_an_order_is_refunded(staff: Staff, app_under_test: AppUnderTest) -> None:
    """On the order, in Saleor's Dashboard; the app takes the refund from who sold the product."""
    order = await app_under_test.shop.saleor.order(app_under_test.orders[0])
    [transaction] = [sold for sold in await app_under_test.shop.saleor.transactions() if sold.order_id == order.id]
    await staff.page.goto(app_under_test.shop.saleor.dashboard_url)
    with staff.task():
        await staff.page.get_by_role("link", name=order.number, exact=True).click()
        await staff.page.get_by_label("Mugs", exact=True).fill("1")
        await staff.page.get_by_role("button", name="Refund products").click()
        staff.clicks += 2
        await staff.page.wait_for_url("**#*")
    after = await app_under_test.shop.saleor.transaction(transaction.id)
    assert after.amounts.refunded - transaction.amounts.refunded == Decimal("33.33")
    await staff.begin(f"/payments/{order_of(transaction)}")
    newest = staff.app.get_by_role("region", name="Refunds", exact=True).get_by_role("row").nth(1)
    await expect(newest).to_contain_text("33.33 UAH")


async def test_a_payment_link_in_ukrainian(staff: Staff, app_under_test: AppUnderTest) -> None:
    await staff.page.goto(
        f"{app_under_test.shop.saleor.dashboard_url}orders/{quote(app_under_test.orders[2], safe='')}"
    )
    widget = staff.app
    with staff.task():
        await widget.get_by_label("Language of the payment page").select_option("uk")
        staff.clicks += 2  # a list is unfolded, and an item of it chosen
        await staff.click(widget.get_by_role("button", name="Create payment link"))
        await expect(widget.get_by_role("status")).to_have_text("The link is ready: send it to the customer.")
        link = await widget.get_by_role("textbox", name="Payment link for the customer").input_value()
        await staff.click(widget.get_by_role("button", name="Copy Payment link"))
    await staff.page.goto(link)
    await expect(staff.page.locator("html")).to_have_attribute("lang", "uk")


async def test_a_month_is_exported(staff: Staff, tmp_path: Path) -> None:
    await staff.begin()
    with staff.task():
        await staff.go("Money")
        await expect(staff.app.get_by_role("heading", name=f"{datetime.now(UTC):%B %Y}")).to_be_visible()
        async with staff.page.expect_download() as saved:
            await staff.click(staff.app.get_by_role("button", name="Download as CSV", exact=True))
    file = tmp_path / "money.csv"
    await (await saved.value).save_as(file)
    assert len([*csv.reader(file.read_text("utf-8-sig").splitlines())]) > 1


async def test_a_month_is_exported_for_a_spreadsheet_in_ukrainian(staff: Staff, tmp_path: Path) -> None:
    """Numbers and days are such, whatever a spreadsheet's settings are, and nothing in it is computed."""
    await staff.page.add_init_script(choosing(locale="uk"))
    await staff.begin()
    with staff.task():
        await staff.click(staff.app.get_by_role("link", name="Гроші", exact=True).first)
        async with staff.page.expect_download() as saved:
            await staff.click(staff.app.get_by_role("button", name="Завантажити як XLSX", exact=True))
    file = tmp_path / "money.xlsx"
    await (await saved.value).save_as(file)
    with ZipFile(file) as book:
        found = cells(book)
        assert "<f>" not in book.read("xl/worksheets/sheet1.xml").decode()
    headings = found[: next(number for number, (kind, _) in enumerate(found) if kind == "")]
    assert all(re.search("[а-яії]", heading) for _, heading in headings), headings
    day = (datetime.now(UTC).date() - date(1899, 12, 30)).days  # as spreadsheets count
    of_the_day = found[found.index(("", str(day))) + 1 :][: len(headings) - 1]
    assert max(Decimal(content) for kind, content in of_the_day if kind == "") >= Decimal("369.99")


async def test_what_needs_attention_is_settled(staff: Staff) -> None:
    await staff.begin()
    with staff.task():
        await staff.go("Needs attention")
        await staff.click(staff.app.get_by_role("button", name="Mark as reviewed"))
        await expect(staff.app.get_by_role("status")).to_have_text("Marked as reviewed.")
    await expect(staff.app.get_by_text("Nothing needs your attention.")).to_be_visible()
