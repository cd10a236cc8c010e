"""The widget in a browser, in the played Dashboard's frame."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, FrameLocator, Page, Route, expect

from tests.commands.conftest import one_database
from tests.dashboard.framing import clipboard_text, messages_of, wait_for_messages
from tests.dashboard.order_page_stack import WIDGET, OrderPageStack
from tests.dashboard.test_unanswered_in_browser import UNANSWERED
from tests.pages.hearing import announced, listen
from tests.payments.fake_gateway import refusal_reply

pytestmark = pytest.mark.browser
_HEIGHT = "html => Math.ceil(html.getBoundingClientRect().height)"


@asynccontextmanager
async def order_page(
    browser: Browser, stack: OrderPageStack, order_id: str, *, width: int = 1000
) -> AsyncIterator[tuple[Page, FrameLocator]]:
    """Give an order's page in the Dashboard, and the widget on it."""
    page = await browser.new_page(viewport={"width": width, "height": 900}, locale="en-GB")
    await page.goto(f"{stack.saleor.url}/dashboard/orders/{quote(order_id)}")
    yield page, page.frame_locator("iframe")
    await page.close()


@pytest.mark.threat("csrf")
@one_database
async def test_the_token_is_kept_fresh_by_the_dashboard_and_by_nobody_else(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        button = widget.get_by_role("button", name="Create payment link")
        await expect(button).to_be_visible()
        await wait_for_messages(page, "widgetResize", 1)
        stack.clock.forward(seconds=290)
        await page.evaluate("token => embedded[0].send('tokenRefresh', { token })", stack.token())
        # Another window's word, and the frame's own, count for nothing.
        await widget.locator("html").evaluate("() => postMessage({ type: 'tokenRefresh', payload: { token: 'x' } })")
        await page.evaluate("embedded[0].send('tokenRefresh', { token: 7 })")
        stack.clock.forward(seconds=60)  # the token that came with the page is over
        stack.gateway.will_answer(stack.gateway.page())
        await button.click()
        await expect(widget.get_by_role("status")).to_have_text("The link is ready: send it to the customer.")
        assert await page.context.cookies() == []


@one_database
async def test_it_has_the_dashboards_theme_and_language_also_while_it_is_open(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        await expect(widget.get_by_role("button", name="Create payment link")).to_be_visible()
        await expect(widget.locator("html")).to_have_attribute("data-theme", "light")
        await page.evaluate("embedded[0].send('theme', { theme: 'dark' })")
        await expect(widget.locator("html")).to_have_attribute("data-theme", "dark")
        await page.evaluate("embedded[0].send('localeChanged', { locale: 'uk' })")
        await expect(widget.get_by_role("button", name="Створити посилання на оплату")).to_be_visible()
        await expect(widget.locator("html")).to_have_attribute("lang", "uk")


@pytest.mark.long
@one_database
async def test_it_changes_by_itself_while_something_is_open_and_the_orders_page_is_told(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    async with order_page(browser, stack, order.id) as (page, widget):
        await expect(widget.locator(".badge")).to_have_text("waiting for the shopper")
        asked = await messages_of(page, "refreshEntity")
        assert asked == []
        await stack.pays(aggregate)
        await expect(widget.locator(".badge")).to_have_text("paid")
        await wait_for_messages(page, "refreshEntity", 1)
        await stack.work()


@pytest.mark.long
@one_database
async def test_it_does_not_blink_while_nothing_changes(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    await stack.link(order)
    async with order_page(browser, stack, order.id) as (page, widget):
        await expect(widget.locator(".badge")).to_have_text("waiting for the shopper")
        await widget.locator("main").evaluate(
            """main => new MutationObserver(seen => (window.changes ??= []).push(...seen.map(({ type }) => type)))
                .observe(main, { attributes: true, childList: true, subtree: true })"""
        )
        for _ in range(2):  # the second begins after the first was handled
            async with page.expect_response(f"**{WIDGET}"):
                pass
        assert await widget.locator("html").evaluate("() => window.changes ?? []") == []


@one_database
async def test_what_is_wrong_with_an_amount_is_said_at_its_field(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        await expect(widget.get_by_role("button", name="Create payment link")).to_be_visible()
        await page.evaluate("embedded[0].send('localeChanged', { locale: 'uk' })")
        amount = widget.locator("[name=amount]")
        create = widget.locator("form:has([name=amount]) button")
        await expect(widget.locator("html")).to_have_attribute("lang", "uk")
        await expect(amount).to_have_value("569,50")
        await amount.fill("")
        await create.click()
        await expect(amount).to_have_accessible_error_message("Заповніть це поле.")
        await expect(amount).to_be_focused()
        await amount.fill("1,000")
        await create.click()
        await expect(amount).to_have_accessible_error_message("Вводьте суми так: 1234,50.")
        await expect(amount).to_have_value("1,000")
        await expect(widget.locator("[role=alert]:visible")).to_have_count(0)
    assert await stack.saleor.transactions() == []


@pytest.mark.long
@one_database
async def test_what_does_not_come_is_asked_for_again_by_a_button(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        await expect(widget.get_by_role("button", name="Create payment link")).to_be_visible()
        await page.route(f"**{WIDGET}/link", lambda route: route.abort())
        await widget.get_by_role("button", name="Create payment link").click()
        await expect(widget.get_by_role("alert")).to_have_text(UNANSWERED)
        await widget.get_by_role("button", name="Try again").click()
        await expect(widget.get_by_role("alert")).to_have_count(0)
        await expect(widget.get_by_role("button", name="Try again")).to_be_hidden()
        await expect(widget.get_by_role("button", name="Create payment link")).to_be_visible()
    assert await stack.saleor.transactions() == []


@one_database
async def test_nothing_is_said_to_come_when_the_first_request_has_failed(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    page = await browser.new_page(locale="en-GB")

    async def refuse(route: Route) -> None:
        await (route.fulfill(status=503, body="Busy") if route.request.method == "POST" else route.continue_())

    await page.route(f"**{WIDGET}*", refuse)
    await page.goto(f"{stack.saleor.url}/dashboard/orders/{quote(order.id)}")
    widget = page.frame_locator("iframe")
    await expect(widget.get_by_role("alert")).to_have_text("That did not work. Try again.")
    await expect(widget.get_by_text("One moment…")).to_have_count(0)
    await page.unroute_all()
    await widget.get_by_role("button", name="Try again").click()
    await expect(widget.get_by_role("button", name="Create payment link")).to_be_visible()
    await page.close()


@one_database
async def test_a_payment_opens_in_the_dashboard_that_one_is_in(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    order_id = (await stack.link(order)).payment.order_id
    (app,) = stack.running.engine.state.apps.values()
    there = f"{stack.saleor.url}/dashboard/extensions/app/{quote(app.id, safe='')}/payments/{order_id}"
    async with order_page(browser, stack, order.id) as (page, widget):
        amount = widget.get_by_role("link", name="0.00 UAH of 569.50")
        async with page.expect_popup() as opened:
            await amount.click(button="middle")
        await (await opened.value).wait_for_url(there)
        async with page.expect_popup() as opened:
            await amount.click(modifiers=["Control"])
        await (await opened.value).wait_for_url(there)
        await amount.click()
        await page.wait_for_url(there)
        await expect(page.frame_locator("iframe").get_by_role("heading", name="569.50")).to_be_visible()


@one_database
async def test_the_frame_is_as_high_as_what_it_shows(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    await stack.link(order)
    async with order_page(browser, stack, order.id, width=360) as (page, widget):
        await wait_for_messages(page, "widgetResize", 1)  # at once, though it is not in sight yet
        frame, html = page.locator("iframe"), widget.locator("html")
        await frame.scroll_into_view_if_needed()
        before = await html.evaluate(_HEIGHT)
        await expect(frame).to_have_js_property("clientHeight", before)
        await widget.get_by_text("Close this link…").press("Enter")
        after = await html.evaluate(_HEIGHT)
        assert after > before
        await expect(frame).to_have_js_property("clientHeight", after)
        assert await html.evaluate("html => html.scrollWidth - html.clientWidth") == 0


@one_database
async def test_a_link_is_copied_and_closed_with_the_keyboard(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    async with order_page(browser, stack, order.id) as (page, widget):
        await widget.get_by_role("button", name="Copy Payment link for the customer 569.50").press("Enter")
        await expect(widget.get_by_role("button", name="Copied")).to_be_visible()
        await expect(widget.locator("#said")).to_have_text("Copied")
        assert await clipboard_text(page) == f"{stack.url}/pay/{aggregate.payment.order_id}"
        stack.gateway.will_answer(stack.closed(aggregate))
        await widget.get_by_text("Close this link…").press("Enter")
        await widget.get_by_role("button", name="Close the link").press("Enter")
        await expect(widget.get_by_role("status")).to_contain_text("cancelled")
        await expect(widget.get_by_text("569.50 UAH is left to pay on this order.")).to_be_visible()


@one_database
async def test_after_an_action_the_keyboard_goes_on_from_what_it_says(browser: Browser, stack: OrderPageStack) -> None:
    """Else it begins anew at the start of the frame, and a screen reader says nothing."""
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (_, widget):
        message, amount = widget.get_by_role("status"), widget.get_by_label("Amount")
        await amount.fill("100")
        stack.gateway.will_answer(stack.gateway.page())
        await amount.press("Enter")
        await expect(message).to_have_text("The link is ready: send it to the customer.")
        await expect(message).to_be_focused()
        (aggregate,) = await stack.payments(order)
        stack.gateway.will_answer(stack.closed(aggregate))
        await widget.get_by_text("Close this link…").press("Enter")
        await widget.get_by_role("button", name="Close the link").press("Enter")
        await expect(message).to_contain_text("cancelled")
        await expect(message).to_be_focused()
        await amount.fill("1,000")
        await amount.press("Enter")
        await expect(amount).to_have_accessible_error_message("Enter amounts like 1234.50.")
        await expect(amount).to_be_focused()


@one_database
async def test_a_retry_that_works_leaves_the_keyboard_in_the_widget(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        await page.route(f"**{WIDGET}/link", lambda route: route.abort())
        await widget.get_by_role("button", name="Create payment link").press("Enter")
        await expect(widget.get_by_role("alert")).to_have_text(UNANSWERED)
        await widget.get_by_role("button", name="Try again").press("Enter")
        await expect(widget.get_by_role("alert")).to_have_count(0)
        await expect(widget.locator("main")).to_be_focused()


@one_database
async def test_whoever_has_gone_on_in_the_orders_page_is_not_brought_back(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        elsewhere = page.locator("#theme")

        async def go_on(route: Route) -> None:
            await elsewhere.focus()
            await route.continue_()

        await page.route(f"**{WIDGET}/link", go_on)
        stack.gateway.will_answer(stack.gateway.page())
        await widget.get_by_role("button", name="Create payment link").press("Enter")
        await expect(widget.get_by_role("status")).to_have_text("The link is ready: send it to the customer.")
        await expect(elsewhere).to_be_focused()


@one_database
async def test_a_widget_that_changes_by_itself_leaves_the_keyboard_where_it_was(
    browser: Browser, stack: OrderPageStack
) -> None:
    """Also on what has no name of its own: of two links, the second."""
    order = await stack.order()
    first = await stack.link(order, "100")
    second = await stack.link(order, "200", page="d0d0")
    async with order_page(browser, stack, order.id) as (_, widget):
        amounts = widget.locator(".rows a[data-page]")
        await expect(amounts).to_have_count(2)
        await amounts.last.focus()
        await listen(widget.locator("html"))
        await stack.pays(second)
        await expect(widget.get_by_text("paid", exact=True)).to_have_count(1)
        await expect(amounts.last).to_be_focused()
        assert await announced(widget.locator("html")) == ["200.00 UAH paid"]
        await widget.locator(f"#close-{first.payment.order_id}").focus()


@pytest.mark.long
@one_database
async def test_the_ids_and_the_link_to_the_payment_are_copied_too(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    order_id = (await stack.link(order)).payment.order_id
    async with order_page(browser, stack, order.id) as (page, widget):
        button = widget.get_by_role("button", name="Copy the gateway order ID")
        await button.press("Enter")
        await expect(widget.locator("#said")).to_have_text("Copied")
        await expect(button).to_be_focused()
        assert await clipboard_text(page) == order_id
        await widget.get_by_role("button", name="Copy the link to the payment").click()
        saleor = quote(stack.saleor.api_url)
        assert await clipboard_text(page) == f"{stack.url}/payments/{order_id}?saleorApiUrl={saleor}"


@pytest.mark.long
@one_database
async def test_the_qr_code_is_unfolded_and_stays_so_until_it_has_been_paid(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    async with order_page(browser, stack, order.id) as (_, widget):
        code = widget.get_by_role("img", name="QR code of the payment page")
        await expect(widget.locator(".badge")).to_have_text("waiting for the shopper")
        await expect(code).to_be_hidden()
        await widget.locator("summary", has_text="QR code").press("Enter")
        await expect(code).to_be_visible()
        await expect(code).to_have_js_property("complete", value=True)
        await stack.pays(aggregate)  # the customer has pointed a phone at it: staff see at once that it is paid
        await expect(widget.locator(".badge")).to_have_text("paid")


@pytest.mark.long
@one_database
async def test_a_visit_that_lasted_too_long_is_told_to_reload(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        button = widget.get_by_role("button", name="Create payment link")
        await expect(button).to_be_visible()
        await page.evaluate("() => { embedded[0].sendHandshake = () => {}; }")  # the Dashboard has no newer token
        stack.clock.forward(minutes=6)
        await button.click()
        await expect(widget.get_by_role("alert")).to_contain_text("did not identify you")
        await page.reload()
        await expect(button).to_be_visible()
    assert await stack.saleor.transactions() == []


@pytest.mark.long
@one_database
async def test_whoever_may_not_handle_payments_does_not_see_it(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    await stack.saleor.sign_in("iryna@example.com")
    async with order_page(browser, stack, order.id) as (page, _):
        await expect(page.get_by_role("heading", name=f"Order {order.number}")).to_be_visible()
        await expect(page.locator("iframe")).to_have_count(0)


@one_database
async def test_a_part_that_was_refused_is_still_that_part_in_that_language(
    browser: Browser, stack: OrderPageStack
) -> None:
    """Else whoever presses the button again sends the customer a link for everything."""
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        amount, language = widget.get_by_label("Amount"), widget.get_by_label("Language of the payment page")
        await amount.fill("100")
        await language.select_option("uk")
        stack.gateway.will_answer(refusal_reply("No such currency here", "F-1", 422))
        async with page.expect_response(f"**{WIDGET}/link"):
            await widget.get_by_role("button", name="Create payment link").click()
        await expect(widget.get_by_role("alert")).to_be_visible()
        await expect(amount).to_have_value("100")
        await expect(language).to_have_value("uk")
        await amount.fill("1,000")
        async with page.expect_response(f"**{WIDGET}/link"):
            await widget.get_by_role("button", name="Create payment link").click()
        await expect(amount).to_have_accessible_error_message("Enter amounts like 1234.50.")
        await expect(language).to_have_value("uk")


@one_database
async def test_what_a_server_in_between_says_does_not_replace_the_form(browser: Browser, stack: OrderPageStack) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (page, widget):
        amount = widget.get_by_label("Amount")
        await amount.fill("100")
        await page.route(f"**{WIDGET}/link", lambda route: route.fulfill(status=429, body="<h1>Too many requests</h1>"))
        await widget.get_by_role("button", name="Create payment link").click()
        await expect(widget.get_by_role("alert")).to_have_text(UNANSWERED)
        await expect(amount).to_have_value("100")
        await page.unroute_all()
        await widget.get_by_role("button", name="Try again").click()
        await expect(widget.get_by_role("alert")).to_have_count(0)
        await expect(amount).to_have_value("100")
    assert await stack.saleor.transactions() == []


@one_database
async def test_a_widget_shows_the_order_again_with_what_was_typed_as_soon_as_saleor_is_back(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    async with order_page(browser, stack, order.id) as (_, widget):
        amount = widget.get_by_label("Amount")
        await amount.fill("100")
        await stack.saleor.set_faults(graphql_status=503)
        await widget.get_by_role("button", name="Create payment link").click()
        await expect(widget.get_by_role("alert")).to_contain_text("could not be loaded from Saleor")
        await expect(amount).to_have_count(0)
        await stack.saleor.clear_faults()
        await expect(amount).to_have_value("100")
        await expect(widget.get_by_role("alert")).to_have_count(0)


@one_database
async def test_what_was_typed_is_still_there_after_the_widget_has_changed_by_itself(
    browser: Browser, stack: OrderPageStack
) -> None:
    order = await stack.order()
    aggregate = await stack.link(order, "100")
    async with order_page(browser, stack, order.id) as (_, widget):
        await widget.get_by_text("Another link…").click()
        amount, language = widget.get_by_label("Amount"), widget.get_by_label("Language of the payment page")
        await amount.fill("20")
        await widget.get_by_text("Another link…").click()  # and looks at something else
        await stack.pays(aggregate)
        await expect(widget.get_by_text("paid", exact=True)).to_have_count(1)
        await expect(amount).to_have_value("20")
        await expect(language).to_have_value("en")
