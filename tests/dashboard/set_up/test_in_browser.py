"""From nothing to the first payment, in a frame of another origin, as the Dashboard shows it."""

import re

import pytest
from playwright.async_api import Browser, FrameLocator, Locator, Page, expect
from starlette.responses import JSONResponse, Response

from app.store.tables import MerchantAccount
from app.web.dashboard.set_up import health
from app.web.shopper import view_builder
from app.web.shopper.limits import PageLimits
from app.web.shopper.look_ups import LookUps
from app.web.shopper.router import create_shopper_router
from integration_base_tests.loopback import text_reply
from tests.commands.conftest import KEYS, PointOfSale, add_account, one_database
from tests.commands.conftest import POS_ID as TRIED_POS_ID
from tests.commands.test_checking_accounts import NO_SUCH_ORDER as NO_ORDER_IN_WORDS
from tests.commands.test_checking_accounts import REFUSED_KEYS
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import BrowserErrors, dashboard_of, path_of, sign_in
from tests.pages.hearing import announced, listen
from tests.payments.fake_gateway import NO_SUCH_ORDER, POS_ID, payment, refusal_reply

pytestmark = pytest.mark.browser

CHANNELS = [{"slug": "uah", "name": "Україна", "currencyCode": "UAH", "isActive": True}]


@pytest.fixture
async def new_store(nothing: StaffClient) -> StaffClient:
    """A store that has just installed the app; its shoppers' pages are served too."""
    services = nothing.services
    nothing.app.include_router(
        create_shopper_router(
            find=lambda order_id: view_builder.find_view(services, order_id),
            on_return=LookUps(services).follow_up,
            limits=PageLimits(services.now),
        )
    )
    nothing.saleor.graphql = JSONResponse({"data": {"channels": CHANNELS}})
    return nothing


async def no_wider_than_the_phone(frame: FrameLocator) -> None:
    wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
    assert wide == 0


async def edit_rules_as_text(frame: FrameLocator) -> tuple[Locator, Locator]:
    """Open the split rules as text; return the field and its form."""
    await frame.get_by_text("Edit all rules as text").click()
    return frame.get_by_label("Rules, as TOML or JSON"), frame.locator("#split-text")


async def fill_in_the_account(frame: FrameLocator, staff_client: StaffClient, secret: str) -> None:
    await frame.get_by_label("Test project: no real money moves").check()
    if await frame.get_by_role("combobox", name="Gateway", exact=True).input_value():
        await expect(frame.get_by_label("Address of another gateway")).to_be_hidden()
    await frame.get_by_role("combobox", name="Gateway", exact=True).select_option("")
    await frame.get_by_label("Address of another gateway").fill(staff_client.shop.gateway.url)
    await frame.get_by_label("Point of sale", exact=True).fill(POS_ID)
    await frame.get_by_label("API key", exact=True).fill("the-api-key")
    await frame.get_by_label("API secret").fill(secret)
    await frame.get_by_label("Endpoints key").fill("the-endpoints-key")
    await frame.get_by_role("textbox", name="Name").fill("Main")
    await frame.get_by_label("Storefronts").fill("https://shop.example.com")


@one_database
async def test_from_nothing_to_the_first_payment(browser: Browser, new_store: StaffClient) -> None:
    complaints, shop = BrowserErrors(), new_store.shop
    async with dashboard_of(browser, new_store.app, width=400, complaints=complaints) as (page, frame):
        await page.evaluate("setTheme('dark')")
        await sign_in(page, new_store.token())
        await expect(frame.get_by_role("heading", name="Add your merchant account")).to_be_visible()
        await expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
        await expect(frame.get_by_role("link", name="Merchant account")).to_have_attribute("aria-current", "step")
        await no_wider_than_the_phone(frame)
        await wrong_keys_are_refused(frame, new_store)
        assert complaints.pop().count("422") == 1  # the browser's own word about the refusal
        await right_keys_are_kept(page, frame, new_store)
        await the_channels_are_saleors_own(frame)
        order_id = await a_trial_is_begun(page, frame, new_store)

        await page.evaluate("setLocale('uk')")
        await expect(frame.get_by_role("heading", name="Пробний платіж на 1,00")).to_be_visible()
        await shop.notify(payment(order_id, amount="1.00"))
        await shop.work()
        await expect(frame.locator("main").get_by_text("Працює: платіж надійшов.")).to_be_visible()
        await expect(frame.get_by_role("link", name="Відкрити сторінку оплати")).to_be_hidden()
        await expect(frame.get_by_role("img", name="QR")).to_be_hidden()

        await frame.get_by_role("link", name="Канали").click()
        await expect(frame.get_by_text("Ви можете приймати платежі")).to_be_visible()
        await page.evaluate("history.back()")

        # Afterwards it can be refunded, on its page.
        await frame.get_by_role("link", name="Відкрити платіж").click()
        await expect(frame.get_by_role("button", name="Повернути кошти")).to_be_visible()
        assert complaints == []
    assert shop.saleor.reports == []


BLOCKED = text_reply("<html><h1>Request blocked</h1></html>", 403)


@pytest.mark.law(16)
@one_database
async def test_what_cannot_be_tested_can_be_saved_anyway(browser: Browser, new_store: StaffClient) -> None:
    gateway = new_store.shop.gateway
    async with dashboard_of(browser, new_store.app, complaints=BrowserErrors()) as (page, frame):
        await sign_in(page, new_store.token())
        anyway = frame.get_by_label("Save without this test")
        await expect(anyway).to_be_hidden()
        await fill_in_the_account(frame, new_store, "the-api-secret")
        gateway.will_answer_look_ups(BLOCKED)
        await frame.get_by_role("button", name="Test the keys and save").click()
        await expect(frame.get_by_role("alert")).to_contain_text("HTTP 403: “Request blocked”")
        await expect(anyway).to_be_visible()
        await anyway.check()
        await frame.get_by_role("button", name="Test the keys and save").click()
        await expect(frame.get_by_role("status")).to_contain_text("saved without a test of its keys")
        (account,) = await new_store.services.accounts.all()
        assert account.dialect == "interface"


@pytest.mark.law(16)
@pytest.mark.long
@one_database
@pytest.mark.parametrize("no_order", list(NO_ORDER_IN_WORDS.values())[:5], ids=list(NO_ORDER_IN_WORDS)[:5])
async def test_right_keys_are_saved_and_wrong_ones_refused_in_whatever_words(
    browser: Browser, new_store: StaffClient, pos: PointOfSale, no_order: Response
) -> None:
    """In five words for "no such order", and in each of three for wrong keys."""
    new_store.shop.gateway.url = pos.url
    pos.no_order = no_order
    async with dashboard_of(browser, new_store.app, complaints=BrowserErrors()) as (page, frame):
        await sign_in(page, new_store.token())
        for to_others in list(REFUSED_KEYS.values())[:3]:
            pos.to_others = to_others
            await fill_in_the_account(frame, new_store, "not-the-secret")
            await frame.get_by_label("Point of sale", exact=True).fill(TRIED_POS_ID)
            await frame.get_by_role("button", name="Test the keys and save").click()
            await expect(frame.get_by_role("alert")).to_contain_text("rejects these keys")
            await expect(frame.get_by_label("Save without this test")).to_be_hidden()
            assert await new_store.services.accounts.all() == []
            for label, key in zip(("API key", "API secret", "Endpoints key"), KEYS.values(), strict=True):
                await frame.get_by_label(label, exact=True).fill(key)
            await frame.get_by_role("button", name="Test the keys and save").click()
            await expect(frame.get_by_role("status")).to_contain_text("the account was saved")
            (account,) = await new_store.services.accounts.all()
            await new_store.services.accounts.remove(account.id)
            await frame.get_by_role("link", name="Merchant account").first.click()
            await expect(frame.get_by_role("heading", name="Add your merchant account")).to_be_visible()


@pytest.mark.law(16)
@one_database
async def test_what_the_gateway_decides_otherwise_is_proposed_and_used(
    browser: Browser, staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
) -> None:
    pos.plain_capture = False
    async with dashboard_of(
        browser, staff_client.app, f"/set-up/accounts/{account.id}", complaints=BrowserErrors()
    ) as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_role("button", name="Test the keys now").click()
        await expect(frame.get_by_text("has no address /api/v1/capture")).to_be_visible()
        await expect(frame.get_by_label("Charging authorized money: The interface’s address")).to_be_checked()
        await frame.get_by_role("button", name="Use this").click()
        await expect(frame.get_by_role("status")).to_contain_text("The account was updated.")
        await frame.get_by_role("button", name="Test the keys now").click()
        await expect(frame.get_by_role("status")).to_contain_text("accepts the keys")
        await expect(frame.get_by_text("has no address")).to_be_hidden()
    (kept,) = await staff_client.services.accounts.all()
    assert kept.capture_endpoint == "split"


async def wrong_keys_are_refused(frame: FrameLocator, staff_client: StaffClient) -> None:
    staff_client.shop.gateway.will_answer_look_ups(refusal_reply("Invalid credentials", "S-404", 401))
    await fill_in_the_account(frame, staff_client, "not-the-secret")
    await frame.get_by_role("button", name="Test the keys and save").click()
    await expect(frame.get_by_role("alert")).to_contain_text("rejects these keys [S-404]")
    await expect(frame.get_by_role("alert")).to_be_focused()
    await expect(frame.get_by_role("alert")).to_be_in_viewport()
    for name in ("Point of sale", "API key", "API secret", "Endpoints key"):
        field = frame.get_by_label(name, exact=True)
        await expect(field).to_have_attribute("aria-invalid", "true")
        await expect(field).to_have_accessible_description(re.compile("^Compare it with the merchant portal."))
    await frame.get_by_role("link", name="API secret: Compare it").click()
    await expect(frame.get_by_label("API secret")).to_be_focused()
    await expect(frame.get_by_label("API secret")).to_have_value("not-the-secret")
    assert await staff_client.services.accounts.all() == []


async def right_keys_are_kept(page: Page, frame: FrameLocator, staff_client: StaffClient) -> None:
    # It knows no such order with these keys, and does not take made-up ones.
    staff_client.shop.gateway.will_answer_look_ups(NO_SUCH_ORDER, refusal_reply("Invalid credentials", "S-404", 401))
    await frame.get_by_label("API secret").fill("the-api-secret")
    await frame.get_by_role("button", name="Test the keys and save").click()
    await expect(frame.get_by_role("status")).to_contain_text("the account was saved")
    await expect(frame.get_by_role("status")).to_be_focused()
    (account,) = await staff_client.services.accounts.all()
    staff_client.shop.account = account
    assert await path_of(frame) == f"/set-up/accounts/{account.id}"
    await frame.get_by_role("button", name="Copy").click()
    await expect(frame.get_by_role("button", name="Copied")).to_be_visible()
    await no_wider_than_the_phone(frame)


async def the_channels_are_saleors_own(frame: FrameLocator) -> None:
    await expect(frame.get_by_role("link", name="Choose which channels use it")).to_be_visible()
    await frame.get_by_role("link", name="Continue: Channels").click()
    await expect(frame.get_by_text("no merchant account is assigned")).to_be_visible()
    await frame.get_by_role("combobox", name="Merchant account").select_option("Main (UAH)")
    await frame.get_by_role("button", name="Save channels").click()
    await expect(frame.get_by_text("Shoppers can pay")).to_be_visible()
    await no_wider_than_the_phone(frame)


async def a_trial_is_begun(page: Page, frame: FrameLocator, staff_client: StaffClient) -> str:
    await frame.get_by_role("link", name="Continue: Try it").click()
    await frame.get_by_label("Phone number").fill("+380501234567")
    staff_client.shop.gateway.will_answer(staff_client.shop.gateway.page())
    await frame.get_by_role("button", name="Open the payment page").click()
    await expect(frame.get_by_role("heading", name="Trial payment of 1.00")).to_be_visible()
    await the_qr_code_is_drawn(frame)
    await no_wider_than_the_phone(frame)
    return (await path_of(frame)).removeprefix("/set-up/try/")


async def the_qr_code_is_drawn(frame: FrameLocator) -> None:
    code = frame.get_by_role("img", name="QR code of the payment page")
    await expect(code).to_be_visible()
    assert await code.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


@one_database
async def test_a_refused_field_is_shown_and_what_was_typed_stays(browser: Browser, new_store: StaffClient) -> None:
    async with dashboard_of(browser, new_store.app, "/set-up/accounts/new") as (page, frame):
        await sign_in(page, new_store.token())
        await fill_in_the_account(frame, new_store, "the-api-secret")
        await frame.get_by_label("Storefronts").fill("shop.example.com/uk")
        await frame.get_by_role("button", name="Test the keys and save").click()
        await expect(frame.get_by_role("alert")).to_contain_text("Storefronts: Enter storefronts without a path")
        await expect(frame.get_by_label("Storefronts")).to_be_focused()
        await expect(frame.get_by_label("Storefronts")).to_have_attribute("aria-invalid", "true")
        await expect(frame.get_by_label("API key")).to_have_value("the-api-key")
    assert await new_store.services.accounts.all() == []


@pytest.mark.long
@one_database
async def test_every_refused_field_says_what_is_wrong_with_it_until_it_is_right(
    browser: Browser, new_store: StaffClient
) -> None:
    async with dashboard_of(browser, new_store.app, "/set-up/accounts/new") as (page, frame):
        await sign_in(page, new_store.token())
        await fill_in_the_account(frame, new_store, "the-api-secret")
        await frame.get_by_label("Storefronts").fill("shop.example.com/uk")
        await frame.get_by_label("Point of sale", exact=True).fill("17")
        await frame.get_by_role("button", name="Test the keys and save").click()
        point, storefronts = frame.get_by_label("Point of sale", exact=True), frame.get_by_label("Storefronts")
        await expect(frame.get_by_role("alert")).to_be_focused()
        await expect(frame.get_by_role("alert").get_by_role("link")).to_have_count(2)
        await frame.get_by_role("link", name="Point of sale: Copy the ID").click()
        await expect(point).to_be_focused()
        await expect(point).to_have_accessible_error_message(re.compile("Copy the ID from the merchant portal"))
        await expect(storefronts).to_have_accessible_error_message(re.compile("Enter storefronts without a path"))
        await expect(frame.locator(".wrong")).to_have_count(2)

        await point.fill(POS_ID)
        await frame.get_by_role("button", name="Test the keys and save").click()
        await expect(storefronts).to_be_focused()
        await expect(frame.locator(".wrong")).to_have_count(1)
        await expect(point).not_to_have_attribute("aria-invalid", "true")
    assert await new_store.services.accounts.all() == []


@pytest.mark.long
@one_database
async def test_empty_forms_are_told_in_the_pages_own_words(browser: Browser, new_store: StaffClient) -> None:
    async with dashboard_of(browser, new_store.app, "/set-up/accounts/new") as (page, frame):
        await page.evaluate("setLocale('uk')")
        await sign_in(page, new_store.token())
        await frame.get_by_role("button", name="Перевірити ключі й зберегти").click()
        summary = frame.get_by_role("alert")
        await expect(summary).to_be_focused()
        await expect(summary.get_by_role("link")).to_have_count(5)
        await expect(frame.get_by_role("radiogroup")).to_have_attribute("aria-invalid", "true")
        await summary.get_by_role("link").first.click()
        await expect(frame.get_by_role("radio").first).to_be_focused()


@pytest.mark.long
@one_database
async def test_fields_that_a_form_requires_are_told_at_once(browser: Browser, staff_client: StaffClient) -> None:
    async with dashboard_of(browser, staff_client.app, "/set-up/try") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_label("E-mail address").fill("nobody")
        await frame.get_by_role("button", name="Open the payment page").click()
        await expect(frame.get_by_role("alert")).to_be_focused()
        await expect(frame.get_by_role("alert")).to_contain_text("Correct these fields:")
        await expect(frame.get_by_label("Phone number")).to_have_accessible_error_message("Fill this in.")
        email = frame.get_by_label("E-mail address")
        await expect(email).to_have_accessible_error_message(re.compile("Enter an e-mail address"))
        await expect(email).to_have_accessible_description(re.compile("The gateway requires these details"))


@one_database
async def test_an_email_address_may_be_typed_with_wide_signs(browser: Browser, staff_client: StaffClient) -> None:
    staff_client.shop.gateway.will_answer(staff_client.shop.gateway.page())
    async with dashboard_of(browser, staff_client.app, "/set-up/try") as (page, frame):
        await sign_in(page, staff_client.token())
        email = frame.get_by_label("E-mail address")
        await frame.get_by_label("Phone number").fill("+380501234567")
        await email.fill("<olena＠>,")
        await frame.get_by_role("button", name="Open the payment page").click()
        await expect(email).to_have_accessible_error_message(re.compile("Enter an e-mail address"))
        await email.fill("<olena＠example．com>,")
        await frame.get_by_role("button", name="Open the payment page").click()
        await expect(frame.get_by_role("link", name="Open the payment page in a new tab")).to_be_visible()
    [heard] = staff_client.shop.gateway.requests
    assert heard.json["customer_email"] == "olena@example.com"


@one_database
async def test_form_of_a_further_account_leads_back_to_the_accounts(
    browser: Browser, staff_client: StaffClient
) -> None:
    async with dashboard_of(browser, staff_client.app, "/set-up") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_role("link", name="Add a merchant account").click()
        await frame.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Merchant accounts").click()
        await expect(frame.get_by_role("heading", name="Merchant accounts")).to_be_visible()
        assert await path_of(frame) == "/set-up"


@one_database
async def test_currencies_of_a_trial_are_those_of_the_account_that_is_chosen(
    browser: Browser, staff_client: StaffClient
) -> None:
    await add_account(staff_client.services, staff_client.shop.installation.id, name="Euro", currencies=["EUR", "UAH"])
    await add_account(staff_client.services, staff_client.shop.installation.id, name="Dinar", currencies=["KWD"])
    async with dashboard_of(browser, staff_client.app, "/set-up/try") as (page, frame):
        await sign_in(page, staff_client.token())
        account, currency = frame.get_by_label("Merchant account"), frame.get_by_label("Currency")
        offered = currency.locator("option:enabled")
        for name, currencies in (("Dinar", ["KWD"]), ("Euro", ["EUR", "UAH"])):
            await account.select_option(label=f"{name} (Live, {', '.join(currencies)})")
            await expect(currency).to_have_value(currencies[0])
            assert sorted(await offered.all_inner_texts()) == currencies
        await currency.select_option("EUR")
        await account.select_option(staff_client.shop.account.id)
        await expect(currency).to_have_value("UAH")
        await expect(offered).to_have_text(["UAH"])


@one_database
async def test_a_trial_asks_for_what_the_account_that_is_chosen_needs(
    browser: Browser, staff_client: StaffClient
) -> None:
    shop = staff_client.shop
    for name, options in (("Named", {"names_required": True}), ("Loans", {"sector": "microfinance"})):
        await add_account(staff_client.services, shop.installation.id, name=name, options=options)
    async with dashboard_of(browser, staff_client.app, "/set-up/try") as (page, frame):
        await sign_in(page, staff_client.token())
        account = frame.get_by_label("Merchant account")
        names, birthday = frame.get_by_label(re.compile("First name|Last name")), frame.get_by_label("Date of birth")
        for chosen, named, born in (("Loans", 2, 1), ("Named", 2, 0), (None, 0, 0)):
            choice = shop.account.id if chosen is None else f"{chosen} (Live, UAH)"
            await account.select_option(choice)
            await expect(names.filter(visible=True)).to_have_count(named)
            await expect(birthday.filter(visible=True)).to_have_count(born)
        await frame.get_by_label("Phone number").fill("+380501234567")
        shop.gateway.will_answer(shop.gateway.page())
        await frame.get_by_role("button", name="Open the payment page").click()
        await expect(frame.locator("main").get_by_text("waiting for the shopper")).to_be_visible()


@one_database
async def test_saving_a_move_to_real_money_stands_out_from_changing_nothing(
    browser: Browser, staff_client: StaffClient
) -> None:
    services, account = staff_client.services, staff_client.shop.account
    staff_client.saleor.graphql = JSONResponse({"data": {"channels": CHANNELS}})
    await add_account(services, account.installation_id, name="Sandbox", options={"test_project": True})
    await services.accounts.map_channel("uah", account.id)
    async with dashboard_of(browser, staff_client.app, "/set-up/channels") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_role("combobox", name="Merchant account").select_option("Sandbox (UAH)")
        await frame.get_by_role("button", name="Save channels").click()
        save, cancel = (
            frame.get_by_role("button", name="Save channels"),
            frame.get_by_role("link", name="Change nothing"),
        )
        await cancel.focus()
        await page.mouse.move(0, 0)  # what the pointer is over has another colour
        colors = [await choice.evaluate("it => getComputedStyle(it).backgroundColor") for choice in (save, cancel)]
        assert colors[0] != colors[1]
        heights = [await choice.evaluate("it => it.offsetHeight") for choice in (save, cancel)]
        assert heights[0] == heights[1]


@one_database
async def test_account_options_are_grouped_and_saved_from_a_bar_that_stays(
    browser: Browser, staff_client: StaffClient
) -> None:
    account = staff_client.shop.account
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{account.id}") as (page, frame):
        await sign_in(page, staff_client.token())
        height = await frame.locator("body").evaluate("body => body.scrollHeight")
        assert height < 2600
        save = frame.get_by_role("button", name="Save options")
        await frame.get_by_role("link", name="Cards", exact=True).click()
        await expect(frame.get_by_role("group", name="Cards").get_by_label("Saved cards")).to_be_visible()
        await expect(save).to_be_in_viewport()
        await expect(frame.get_by_text("You have changes that are not saved.")).to_have_count(0)
        await frame.get_by_label("Saved cards").click()
        await expect(frame.get_by_text("You have changes that are not saved.")).to_be_in_viewport()
        await save.click()
        await expect(frame.get_by_role("status")).to_contain_text("The account was updated.")
        await expect(frame.get_by_label("Saved cards")).to_be_visible()  # its group is still unfolded
        await expect(frame.get_by_text("You have changes that are not saved.")).to_have_count(0)


@one_database
async def test_unsaved_changes_are_kept_until_staff_leave_them(browser: Browser, staff_client: StaffClient) -> None:
    account = staff_client.shop.account
    path = f"/set-up/accounts/{account.id}"
    async with dashboard_of(browser, staff_client.app, "/set-up") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_role("link", name=account.name).click()
        name = frame.get_by_role("textbox", name="Name", exact=True)
        await name.fill("Another")
        question = frame.get_by_role("dialog", name="Leave without saving?")

        for leaving in ("link", "form", "back"):
            if leaving == "link":
                await frame.get_by_role("link", name="Merchant accounts").click()
            elif leaving == "form":
                await frame.get_by_role("button", name="Compare them now").click()
            else:
                await page.evaluate("history.back()")
            await question.get_by_role("button", name="Stay on this page").click()
            await expect(name).to_have_value("Another")
            assert await path_of(frame) == path
        prevented = await frame.locator("html").evaluate(
            "() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true }))"
        )
        assert prevented

        await page.evaluate("history.back()")
        await question.get_by_role("button", name="Leave without saving").click()
        await expect(frame.get_by_role("heading", name="Merchant accounts")).to_be_visible()
        assert await path_of(frame) == "/set-up"
        await frame.get_by_role("link", name=account.name).click()  # nothing to ask about
        await expect(frame.get_by_role("heading", name=account.name)).to_be_visible()
    assert (await staff_client.services.accounts.all())[0].name == account.name


@pytest.mark.long
@one_database
async def test_rules_are_only_checked_by_the_button_that_says_so(browser: Browser, staff_client: StaffClient) -> None:
    account = staff_client.shop.account
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{account.id}") as (page, frame):
        await sign_in(page, staff_client.token())
        rules, text = await edit_rules_as_text(frame)
        await rules.fill('mode = "percentages"')
        await text.get_by_role("button", name="Only check").click()
        await expect(frame.get_by_role("alert")).to_contain_text("the percentages sum to 0")
        await expect(rules).to_be_focused()
        seller = "7d1f4c2b-0000-4000-8000-000000000001"
        await rules.fill(f'mode = "percentages"\npercentages = {{ "{seller}" = 100 }}')
        await text.get_by_role("button", name="Only check").click()
        await expect(frame.get_by_role("status")).to_contain_text("Nothing was saved")
        await expect(frame.get_by_role("cell", name="669.97").first).to_be_visible()
    (kept,) = await staff_client.services.accounts.all()
    assert kept.split_rules is None


@one_database
async def test_sellers_are_added_to_and_removed_from_the_table(browser: Browser, staff_client: StaffClient) -> None:
    account = staff_client.shop.account
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{account.id}", width=400) as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_text("Edit who gets what").click()
        await expect(frame.get_by_role("button", name="Add a seller")).to_be_hidden()
        await frame.get_by_label("How payments are split").select_option("metadata")
        await expect(frame.get_by_label("Share, %").first).to_be_hidden()
        await frame.get_by_label("How payments are split").select_option("percentages")
        ids, shares = frame.get_by_label("ID at the gateway"), frame.get_by_label("Share, %")
        await frame.get_by_role("button", name="Add a seller").click()
        await expect(frame.get_by_role("textbox", name="Seller").nth(2)).to_be_focused()
        await frame.get_by_role("button", name="Remove the seller").nth(0).click()
        await expect(ids).to_have_count(2)
        for number, share in enumerate(("40", "50")):
            await ids.nth(number).fill(f"7d1f4c2b-0000-4000-8000-00000000000{number}")
            await shares.nth(number).fill(share)
        save = frame.locator("#split-table").get_by_role("button", name="Save")
        await save.click()
        await expect(shares.nth(1)).to_be_focused()
        await expect(shares.nth(1)).to_have_accessible_error_message("The shares add up to 90, not to 100.")
        await shares.nth(1).fill("60")
        await save.click()
        await expect(frame.get_by_role("status")).to_contain_text("The account was updated.")
        await expect(ids.first).to_have_value("7d1f4c2b-0000-4000-8000-000000000000")
        await no_wider_than_the_phone(frame)
    (kept,) = await staff_client.services.accounts.all()
    assert (kept.split_rules or {})["percentages"] == {
        "7d1f4c2b-0000-4000-8000-000000000000": "40",
        "7d1f4c2b-0000-4000-8000-000000000001": "60",
    }


@one_database
async def test_findings_that_come_late_are_summed_up_for_who_listens(
    browser: Browser, staff_client: StaffClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_WAIT", 0)
    async with dashboard_of(browser, staff_client.app, "/set-up/health") as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_text("Still checking")).to_be_visible()
        await listen(frame.locator("html"))
        monkeypatch.undo()
        await expect(frame.locator(".findings")).to_be_visible()
        (said,) = await announced(frame.locator("html"))
        assert said == await frame.locator("[data-final] strong").inner_text()


@pytest.mark.long
@one_database
async def test_books_are_compared_when_a_button_is_pressed(browser: Browser, staff_client: StaffClient) -> None:
    account = staff_client.shop.account
    async with dashboard_of(browser, staff_client.app, f"/set-up/accounts/{account.id}", width=400) as (page, frame):
        await sign_in(page, staff_client.token())
        button = frame.get_by_role("button", name="Compare them now")
        await button.click()
        await expect(frame.get_by_role("status")).to_contain_text("The records are being compared.")
        await expect(frame.get_by_text("They are being compared now.")).to_be_visible()
        await expect(button).to_have_count(0)
        await no_wider_than_the_phone(frame)
