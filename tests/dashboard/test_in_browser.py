"""The app's pages in a frame of another origin, as the Dashboard shows them."""

import json
from decimal import Decimal
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, FrameLocator, Locator, expect

from app.rules.split.standing import chosen_shares
from app.web.dashboard.router import create_dashboard_router
from app.web.security_headers import SecureApp
from app.web.static import static_files
from saleor_app_sdk_tests.dashboard_tokens import APP_ID
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, open_staff_client
from tests.dashboard.framing import BrowserErrors, below, dashboard_of, messages_of, path_of, sign_in, wait_for_messages
from tests.payments.shop import SALEOR, Shop
from tests.payments.split.market import enable_splitting, split_checkout
from tests.payments.split.people import POTTER, SMITH

pytestmark = pytest.mark.browser


async def unfold(frame: FrameLocator, words: str) -> Locator:
    """Unfold a part of the page; return what is in it."""
    summary = frame.locator("summary", has_text=words)
    await summary.click()
    return frame.locator("details", has=summary)


async def open_dialog(frame: FrameLocator, words: str) -> Locator:
    """Press what opens a dialog over the page; return the dialog."""
    await frame.get_by_role("button", name=words, exact=True).click()
    return frame.get_by_role("dialog")


@pytest.fixture
async def market(staff_client: StaffClient) -> StaffClient:
    """A marketplace whose shopper has paid 569.50, and some other payments."""
    await enable_splitting(staff_client.shop)
    await staff_client.payment(1)
    await staff_client.payment(2, problem="Somebody must look at this one.")
    await staff_client.shop.complete_payment(sourceObject=split_checkout())
    return staff_client


@pytest.mark.long
@one_database
async def test_from_the_list_to_a_choice_that_is_kept_while_tokens_come_and_go(
    browser: Browser, market: StaffClient
) -> None:
    complaints, order_id = BrowserErrors(), market.shop.order_id
    async with dashboard_of(browser, market.app, "/payments", complaints=complaints) as (page, frame):
        await sign_in(page, market.token())
        await expect(frame.get_by_role("heading", name="Payments")).to_be_visible()
        await expect(frame.get_by_role("row")).to_have_count(4)

        chips = frame.get_by_role("navigation", name="Status")
        await chips.get_by_role("link", name="Needs attention").click()
        await expect(frame.get_by_role("row")).to_have_count(2)
        assert await path_of(frame) == "/payments?problems=1"
        await expect(chips.get_by_role("link", name="Needs attention 1")).to_have_attribute("aria-current", "true")
        await frame.get_by_role("link", name="Clear all").click()
        # Anywhere in its row, not only on the words of its link.
        await frame.get_by_role("row", name="569.50").get_by_role("cell").last.click(force=True)
        await expect(frame.get_by_role("heading", name="Payment of 569.50")).to_be_focused()
        assert await path_of(frame) == f"/payments/{order_id}"

        # Shortly before its token is over the Dashboard sends another: nobody notices anything.
        market.shop.clock.forward(seconds=290)
        await page.evaluate("token => refresh(token)", market.token())
        market.shop.clock.forward(seconds=60)
        choice = await unfold(frame, "Choose who pays for it")
        await choice.get_by_label("Potter").fill("40")
        await choice.get_by_label("Smith").fill("10,50")
        await frame.get_by_role("button", name="Save choice").click()
        await expect(frame.get_by_role("status")).to_have_text("Your choice was saved for the next refund.")
        await expect(frame.get_by_role("status")).to_be_focused()
        await expect(frame.get_by_text("the next refund of exactly 50.50")).to_be_visible()
        assert complaints == []
    assert chosen_shares(await market.shop.aggregate()) == {POTTER: Decimal("40.00"), SMITH: Decimal("10.50")}


@one_database
async def test_a_form_is_sent_again_when_the_token_was_over(browser: Browser, market: StaffClient) -> None:
    complaints, path = BrowserErrors(), f"/payments/{market.shop.order_id}"
    async with dashboard_of(browser, market.app, path, complaints=complaints) as (page, frame):
        await sign_in(page, market.token())
        choice = await unfold(frame, "Choose who pays for it")
        await choice.get_by_label("Potter").fill("40")
        # A laptop was shut for an hour: the Dashboard itself has only the old token at first.
        market.shop.clock.forward(hours=1)
        await frame.get_by_role("button", name="Save choice").click()
        await wait_for_messages(page, "notifyReady", 2)
        assert chosen_shares(await market.shop.aggregate()) is None
        await page.evaluate("token => refresh(token)", market.token())
        await expect(frame.get_by_role("status")).to_be_visible()
        assert [complaint for complaint in complaints if "401" not in complaint] == []
        assert len(complaints) == 1  # the browser's own word about the refusal
    assert chosen_shares(await market.shop.aggregate()) == {POTTER: Decimal("40.00")}


@one_database
async def test_what_is_refused_is_said_and_nothing_typed_is_lost(browser: Browser, market: StaffClient) -> None:
    async with dashboard_of(browser, market.app, f"/payments/{market.shop.order_id}") as (page, frame):
        await sign_in(page, market.token())
        choice = await unfold(frame, "Choose who pays for it")
        await choice.get_by_label("Potter").fill("300.01")
        await frame.get_by_role("button", name="Save choice").click()
        await expect(frame.get_by_role("alert")).to_contain_text("300.00 UAH is left")
        await expect(choice.get_by_label("Potter")).to_have_value("300.01")
        assert (await messages_of(page, "notification"))[-1]["status"] == "error"
    assert chosen_shares(await market.shop.aggregate()) is None


@pytest.mark.long
@one_database
async def test_a_page_that_does_not_come_says_so_and_is_asked_for_again_by_a_button(
    browser: Browser, market: StaffClient
) -> None:
    async with dashboard_of(browser, market.app, "/payments") as (page, frame):
        await page.route("**/parts/payments*", lambda route: route.abort())
        await sign_in(page, market.token())
        await expect(frame.get_by_role("alert")).to_have_text("That did not work. Try again.")
        await expect(frame.get_by_text("One moment…")).to_have_count(0)
        await frame.get_by_role("button", name="Try again").click()  # and it still does not
        await expect(frame.get_by_role("button", name="Try again")).to_be_visible()
        await page.unroute_all()
        await frame.get_by_role("button", name="Try again").press("Enter")
        await expect(frame.get_by_role("row")).to_have_count(4)
        await expect(frame.get_by_role("heading", name="Payments")).to_be_focused()
        await expect(frame.get_by_role("button", name="Try again")).to_be_hidden()
        await expect(frame.get_by_role("alert")).to_be_hidden()


@pytest.mark.parametrize("status", [403, 404])
@one_database
async def test_a_page_that_a_server_in_between_refuses_is_asked_for_again_by_a_button(
    browser: Browser, market: StaffClient, status: int
) -> None:
    """As it does while the app is being replaced: only what the app itself refuses is refused for good."""
    async with dashboard_of(browser, market.app, "/payments") as (page, frame):
        await page.route("**/parts/payments*", lambda route: route.fulfill(status=status, body="<h1>No backend</h1>"))
        await sign_in(page, market.token())
        await expect(frame.get_by_role("alert")).to_have_text("That did not work. Try again.")
        await page.unroute_all()
        again = frame.get_by_role("button", name="Try again")
        assert await again.is_visible()
        await again.click()
        await expect(frame.get_by_role("row")).to_have_count(4)


@pytest.mark.long
@pytest.mark.parametrize("language", ["en", "uk"])
@one_database
async def test_a_page_is_fetched_once_though_the_dashboard_says_its_language_with_the_token(
    browser: Browser, market: StaffClient, language: str
) -> None:
    asked: list[str] = []
    async with dashboard_of(browser, market.app) as (page, frame):
        page.on("request", lambda request: asked.append(request.url) if "/parts/" in request.url else None)
        await page.evaluate("language => { localStorage.locale = language; chosen.locale = language; }", language)
        await sign_in(page, market.token())
        await expect(frame.locator("#content:not([aria-busy]) h1")).to_be_visible()
        await expect(frame.locator("html")).to_have_attribute("lang", language)
        await page.wait_for_load_state("networkidle")
        assert len(asked) == 1, asked


@pytest.mark.long
@one_database
async def test_what_a_store_does_not_have_is_not_asked_for_again(browser: Browser, market: StaffClient) -> None:
    async with dashboard_of(browser, market.app, f"/payments/{'f' * 32}") as (page, frame):
        await sign_in(page, market.token())
        await expect(frame.get_by_role("alert")).to_have_text("This store has no such payment.")
        await expect(frame.get_by_role("button", name="Try again")).to_be_hidden()


@one_database
async def test_what_a_store_does_not_have_leads_to_the_overview(browser: Browser, market: StaffClient) -> None:
    async with dashboard_of(browser, market.app, f"/payments/{'f' * 32}") as (page, frame):
        await sign_in(page, market.token())
        await expect(frame.get_by_role("alert")).to_have_text("This store has no such payment.")
        await frame.get_by_role("link", name="Overview").click()
        await expect(frame.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        await expect(frame.get_by_role("alert")).to_be_hidden()
        assert await path_of(frame) == "/"


@one_database
async def test_whom_the_app_does_not_know_is_led_nowhere(browser: Browser, market: StaffClient) -> None:
    market.permissions = ()
    async with dashboard_of(browser, market.app) as (page, frame):
        await sign_in(page, market.token())
        await expect(frame.get_by_role("alert")).to_be_visible()
        await expect(frame.get_by_role("link")).to_have_count(0)


@one_database
async def test_theme_and_language_are_the_dashboards(browser: Browser, market: StaffClient) -> None:
    complaints = BrowserErrors()
    async with dashboard_of(browser, market.app, "/payments", complaints=complaints) as (page, frame):
        await page.evaluate("setLocale('uk')")  # before there is a token
        await sign_in(page, market.token())
        await expect(frame.get_by_role("heading", name="Платежі")).to_be_visible()
        await expect(frame.locator("html")).to_have_attribute("lang", "uk")
        await page.evaluate("setLocale('en-GB')")
        await expect(frame.get_by_role("heading", name="Payments")).to_be_visible()

        await expect(frame.locator("html")).to_have_attribute("data-theme", "light")
        await page.evaluate("setTheme('dark')")
        await expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
        for nonsense in (
            "setTheme('<b>')",
            "setLocale('not a language!')",
            "setLocale(null)",
            "say('theme', null)",
            "say('toString', {})",
        ):
            await page.evaluate(nonsense)
        await page.evaluate("frame().postMessage(null, '*')")
        await page.evaluate("setTheme('light')")
        await expect(frame.locator("html")).to_have_attribute("data-theme", "light")
        assert complaints == []


@one_database
async def test_deep_links_and_the_way_back_lead_to_pages(browser: Browser, market: StaffClient) -> None:
    async with dashboard_of(browser, market.app, "/payments?problems=1") as (page, frame):
        await sign_in(page, market.token())
        await expect(frame.get_by_role("row")).to_have_count(2)
        steps = await page.evaluate("history.length")
        await frame.get_by_role("link", name="Order 1002").click()
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        await frame.get_by_role("link", name="Money").click()
        await expect(frame.get_by_role("heading", name="Money", exact=True)).to_be_visible()
        assert await page.evaluate("history.length") == steps + 2
        # One step back is one Back, and the page is the one that the address names.
        await page.evaluate("history.back()")
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        await page.evaluate("history.back()")
        await expect(frame.get_by_role("row")).to_have_count(2)
        assert await path_of(frame) == "/payments?problems=1"
        await page.evaluate("history.forward()")
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        assert await messages_of(page, "updateRouting") == []


@one_database
async def test_a_link_opens_in_a_tab_of_its_own_in_the_dashboard(browser: Browser, market: StaffClient) -> None:
    order_id = market.shop.order_id
    async with dashboard_of(browser, market.app, "/payments") as (page, frame):
        await sign_in(page, market.token())
        here = page.url.removesuffix("/payments")
        row = frame.get_by_role("link", name="569.50")
        chip = frame.get_by_role("navigation", name="Status").get_by_role("link", name="Needs attention")
        async with page.expect_popup() as opened:
            await row.click(button="middle")
        assert (await opened.value).url == f"{here}/payments/{order_id}"
        async with page.expect_popup() as opened:
            await chip.click(modifiers=["Control"])
        assert (await opened.value).url == f"{here}/payments?problems=1"
        # What the browser itself opens or copies names the store, so that it leads into the Dashboard as well.
        ours = await frame.locator("html").evaluate("() => location.origin")
        there = f"{ours}/payments/{order_id}?saleorApiUrl={quote(SALEOR, safe='')}&id={quote(APP_ID)}"
        assert await row.evaluate("link => link.href") == there
        await row.click()
        await expect(frame.get_by_role("heading", name="Payment of 569.50")).to_be_visible()
        async with page.expect_popup() as opened:
            await frame.get_by_role("link", name="Link for colleagues").click()
        assert (await opened.value).url == f"{here}/payments/{order_id}"


@pytest.mark.long
@one_database
async def test_a_reload_finds_the_page_again_and_a_link_the_one_that_it_names(
    browser: Browser, market: StaffClient
) -> None:
    async with dashboard_of(browser, market.app, "/payments?problems=1") as (page, frame):
        await sign_in(page, market.token())
        await frame.get_by_role("link", name="Order 1002").click()
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        await page.reload()
        await sign_in(page, market.token())
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        await page.goto(page.url.replace("/payments?problems=1", "/money"))
        await sign_in(page, market.token())
        await expect(frame.get_by_role("heading", name="Money", exact=True)).to_be_visible()


@one_database
async def test_neither_back_nor_a_reload_leads_to_a_search_that_was_refused(
    browser: Browser, market: StaffClient
) -> None:
    async with dashboard_of(browser, market.app, "/payments") as (page, frame):
        await sign_in(page, market.token())
        await frame.get_by_role("link", name="Money").click()
        await frame.get_by_label("From").fill("2000-01-02")
        await frame.get_by_label("To (inclusive)").fill("2000-01-01")
        await frame.get_by_role("button", name="Show").click()
        await expect(frame.locator(".wrong")).to_be_visible()
        assert await path_of(frame) == "/money"
        await frame.get_by_role("link", name="Payments", exact=True).click()
        await expect(frame.get_by_role("heading", name="Payments")).to_be_visible()
        await page.evaluate("history.back()")
        money = frame.get_by_role("heading", name="Money", exact=True)
        await expect(money).to_be_visible()
        await expect(frame.get_by_role("alert")).to_be_hidden()
        await page.reload()
        await sign_in(page, market.token())
        await expect(money).to_be_visible()


@one_database
async def test_back_after_a_reload_leads_through_the_pages_seen_before_it(
    browser: Browser, market: StaffClient
) -> None:
    async with dashboard_of(browser, market.app, "/payments?problems=1") as (page, frame):
        await sign_in(page, market.token())
        await frame.get_by_role("link", name="Order 1002").click()
        await frame.get_by_role("link", name="Money").click()
        money = frame.get_by_role("heading", name="Money", exact=True)
        await expect(money).to_be_visible()
        for _ in range(2):  # what is restored survives the next reload
            await page.reload()
            await sign_in(page, market.token())
            await expect(money).to_be_visible()
            steps = await page.evaluate("history.length")
        # Browsers skip what a page adds to the history before its user has touched it: nothing is added until then.
        await money.click()
        assert await page.evaluate("history.length") == steps + 2
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/parts/" in request.url else None)
        await page.evaluate("history.back()")
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        await page.evaluate("history.back()")
        await expect(frame.get_by_role("row")).to_have_count(2)
        assert await path_of(frame) == "/payments?problems=1"
        assert len(asked) == 2
        # From there one step is one entry, as before.
        await frame.get_by_role("link", name="Order 1002").click()
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        assert await page.evaluate("history.length") == steps + 1
        await page.reload()
        await sign_in(page, market.token())
        await frame.get_by_role("heading", name="Payment of 100.00").click()
        await page.evaluate("history.back()")
        await expect(frame.get_by_role("row")).to_have_count(2)


@pytest.mark.long
@one_database
async def test_the_dashboard_says_its_own_path_and_nobody_minds(browser: Browser, market: StaffClient) -> None:
    complaints = BrowserErrors()
    async with dashboard_of(browser, market.app, "/payments", complaints=complaints) as (page, frame):
        await sign_in(page, market.token())
        await expect(frame.get_by_role("heading", name="Payments")).to_be_visible()
        for path in ("/", "/dashboard/extensions/app/QXBwOjE%3D/payments/7", "https://elsewhere.example/"):
            await page.evaluate("path => say('redirect', { path })", path)
        await expect(frame.get_by_role("row")).to_have_count(4)
        assert complaints == []


@pytest.mark.long
@one_database
@pytest.mark.parametrize("path", ["/pay", "/pay/", "/pay/payments"])
async def test_the_app_lives_below_a_path_of_its_host(browser: Browser, shop: Shop, path: str) -> None:
    complaints = BrowserErrors()
    async with (
        open_staff_client(shop, base="/pay") as staff_client,
        dashboard_of(browser, below("/pay", staff_client.app), path, complaints=complaints) as (page, frame),
    ):
        kept = await staff_client.payment(1)
        await sign_in(page, staff_client.token())
        await frame.get_by_role("link", name="Payments", exact=True).click()
        await frame.get_by_role("link", name="Order 1001").click()
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        assert await path_of(frame) == f"/pay/payments/{kept.order_id}"
        assert complaints == []


@one_database
async def test_everything_can_be_done_with_the_keyboard_on_a_phone(browser: Browser, market: StaffClient) -> None:
    async with dashboard_of(browser, market.app, "/payments", width=360) as (page, frame):
        await sign_in(page, market.token())
        await frame.get_by_role("link", name="569.50").press("Enter")
        await frame.locator("summary", has_text="Choose who pays for it").press("Enter")
        choice = frame.locator("details", has_text="Choose who pays for it")
        await choice.get_by_label("Potter").focus()
        await page.keyboard.type("1")
        await page.keyboard.press("Enter")
        await expect(frame.get_by_role("status")).to_be_visible()
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide == 0
        await frame.get_by_role("link", name="All payments").press("Enter")
        await expect(frame.get_by_role("heading", name="Payments")).to_be_focused()
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide == 0


@pytest.mark.threat("csrf")
@one_database
async def test_the_token_stays_in_memory(browser: Browser, market: StaffClient) -> None:
    async with dashboard_of(browser, market.app, "/payments") as (page, frame):
        token = market.token()
        await sign_in(page, token)
        await expect(frame.get_by_role("heading", name="Payments")).to_be_visible()
        left = await frame.locator("html").evaluate(
            "html => [html.outerHTML, location.href, document.cookie, {...localStorage}, {...sessionStorage}]"
        )
        assert token not in json.dumps(left)
        assert await page.context.cookies() == []


@pytest.mark.threat("missing-permission")
@one_database
async def test_nobody_is_shown_anything_before_a_token_says_that_they_may(
    browser: Browser, market: StaffClient
) -> None:
    async with dashboard_of(browser, market.app) as (page, frame):
        await expect(frame.get_by_text("One moment…")).to_be_visible()
        await page.evaluate("say('handshake', { token: null, version: 1 })")
        await page.evaluate("say('handshake', {})")
        await sign_in(page, market.token(user_permissions=[]))
        await expect(frame.get_by_role("alert")).to_contain_text("you need the permission")
        await expect(frame.get_by_text("One moment…")).to_be_hidden()


@one_database
async def test_outside_of_the_dashboard_there_is_nothing_to_see(browser: Browser, market: StaffClient) -> None:
    async with dashboard_of(browser, market.app) as (page, frame):
        address = await frame.locator("html").evaluate("() => location.href")
        await page.goto(address)
        await expect(page.get_by_role("alert")).to_have_text("Open this page in the Saleor Dashboard.")


@pytest.mark.threat("clickjacking")
async def test_a_site_that_was_not_named_cannot_frame_the_page(browser: Browser) -> None:
    app = SecureApp(frame_ancestors=("https://dashboard.example.com",))
    app.include_router(create_dashboard_router(app_name="Pay", app_version="1"))
    app.mount("/static", static_files())
    async with dashboard_of(browser, app) as (page, _):
        (frame,) = page.main_frame.child_frames
        assert frame.url == "chrome-error://chromewebdata/"
