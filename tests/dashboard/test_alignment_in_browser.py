"""What belongs together stands in one line, and what does not touches nothing."""

from decimal import Decimal

import pytest
from playwright.async_api import Browser, expect

from app.core.vocabulary import Kind, State
from integration_base_tests.loopback import json_reply
from tests.commands.books import operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names
from tests.dashboard.framing import dashboard_of, sign_in
from tests.dashboard.payouts.test_payouts import may_pay_out

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


_BETWEEN = """buttons => {
  const [first, second] = buttons.map((button) => button.getBoundingClientRect());
  return second.top - first.bottom;
}"""


async def test_buttons_below_each_other_are_as_far_apart_as_beside_each_other(
    browser: Browser, staff_client: StaffClient
) -> None:
    await staff_client.payment(1, problem="Compare it.")
    async with dashboard_of(browser, staff_client.app, "/attention", width=PHONE) as (page, frame):
        await sign_in(page, staff_client.token())
        buttons = frame.locator(".tasks .buttons")
        await expect(buttons.get_by_role("button")).to_have_count(2)
        await buttons.evaluate("buttons => { buttons.style.width = '8rem'; }")
        assert await buttons.get_by_role("button").evaluate_all(_BETWEEN) == 8


_LINES = """parts => parts.map(part => {
  const text = document.createRange();
  text.selectNodeContents(part);
  return new Set([...text.getClientRects()].map(({ top }) => Math.round(top))).size;
})"""


# As wide as on a screen of 1280 pixels beside the menu of Saleor's own Dashboard, which is wider than the played one's.
@pytest.mark.parametrize("width", [1228, 360])
async def test_a_chip_and_a_channel_stand_in_one_line(browser: Browser, staff_client: StaffClient, width: int) -> None:
    """In Ukrainian too, where two things are said of a payment; what cannot stand beside each other stands below."""
    refunded = operation(Kind.REFUND, amount=Decimal("1.00"))
    refunding = operation(Kind.REFUND, State.PENDING, idempotency_key="second", amount=Decimal("1.00"))
    paid = operation(details={"card_mask": "555555******4444"}, amount=Decimal("1234567.90"))
    await staff_client.payment(
        1,
        amount=Decimal("1234567.90"),
        wallet="applepay",
        channel="default-channel",
        operations=[paid, refunded, refunding],
    )
    async with dashboard_of(browser, staff_client.app, "/payments", width=width) as (page, frame):
        await page.evaluate("setLocale('uk')")
        await sign_in(page, staff_client.token())
        chips = frame.locator(".payments .badge")
        await expect(chips).to_have_text(["частково повернено", "повернення триває"])
        assert await chips.evaluate_all(_LINES) == [1, 1]
        channel = frame.locator(".payments td").last
        await expect(channel).to_have_text("default-channel")
        assert await channel.evaluate_all(_LINES) == [1]
        assert await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth") == 0


@pytest.mark.parametrize("width", [1228, 700, 390])
async def test_an_order_or_a_channel_of_one_long_word_leaves_all_columns_in_sight(
    browser: Browser, staff_client: StaffClient, width: int
) -> None:
    words = {"order_number": "WHOLESALE-2026-" + "0" * 30, "channel": "c" * 60, "amount": Decimal("1000000000.00")}
    await store_payment(staff_client.services, staff_client.shop.account, **(names(1) | words))
    async with dashboard_of(browser, staff_client.app, "/payments", width=width) as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_role("cell", name="c" * 60)).to_be_visible()
        assert await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth") == 0


_MIDDLES = """header => [...header.children].map(part => {
  const { top, bottom } = part.getBoundingClientRect();
  return (top + bottom) / 2;
})"""
_AMOUNTS_END = """table => [...table.querySelectorAll("td.amount:last-child")].map(cell => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  return table.getBoundingClientRect().right - text.getBoundingClientRect().right;
})"""


async def test_what_an_account_is_called_and_how_its_balances_are_refreshed_is_one_line(
    browser: Browser, staff_client: StaffClient
) -> None:
    """And the amounts below end where the line below them does."""
    balances = {"available": Decimal("50.00"), "rolling_reserve": Decimal("1.00")}
    account = {"id": "1", "name": "Main", "currency": "UAH", "balances": balances}
    staff_client.shop.gateway.will_answer_look_ups(json_reply({"accounts": [account]}))
    async with dashboard_of(browser, staff_client.app, "/balances") as (page, frame):
        await sign_in(page, staff_client.token())
        middles = await frame.locator(".balance header").evaluate(_MIDDLES)
        assert len(middles) == 3
        assert max(middles) - min(middles) <= 1
        assert await frame.get_by_role("table").evaluate(_AMOUNTS_END) == [pytest.approx(0, abs=1)]


_BOTTOM = "part => Math.round(part.getBoundingClientRect().bottom)"


@pytest.mark.parametrize("path", ["/payouts/new", "/money"])
async def test_button_beside_a_field_stays_there_when_the_field_is_wrong(
    browser: Browser, staff_client: StaffClient, path: str
) -> None:
    await may_pay_out(staff_client)
    await staff_client.payment(1)
    async with dashboard_of(browser, staff_client.app, path) as (page, frame):
        await sign_in(page, staff_client.token())
        form = frame.locator("form", has=frame.locator("[type=email], [type=date]")).first
        field, button = form.locator("[type=email], [type=date]").last, form.get_by_role("button")
        if path == "/money":
            await field.fill("2000-01-01")  # before the first day
        else:
            assert await button.evaluate(_BOTTOM) == await field.evaluate(_BOTTOM)
        before = await button.bounding_box()
        await button.click()
        await expect(field).to_have_attribute("aria-invalid", "true")
        after, said = await button.bounding_box(), await form.locator(".wrong").bounding_box()
        assert before is not None
        assert after is not None
        assert said is not None
        assert after["x"] == before["x"]
        assert said["y"] >= after["y"] + after["height"]


# With whatever stands before it in its line.
_MOST_LINES = """time => {
  const before = document.createElement("span");
  before.style.display = "inline-block";
  time.before(before);
  return Math.max(...Array.from({ length: 30 }, (_, step) => {
    before.style.width = `${step * 10}px`;
    return time.getClientRects().length;
  }));
}"""


@pytest.mark.parametrize(("path", "place"), [("/attention", ".tasks time"), ("/payments/{payment}", ".about time")])
async def test_a_moment_is_not_broken_on_a_phone(
    browser: Browser, staff_client: StaffClient, path: str, place: str
) -> None:
    address = path.format(payment=(await staff_client.payment(1, problem="Compare it.")).order_id)
    async with dashboard_of(browser, staff_client.app, address, width=PHONE) as (page, frame):
        await sign_in(page, staff_client.token())
        moment = frame.locator(place)
        assert await moment.evaluate(_MOST_LINES) == 1


@pytest.mark.parametrize("path", ["/set-up", "/set-up/accounts/{account}", "/payments/{payment}", "/balances"])
async def test_a_name_that_is_one_long_word_stays_on_the_phones_screen(
    browser: Browser, staff_client: StaffClient, path: str
) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    account_id = staff_client.shop.account.id
    await staff_client.services.accounts.change(account_id, name="shop." * 20)
    address = path.format(account=account_id, payment=(await staff_client.payment(1)).order_id)
    async with dashboard_of(browser, staff_client.app, address, width=390) as (page, frame):
        await sign_in(page, staff_client.token())
        await expect(frame.get_by_text("shop.shop.").first).to_be_attached()
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide == 0
