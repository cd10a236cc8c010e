"""Staff look for payments in the Dashboard's frame."""

import csv
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from zipfile import is_zipfile

import pytest
from playwright.async_api import Browser, Locator, expect

from app.core.vocabulary import Kind, State
from tests.commands.books import operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names
from tests.dashboard.framing import BrowserErrors, dashboard_of, path_of, sign_in, wait_for_messages

pytestmark = pytest.mark.browser

OLENA = "olena@example.com"


@one_database
async def test_looking_for_a_shopper_leaves_her_address_in_no_address_of_a_page(
    browser: Browser, staff_client: StaffClient
) -> None:
    kept = staff_client.services.emails.digest_to_store(staff_client.shop.installation.id, OLENA)
    for number in range(1, 31):
        await staff_client.payment(number, email_digest=kept if number <= 28 else None)
    complaints, asked = BrowserErrors(), list[str]()
    async with dashboard_of(browser, staff_client.app, "/payments", complaints=complaints) as (page, frame):
        page.on("request", lambda request: asked.append(request.url))
        page.on("framenavigated", lambda moved: asked.append(moved.url))
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Search").fill(f" {OLENA}")
        await frame.get_by_label("Search").press("Enter")
        await expect(frame.get_by_role("row")).to_have_count(26)
        await frame.get_by_role("button", name="Older").click()
        await expect(frame.get_by_role("row")).to_have_count(4)
        await expect(frame.get_by_label("Search")).to_have_value(OLENA)
        asked += [await path_of(frame)]
        asked.append(await frame.locator("html").evaluate("() => location.href"))
        assert len([address for address in asked if address.endswith("/parts/payments")]) == 2
        assert not [address for address in asked if "olena" in address]
        assert complaints == []


@one_database
async def test_a_search_by_an_email_address_is_found_again_by_back_and_after_a_reload(
    browser: Browser, staff_client: StaffClient
) -> None:
    kept = staff_client.services.emails.digest_to_store(staff_client.shop.installation.id, OLENA)
    for number in range(1, 4):
        await staff_client.payment(number, email_digest=kept if number <= 2 else None)
    asked = list[str]()
    async with dashboard_of(browser, staff_client.app, "/payments") as (page, frame):
        page.on("request", lambda request: asked.append(request.url))
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Search").fill(OLENA)
        await frame.get_by_label("Search").press("Enter")
        await expect(frame.get_by_role("row")).to_have_count(3)
        await frame.get_by_role("link", name="Order 1002").click()
        await expect(frame.get_by_role("heading", name="Payment of 100.00")).to_be_visible()
        await page.evaluate("history.back()")
        await expect(frame.get_by_role("row")).to_have_count(3)
        await expect(frame.get_by_label("Search")).to_have_value(OLENA)
        await page.evaluate("history.back()")
        await expect(frame.get_by_role("row")).to_have_count(4)
        await page.evaluate("history.forward()")
        await expect(frame.get_by_role("row")).to_have_count(3)
        await page.reload()
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("row")).to_have_count(3)
        await expect(frame.get_by_label("Search")).to_have_value(OLENA)
        asked.append(await frame.locator("html").evaluate("() => location.href"))
        assert not [address for address in asked if "olena" in address]


@one_database
async def test_list_of_a_test_project_fits_a_desk(browser: Browser, staff_client: StaffClient) -> None:
    waiting = [operation(state=State.INIT)]
    await staff_client.payment(1, operations=waiting, amount=Decimal("569.50"))
    await staff_client.payment(
        2, operations=[operation(amount=Decimal("569.50"), details={"card_mask": "424242******4242"})]
    )
    await staff_client.services.accounts.change(staff_client.shop.account.id, test_project=True)
    async with dashboard_of(browser, staff_client.app, "/payments") as (page, frame):
        await page.set_viewport_size({"width": 860, "height": 860})
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_text("Waiting for the shopper")).to_be_visible()
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide <= 0


@one_database
async def test_an_email_address_with_wide_signs_is_found_and_left_in_no_address_of_a_page(
    browser: Browser, staff_client: StaffClient
) -> None:
    kept = staff_client.services.emails.digest_to_store(staff_client.shop.installation.id, OLENA)
    await staff_client.payment(1, email_digest=kept)
    await staff_client.payment(2)
    asked = list[str]()
    async with dashboard_of(browser, staff_client.app, "/payments") as (page, frame):
        page.on("request", lambda request: asked.append(request.url))
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Search").fill("ｏｌｅｎａ＠example．com")
        await frame.get_by_label("Search").press("Enter")
        await expect(frame.locator(".subject")).to_have_text(["Order 1001"])
    assert not [address for address in asked if "search=" in address]


@one_database
async def test_a_link_that_is_longer_than_most_is_pasted_whole(browser: Browser, staff_client: StaffClient) -> None:
    order = "T3JkZXI6OTgzM2IxZjItNGE0Yy00ZDQ3LTgwMDItMGFmMTA5ZjZlMjUx"
    await staff_client.payment(1, source_id=order)
    await staff_client.payment(2)
    async with dashboard_of(browser, staff_client.app, "/payments") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Search").focus()
        await page.keyboard.insert_text(f"https://dashboard.shop.example.com/dashboard/orders/{order}")  # as if pasted
        await page.keyboard.press("Enter")
        await expect(frame.locator(".subject")).to_have_text(["Order 1001"])


@pytest.mark.long
@one_database
async def test_days_are_those_of_the_browser(browser: Browser, staff_client: StaffClient) -> None:
    await staff_client.payment(1, created_at=datetime(2026, 3, 28, 21, 59, tzinfo=UTC))
    await staff_client.payment(2, created_at=datetime(2026, 3, 28, 22, 0, tzinfo=UTC))  # midnight in Kyiv
    await staff_client.payment(
        3, created_at=datetime(2026, 3, 29, 20, 59, tzinfo=UTC)
    )  # 23:59 there: clocks have changed
    await staff_client.payment(4, created_at=datetime(2026, 3, 29, 21, 0, tzinfo=UTC))
    async with dashboard_of(browser, staff_client.app, "/payments", timezone="Europe/Kyiv") as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_text("Channel, account, days").click()
        await frame.get_by_label("Started from").fill("2026-03-29")
        await frame.get_by_label("to (inclusive)").fill("2026-03-29")
        await frame.get_by_role("button", name="Search").click()
        await expect(frame.get_by_role("row")).to_have_count(3)
        await expect(frame.locator(".subject")).to_have_text(["Order 1003", "Order 1002"])
        await expect(frame.get_by_label("Started from")).to_have_value("2026-03-29")


@one_database
async def test_what_is_found_is_saved_as_a_file_from_within_the_sandboxed_frame(
    browser: Browser, staff_client: StaffClient
) -> None:
    for number in range(1, 31):
        await staff_client.payment(number, channel="eur" if number <= 28 else "uah")
    complaints = BrowserErrors()
    async with dashboard_of(browser, staff_client.app, "/payments?channel=eur", complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        async with page.expect_download() as download:
            await frame.get_by_role("button", name="Download as CSV").press("Enter")
        saved = await download.value
        assert saved.suggested_filename == "payments.csv"
        lines = list(csv.DictReader((await saved.path()).read_text("utf-8-sig").splitlines()))
        assert [line["Order number"] for line in lines] == [str(1000 + number) for number in range(28, 0, -1)]
        assert {(line["Amount"], line["Channel"], line["Status"]) for line in lines} == {("100.00", "eur", "paid")}
        assert any(heading.startswith("Started (") for heading in lines[0])
        async with page.expect_download() as download:
            await frame.get_by_role("button", name="Download as XLSX").click()
        saved = await download.value
        assert saved.suggested_filename == "payments.xlsx"
        assert is_zipfile(await saved.path())

        staff_client.shop.clock.forward(hours=1)  # the token is over, and the Dashboard has no other one
        await frame.get_by_role("button", name="Download as CSV").click()
        await wait_for_messages(page, "notifyReady", 2)
        async with page.expect_download():
            await page.evaluate("token => refresh(token)", staff_client.token())
        await expect(frame.get_by_role("alert")).to_be_hidden()
        assert [complaint for complaint in complaints if "401" not in complaint] == []


@one_database
@pytest.mark.parametrize("width", [1280, 390])
async def test_row_opens_its_payment_in_a_tab_of_its_own_by_control_and_click(
    browser: Browser, staff_client: StaffClient, width: int
) -> None:
    kept = await staff_client.payment(1, problem="The gateway says something else")
    for path in ("/payments", "/attention"):
        async with dashboard_of(browser, staff_client.app, path, width=width) as (page, frame):
            await sign_in(page, staff_client.token())
            link = frame.get_by_role("link", name="100.00 UAH Order 1001")
            row = await frame.locator("tbody tr, .tasks > li").bounding_box()
            assert row is not None
            await expect(link).to_have_attribute("data-page", f"/payments/{kept.order_id}")
            async with page.context.expect_page() as opened:
                await page.keyboard.down("Control")
                await page.mouse.click(row["x"] + row["width"] - 3, row["y"] + row["height"] / 2)
                await page.keyboard.up("Control")
            assert (await opened.value).url.endswith(f"/payments/{kept.order_id}")
            # What lies in a row still works.
            await frame.get_by_role("button", name="Copy the gateway order ID").click()
            assert await path_of(frame) == path


@asynccontextmanager
async def list_of_two(
    browser: Browser, staff_client: StaffClient, language: str
) -> AsyncIterator[tuple[Locator, Callable[[int], Awaitable[list[int]]]]]:
    """Give the list of two payments, and what returns the widths of a frame of that width, and of the list in it."""
    async with dashboard_of(browser, staff_client.app, "/payments") as (page, frame):
        await page.evaluate("language => setLocale(language)", language)
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("row")).to_have_count(3)
        beside = await page.evaluate("() => innerWidth - document.querySelector('iframe').clientWidth")
        document = frame.locator("html")

        async def widths_in_frame(width: int) -> list[int]:
            await page.set_viewport_size({"width": width + beside, "height": 900})
            widths: list[int] = await document.evaluate("html => [html.clientWidth, html.scrollWidth]")
            return widths

        yield document, widths_in_frame


@one_database
async def test_large_sums_leave_room_for_all_columns(browser: Browser, staff_client: StaffClient) -> None:
    """In frames of a small window (763 pixels), and of those a little larger than where the list changes its form."""
    amount = Decimal("99999999.99")
    paid = operation(amount=amount, details={"card_mask": "555555******4444"})
    refunded = operation(Kind.REFUND, amount=Decimal("1.00"))
    for number in (1, 2):
        await store_payment(
            staff_client.services,
            staff_client.shop.account,
            operations=[paid, refunded],
            amount=amount,
            wallet="applepay",
            channel="default-channel",
            **names(number) | {"order_number": f"1234567890{number}"},
        )
    async with list_of_two(browser, staff_client, "uk") as (_, widths_in_frame):
        for width in (763, 860, 958, 962, 972, 990, 1020, 1050, 1072):
            assert await widths_in_frame(width) == [width, width]


@one_database
@pytest.mark.parametrize("language", ["en", "uk"])
async def test_the_widest_rows_fit_at_every_width(browser: Browser, staff_client: StaffClient, language: str) -> None:
    """Each column with the widest thing that it can hold, in a test project, from a phone to a large screen."""
    amount = Decimal("99999999.99")
    paid = operation(amount=amount, details={"card_mask": "555555******4444"})
    refunded = operation(Kind.REFUND, amount=Decimal("1.00"))
    under_way = operation(Kind.REFUND, State.PENDING, amount=Decimal("2.00"), idempotency_key="under way")
    account = await staff_client.services.accounts.change(staff_client.shop.account.id, test_project=True)
    for number, more in enumerate(
        (
            {"wallet": "applepay", "order_number": "1234567890123456789"},
            {"saved_card_id": "a-card", "saved_card_mask": "545454******5454", "order_number": "1" * 255},
        )
    ):
        await store_payment(
            staff_client.services,
            account,
            operations=[paid, refunded, under_way],
            problem="The gateway says something else",
            amount=amount,
            channel=("default-channel-uah", "c" * 255)[number],
            **names(number) | more,
        )
    async with list_of_two(browser, staff_client, language) as (_, widths_in_frame):
        wide = {}
        # And where a frame is only just wide enough for the next form of the list.
        for width in (*range(320, 1601, 10), 641, 769, 897, 961, 1025):
            seen, needed = await widths_in_frame(width)
            if needed > seen:
                wide[seen] = needed - seen
        assert not wide


@pytest.mark.long
@one_database
@pytest.mark.parametrize("language", ["en", "uk"])
async def test_beside_the_dashboards_menu_on_a_small_screen_all_columns_are_in_sight(
    browser: Browser, staff_client: StaffClient, language: str
) -> None:
    """In a window of 1024 pixels the Dashboard of Saleor leaves 763 to an app."""
    await staff_client.payment(1, saved_card_id="a-card", saved_card_mask="545454******5454", channel="default-channel")
    await staff_client.payment(2)
    async with list_of_two(browser, staff_client, language) as (_, widths_in_frame):
        assert await widths_in_frame(763) == [763, 763]


# What a reader may set for letters, words, lines and paragraphs (WCAG 1.4.12).
_SPACED_OUT = """() => {
  const style = new CSSStyleSheet();
  style.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; } p { margin-bottom: 2em !important; }`);
  document.adoptedStyleSheets = [style];
}"""


@one_database
@pytest.mark.parametrize("language", ["en", "uk"])
async def test_a_reader_who_spaces_letters_out_sees_all_columns(
    browser: Browser, staff_client: StaffClient, language: str
) -> None:
    paid = operation(details={"card_mask": "555555******4444"})
    await staff_client.payment(1, wallet="applepay", channel="default-channel", operations=[paid])
    await staff_client.payment(2, operations=[operation(state=State.PENDING)])
    async with list_of_two(browser, staff_client, language) as (document, widths_in_frame):
        await document.evaluate(_SPACED_OUT)
        assert await widths_in_frame(1072) == [1072, 1072]


@pytest.mark.long
@one_database
async def test_what_fits_into_the_frame_does_not_scroll(browser: Browser, staff_client: StaffClient) -> None:
    async with dashboard_of(browser, staff_client.app, "/payments") as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("heading", name="Payments")).to_be_visible()
        await page.locator("iframe").evaluate("frame => { frame.style.height = '822px'; }")
        html = frame.locator("html")
        assert await html.evaluate("html => [html.scrollHeight, html.clientHeight]") == [822, 822]
        await expect(frame.locator("footer")).to_be_visible()


@one_database
@pytest.mark.parametrize(("path", "chosen"), [("/payments?status=paid", ".chip"), ("/?days=7", ".periods a")])
async def test_what_is_chosen_is_seen_also_where_the_browser_paints_all_in_few_colours(
    browser: Browser, staff_client: StaffClient, path: str, chosen: str
) -> None:
    """Else a total of a few payments is read as that of all."""
    await staff_client.payment(1)
    async with dashboard_of(browser, staff_client.app, path) as (page, frame):
        await page.emulate_media(forced_colors="active")
        await sign_in(page, staff_client.token())
        colours = await frame.locator(f"{chosen}[aria-current]").evaluate(
            "choice => [choice, document.body].map((part) => getComputedStyle(part).backgroundColor)"
        )
        assert len({*colours}) == 2, colours
