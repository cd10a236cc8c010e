"""The table of a payment's refunds in a browser: beside the money on a desk, cards on a phone."""

import re
from decimal import Decimal

import pytest
from playwright.async_api import Browser, Locator, expect

from app.core.vocabulary import Kind, State
from integration_base_tests.loopback import json_reply
from tests.commands.books import moment_after, operation
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import dashboard_of, sign_in
from tests.dashboard.test_in_browser import open_dialog
from tests.payments.fake_gateway import operation as record

pytestmark = [pytest.mark.browser, one_database]

_BETWEEN = """row => {
  const text = document.createRange();
  text.selectNodeContents(row.cells[0]);
  return row.cells[1].querySelector(".badge").getBoundingClientRect().left - text.getBoundingClientRect().right;
}"""
_LINES = "time => Math.round(time.getBoundingClientRect().height / parseFloat(getComputedStyle(time).lineHeight))"
_BEFORE = "cell => getComputedStyle(cell, '::before').content"


async def _refunded(client: StaffClient) -> str:
    """A refund is done, with a long reason; another is declined."""
    done, declined = (
        operation(
            Kind.REFUND,
            state,
            amount=Decimal(minutes),
            idempotency_key=f"refund-{minutes}",
            created_at=moment_after(minutes=minutes),
            updated_at=moment_after(minutes=minutes),
            request={"comment": "The shopper changed their mind and wants the money for one of three mugs back"},
            message=message,
            asked_by="somebody.with.a.long.name@example.com" if message else None,
            asked_by_saleor=message is None,
        )
        for minutes, state, message in ((1, State.SUCCESS, None), (2, State.FAILURE, "Insufficient funds [4009]"))
    )
    kept = await client.payment(1, operations=[operation(), done, declined])
    return f"/payments/{kept.order_id}"


def _rows(refunds: Locator) -> Locator:
    return refunds.locator("tbody tr")


async def test_the_columns_of_refunds_are_told_apart(browser: Browser, staff_client: StaffClient) -> None:
    path = await _refunded(staff_client)
    for width in (1074, 1280):  # as wide as the Dashboard leaves it on screens of 1280 and 1440 pixels, and wider
        async with dashboard_of(browser, staff_client.app, path, width=width) as (page, frame):
            await sign_in(page, staff_client.token())
            await page.evaluate("setLocale('uk')")
            refunds = frame.get_by_role("region", name="Повернення", exact=True)
            await expect(_rows(refunds)).to_have_count(2)
            for row in await _rows(refunds).all():
                assert await row.evaluate(_BETWEEN) >= 24
                assert await row.locator("time").evaluate(_LINES) <= 2
            await expect(_rows(refunds).first).to_contain_text("Недостатньо коштів [4009]")
            wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
            assert wide == 0


async def test_on_a_phone_it_is_said_who_requested_a_refund(browser: Browser, staff_client: StaffClient) -> None:
    path = await _refunded(staff_client)
    async with dashboard_of(browser, staff_client.app, path, width=390) as (page, frame):
        await sign_in(page, staff_client.token())
        refunds = frame.get_by_role("region", name="Refunds", exact=True)
        await expect(_rows(refunds)).to_have_count(2)
        by = _rows(refunds).first.get_by_role("cell", name="somebody.with.a.long.name@example.com")
        assert await by.evaluate(_BEFORE) == '"Requested by: "'
        # The section below begins with a line.
        lines = await _rows(refunds).evaluate_all("rows => rows.map((row) => getComputedStyle(row).borderBottomWidth)")
        assert lines == ["1px", "0px"]
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide == 0


async def test_of_two_tabs_the_second_refunds_no_more_than_the_first_left(
    browser: Browser, staff_client: StaffClient
) -> None:
    """On phones, pressed twice; the second tab has been open since before the first refund."""
    shop = staff_client.shop
    await shop.complete_payment()
    path = f"/payments/{shop.order_id}"
    async with (
        dashboard_of(browser, staff_client.app, path, width=360) as (one, first),
        dashboard_of(browser, staff_client.app, path, width=360) as (two, second),
    ):
        for page in (one, two):
            await sign_in(page, staff_client.token())
        forms = [await open_dialog(frame, "Refund") for frame in (first, second)]
        for form, amount in zip(forms, ("500", "100"), strict=True):
            await form.get_by_label("Amount, UAH").fill(amount)
        shop.gateway.will_answer(json_reply(record("refund", shop.order_id, "500.00")))
        await forms[0].get_by_role("button", name="Refund now").dblclick()
        await expect(first.get_by_role("status")).to_have_text("The amount was refunded.")
        await forms[1].get_by_role("button", name="Refund now").dblclick()
        await expect(forms[1].get_by_label("Amount, UAH")).to_have_accessible_error_message(
            re.compile("Refund at most 69.50 UAH")
        )
        shop.gateway.will_answer(json_reply(record("refund", shop.order_id, "69.50")))
        await forms[1].get_by_label("Amount, UAH").fill("69.50")
        await forms[1].get_by_role("button", name="Refund now").dblclick()
        await expect(second.get_by_role("status")).to_have_text("The amount was refunded.")
        await two.reload()
        await sign_in(two, staff_client.token())
        await expect(_rows(second.get_by_role("region", name="Refunds", exact=True))).to_have_count(2)
    assert shop.gateway.calls == ["refund", "refund"]
