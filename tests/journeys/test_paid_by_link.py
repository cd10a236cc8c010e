"""Staff take an order by telephone and ask the customer to pay, who reads the code with a phone."""

import re
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, expect

from app.rules.references import order_id_of
from tests.dashboard.framing import BrowserErrors
from tests.journeys.stack import Stack
from tests.journeys.stories import assert_books_agree, wait_for_event
from tests.qr_codes import read_qr_code

pytestmark = pytest.mark.browser


@pytest.mark.long
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the browser sees no database
async def test_from_the_order_to_the_phone_and_back(browser: Browser, shop: Stack) -> None:
    order = await shop.saleor.create_order()
    complaints = BrowserErrors()
    staff = await browser.new_page(locale="en-GB")
    complaints.of(staff)
    await staff.goto(f"{shop.saleor.url}/dashboard/orders/{quote(order.id)}")
    widget = staff.frame_locator("iframe")
    await widget.get_by_role("button", name="Create payment link").click()
    await expect(widget.get_by_role("status")).to_have_text("The link is ready: send it to the customer.")
    await expect(widget.locator("main").get_by_text("waiting for the shopper")).to_be_visible()
    link = await widget.get_by_role("textbox", name="Payment link for the customer").input_value()
    await widget.locator("summary", has_text="QR code").click()
    code = await read_qr_code(widget.get_by_alt_text("QR code of the payment page"))

    customer = await browser.new_page(locale="en-GB")
    complaints.of(customer)
    await customer.clock.install()
    await customer.goto(link)
    await expect(customer.get_by_role("heading")).to_have_text("Pay 569.50\u00a0UAH")
    await expect(customer.get_by_text(order.number, exact=True)).to_be_visible()
    assert await read_qr_code(customer.get_by_alt_text("QR code of the payment page")) == code
    assert await customer.get_by_role("link", name="Go to the payment page").get_attribute("href") == code

    phone = await browser.new_page(locale="en-GB", viewport={"width": 390, "height": 800})
    await phone.goto(code)
    await phone.get_by_role("button", name="Pay 569.50 UAH").click()
    await expect(phone.get_by_role("heading")).to_have_text("Payment received")
    await expect(phone.get_by_text("You can close this page.")).to_be_visible()

    # The page that the customer has left open on the computer notices by itself.
    await customer.clock.run_for(11_000)
    await expect(customer.get_by_role("heading")).to_have_text("Payment received")

    (transaction_id,) = (await shop.saleor.order(order.id)).transaction_ids
    await wait_for_event(shop, transaction_id, "CHARGE_SUCCESS")
    await staff.reload()
    await expect(widget.get_by_text("There is nothing left to pay on this order.")).to_be_visible()
    await widget.get_by_role("link", name="569.50").click()
    await expect(staff).to_have_url(re.compile(f"/payments/{order_id_of(transaction_id, shop.saleor.api_url)}$"))
    await assert_books_agree(shop, transaction_id)
    assert (await shop.saleor.order(order.id)).charge_status == "FULL"
    assert [complaint for complaint in complaints if not complaint.startswith("An iframe which has both")] == []
