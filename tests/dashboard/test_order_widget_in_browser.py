"""The widget in a browser: in the played Dashboard's frame, and without any script."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, FrameLocator, Page, expect

from tests.browsing import chromium
from tests.commands.conftest import one_database
from tests.dashboard.framing import heard_again
from tests.dashboard.order_page_stack import WIDGET, OrderPageStack

pytestmark = pytest.mark.browser
_HEIGHT = "html => Math.ceil(html.getBoundingClientRect().height)"


@asynccontextmanager
async def order_page(
    stack: OrderPageStack, order_id: str, *, width: int = 1000
) -> AsyncIterator[tuple[Page, FrameLocator, Browser]]:
    """Give an order's page in the Dashboard, and the widget on it."""
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": width, "height": 900}, locale="en-GB")
        await page.goto(f"{stack.saleor.url}/dashboard/orders/{quote(order_id)}")
        yield page, page.frame_locator("iframe"), browser


@one_database
async def test_the_token_is_kept_fresh_by_the_dashboard_and_by_nobody_else(stack: OrderPageStack) -> None:
    order = await stack.order()
    async with order_page(stack, order.id) as (page, widget, _):
        button = widget.get_by_role("button", name="Create payment link")
        await expect(button).to_be_visible()
        await heard_again(page, "widgetResize", 1)
        stack.clock.forward(seconds=290)
        fresh = stack.token()
        await page.evaluate("token => embedded[0].say('tokenRefresh', { token })", fresh)
        field = widget.locator('form:has(button) input[name="accessToken"]').first
        await expect(field).to_have_value(fresh)
        # Another window's word, and the frame's own, count for nothing.
        await widget.locator("html").evaluate("() => postMessage({ type: 'tokenRefresh', payload: { token: 'x' } })")
        await page.evaluate("embedded[0].say('tokenRefresh', { token: 7 })")
        await expect(field).to_have_value(fresh)
        stack.clock.forward(seconds=60)  # the token that came with the page is over
        stack.gateway.will(stack.gateway.page())
        await button.click()
        await expect(widget.get_by_role("status")).to_have_text("The link is ready: send it to the customer.")
        assert await page.context.cookies() == []


@one_database
async def test_the_frame_is_as_high_as_what_it_shows(stack: OrderPageStack) -> None:
    order = await stack.order()
    await stack.link(order)
    async with order_page(stack, order.id, width=360) as (page, widget, _):
        await heard_again(page, "widgetResize", 1)  # at once, though it is not in sight yet
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
async def test_a_link_is_copied_and_closed_with_the_keyboard(stack: OrderPageStack) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    async with order_page(stack, order.id) as (_, widget, _):
        await widget.get_by_role("button", name="Copy").press("Enter")
        await expect(widget.get_by_role("button", name="✓")).to_be_visible()
        stack.gateway.will(stack.closed(aggregate))
        await widget.get_by_text("Close this link…").press("Enter")
        await widget.get_by_role("button", name="Close the link").press("Enter")
        await expect(widget.get_by_role("status")).to_contain_text("cancelled")
        await expect(widget.get_by_text("569.50 UAH of this order is left to pay.")).to_be_visible()


@one_database
async def test_without_javascript_everything_can_be_done(stack: OrderPageStack) -> None:
    """What the Dashboard's script does, a person does here: press a button that posts the form into the frame."""
    order = await stack.order()
    fields = "".join(f'<input type="hidden" name="{n}" value="{escape(v)}">' for n, v in stack.form(order.id).items())
    async with chromium() as browser:
        context = await browser.new_context(java_script_enabled=False, locale="en-GB")
        page = await context.new_page()
        await page.goto(f"{stack.saleor.url}/.well-known/jwks.json")  # a page of the Saleor's origin
        await page.set_content(
            f'<form method="post" action="{stack.url}{WIDGET}" target="widget">{fields}<button>Open</button></form>'
            '<iframe name="widget" width="600" height="700" sandbox="allow-same-origin allow-forms"></iframe>'
        )
        await page.get_by_role("button", name="Open").click()
        widget = page.frame_locator("iframe")
        stack.gateway.will(stack.gateway.page())
        await widget.get_by_label("Amount").fill("100")
        await widget.get_by_role("button", name="Create payment link").click()
        await expect(widget.get_by_role("status")).to_have_text("The link is ready: send it to the customer.")
        (aggregate,) = await stack.payments(order)
        link = widget.get_by_label("Payment link for the customer")
        await expect(link).to_have_value(f"{stack.url}/pay/{aggregate.payment.order_id}")
        await expect(widget.get_by_alt_text("QR code of the payment page")).to_be_visible()
        await expect(widget.get_by_role("button", name="Copy")).to_be_hidden()

        stack.gateway.will(stack.closed(aggregate))
        await widget.get_by_text("Close this link…").click()
        await widget.get_by_role("button", name="Close the link").click()
        await expect(widget.get_by_role("status")).to_contain_text("cancelled")


@one_database
async def test_a_visit_that_lasted_too_long_is_told_to_reload(stack: OrderPageStack) -> None:
    order = await stack.order()
    async with order_page(stack, order.id) as (page, widget, _):
        button = widget.get_by_role("button", name="Create payment link")
        await expect(button).to_be_visible()
        stack.clock.forward(minutes=6)
        await button.click()
        await expect(widget.get_by_role("alert")).to_contain_text("has been open for too long")
        await page.reload()
        await expect(button).to_be_visible()
    assert await stack.saleor.transactions() == []


@one_database
async def test_whoever_may_not_handle_payments_does_not_see_it(stack: OrderPageStack) -> None:
    order = await stack.order()
    await stack.saleor.sign_in("iryna@example.com")
    async with order_page(stack, order.id) as (page, _, _):
        await expect(page.get_by_role("heading", name=f"Order {order.number}")).to_be_visible()
        await expect(page.locator("iframe")).to_have_count(0)
