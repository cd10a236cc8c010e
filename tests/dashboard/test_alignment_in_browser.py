"""What belongs together stands in one line, and what does not touches nothing."""

import pytest
from playwright.async_api import Browser, expect

from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import dashboard_of, sign_in

pytestmark = [pytest.mark.browser, one_database]

PHONE = 390
_APART = """parent => {
  const [first, second] = [...parent.querySelectorAll(".badge")].map(badge => badge.getBoundingClientRect());
  return Math.max(second.top - first.bottom, second.left - first.right);
}"""


@pytest.mark.parametrize("path", ["/payments", "/attention"])
async def test_badges_never_touch(browser: Browser, staff_client: StaffClient, path: str) -> None:
    await staff_client.services.accounts.change(staff_client.shop.account.id, test_project=True)
    await staff_client.payment(1, problem="Compare it.")
    async with dashboard_of(browser, staff_client.app, path, width=PHONE) as (page, frame):
        await sign_in(page, staff_client.token())
        await page.evaluate("setLocale('uk')")
        row = frame.locator(".payments tbody tr, .tasks > li")
        await expect(row.locator(".badge")).to_have_text(["оплачено", "Тестовий проєкт"])
        for width in ("30rem", "8rem"):  # beside each other, below each other
            await row.evaluate("(row, width) => { row.style.width = width; }", width)
            assert await row.evaluate(_APART) >= 4
