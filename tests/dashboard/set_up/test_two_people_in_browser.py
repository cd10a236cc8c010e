"""Two people set up one store at the same time, each in a browser of their own."""

import pytest
from playwright.async_api import Browser, expect

from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import dashboard_of, sign_in
from tests.dashboard.set_up.test_channels import open_saleor, routes

pytestmark = [pytest.mark.browser, one_database]


async def test_two_people_who_change_an_account_do_not_undo_each_others_changes(
    browser: Browser, staff_client: StaffClient
) -> None:
    accounts, account_id = staff_client.services.accounts, staff_client.shop.account.id
    await accounts.change(account_id, payouts=True, subscriptions=False)
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{account_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        name = frame.get_by_role("textbox", name="Name", exact=True)
        await name.fill("Another")
        await accounts.change(account_id, payouts=False, subscriptions=True)  # on another machine
        await frame.get_by_role("button", name="Save options").click()
        await expect(frame.get_by_role("status")).to_contain_text("The account was updated.")
    (kept,) = await accounts.all()
    assert (kept.name, kept.payouts, kept.subscriptions) == ("Another", False, True)


async def test_two_people_who_assign_channels_do_not_undo_each_others_changes(
    browser: Browser, staff_client: StaffClient
) -> None:
    accounts, account_id = staff_client.services.accounts, staff_client.shop.account.id
    open_saleor(staff_client)
    await accounts.map_channel("uah", account_id)
    async with dashboard_of(browser, staff_client.app, "/set-up/channels") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.locator("[name='account.old']").select_option(account_id)
        await accounts.unmap_channel(staff_client.shop.installation.id, "uah")  # its sales were stopped meanwhile
        await frame.get_by_role("button", name="Save channels").click()
        await expect(frame.get_by_role("status")).to_be_visible()
    assert await routes(staff_client) == {"old": account_id}
