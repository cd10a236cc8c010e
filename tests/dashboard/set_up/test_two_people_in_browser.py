"""Two people set up one store at the same time, each in a browser of their own."""

import re

import pytest
from playwright.async_api import Browser, expect

from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import dashboard_of, sign_in
from tests.dashboard.set_up.test_channels import open_saleor, routes
from tests.dashboard.set_up.test_in_browser import edit_rules_as_text
from tests.payments.split.people import POTTER, SMITH

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


@pytest.mark.parametrize("checked", [False, True])
async def test_whoever_edits_split_rules_is_told_that_somebody_else_has_saved_others(
    browser: Browser, staff_client: StaffClient, *, checked: bool
) -> None:
    """Also after the rules were checked in between: the check shows them on a page of now."""
    accounts, account_id = staff_client.services.accounts, staff_client.shop.account.id
    theirs = {"mode": "percentages", "percentages": {POTTER: 100}}
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{account_id}") as (page, frame):
        await sign_in(page, staff_client.token())
        rules, text = await edit_rules_as_text(frame)
        await rules.fill(f'mode = "percentages"\npercentages = {{ "{SMITH}" = 100 }}')
        await accounts.change(account_id, split_rules=theirs)  # on another machine
        if checked:
            await text.get_by_role("button", name="Only check").click()
            await expect(frame.get_by_role("status")).to_contain_text("Nothing was saved")
        await text.get_by_role("button", name="Save rules").click()
        await expect(text.get_by_text("somebody else has saved other rules since you opened this page")).to_be_visible()
        await expect(rules).to_have_value(re.compile(SMITH))
        (kept,) = await accounts.all()
        assert kept.split_rules == theirs
        await text.get_by_label("Replace the rules that are saved now").check()
        await text.get_by_role("button", name="Save rules").click()
        await expect(frame.get_by_role("status")).to_contain_text("The account was updated.")
    (kept,) = await accounts.all()
    assert kept.split_rules is not None
    assert [*kept.split_rules["percentages"]] == [SMITH]


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
