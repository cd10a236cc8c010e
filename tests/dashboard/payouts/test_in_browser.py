"""Paying out in a browser: the card's number leaves it encrypted only, and two clicks are one payout."""

import pytest
from playwright.async_api import Browser, Request, expect

from app.core.vocabulary import State
from app.store.aggregates import ByOrder
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import BrowserErrors, dashboard_of, sign_in
from tests.dashboard.payouts.test_payouts import may_pay_out, payouts_asked, reviewed
from tests.payments.cards.seals import NUMBER
from tests.payments.payouts import MASK

pytestmark = [pytest.mark.browser, one_database]


async def test_a_typed_card_is_paid_out_to_once(browser: Browser, staff_client: StaffClient) -> None:
    await may_pay_out(staff_client)
    complaints, posted = BrowserErrors(), list[str]()

    def note(request: Request) -> None:
        posted.append(f"{request.url} {request.post_data or ''}")

    async with dashboard_of(browser, staff_client.app, "/payouts/new", complaints=complaints) as (page, frame):
        page.on("request", note)
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Amount, UAH").fill("40")
        await frame.get_by_label("Card number").fill("4242 4242 4242 4242")
        await frame.get_by_label("First name").fill("Solomiia")
        await frame.get_by_label("Last name").fill("Pavlychko")
        await frame.get_by_role("button", name="Go on").click()
        await expect(frame.get_by_label("Purpose of the payout")).to_have_attribute("aria-invalid", "true")
        await expect(frame.get_by_label("Card number")).to_have_value("4242 4242 4242 4242")
        await frame.get_by_label("Purpose of the payout").fill("A prize")
        await frame.get_by_role("button", name="Go on").click()
        await expect(frame.get_by_role("heading", level=1)).to_contain_text("40.00")
        for told in (MASK, "Solomiia Pavlychko", "A prize"):
            await expect(frame.get_by_text(told)).to_be_visible()
        assert not payouts_asked(staff_client)
        await frame.get_by_role("button", name="Pay out now").dblclick()
        await expect(frame.get_by_role("status")).to_have_text("The payout was made.")
        await expect(frame.get_by_role("heading", level=1)).to_contain_text("Payout of")
        complaints[:] = [
            complaint for complaint in complaints if "422" not in complaint
        ]  # the form that was not complete
        assert complaints == []
    [heard] = payouts_asked(staff_client)
    assert heard.json["cc_number"] == NUMBER
    assert any("/parts/payouts/review" in address for address in posted)
    everything = "\n".join(posted).replace("+", "").replace("%20", "")
    assert NUMBER not in everything
    found = await staff_client.services.payments.find(ByOrder(heard.json["order_id"]))
    assert found is not None
    assert found.create.state is State.SUCCESS


async def test_what_was_typed_is_changed_from_the_review_and_no_card_is_typed_again(
    browser: Browser, staff_client: StaffClient
) -> None:
    await may_pay_out(staff_client)
    posted = list[str]()
    async with dashboard_of(browser, staff_client.app, "/payouts/new", width=360) as (page, frame):
        page.on("request", lambda request: posted.append(f"{request.url} {request.post_data or ''}"))
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Amount, UAH").fill("400")
        await frame.get_by_label("Card number").fill("4242 4242 4242 4242")
        await frame.get_by_label("First name").fill("Solomiia")
        await frame.get_by_label("Last name").fill("Pavlychko")
        await frame.get_by_label("Purpose of the payout").fill("A prize")
        await frame.get_by_role("button", name="Go on").click()
        await frame.get_by_role("button", name="Change the details").click()
        amount = frame.get_by_label("Amount, UAH")
        await expect(amount).to_have_value("400")
        await expect(frame.get_by_label("Purpose of the payout")).to_have_value("A prize")
        await expect(frame.get_by_label("Last name")).to_have_value("Pavlychko")
        await expect(frame.get_by_text(f"Leave it empty to pay out to {MASK}, as you entered it.")).to_be_visible()
        assert NUMBER not in (await frame.locator("html").inner_html()).replace(" ", "")
        await frame.get_by_role("link", name="All payouts").click()  # it is not lost without a question
        await frame.get_by_role("button", name="Stay on this page").click()
        await amount.fill("40")
        await frame.get_by_role("button", name="Go on").click()
        await expect(frame.get_by_role("heading", level=1)).to_contain_text("40.00")
        await frame.get_by_role("button", name="Pay out now").click()
        await expect(frame.get_by_role("status")).to_have_text("The payout was made.")
    [heard] = payouts_asked(staff_client)
    assert (heard.json["cc_number"], str(heard.json["amount"])) == (NUMBER, "40.00")
    assert NUMBER not in "\n".join(posted).replace("+", "").replace("%20", "")


_CELLS_END = "row => [...row.cells].map(cell => Math.round(cell.getBoundingClientRect().bottom))"


async def test_line_below_a_payout_runs_through_all_its_cells(browser: Browser, staff_client: StaffClient) -> None:
    await may_pay_out(staff_client)
    made = await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client))
    assert made.status_code == 200, made.text
    for width in (700, 1228):  # Beside the Dashboard's menu on a small screen, and on a desk.
        async with dashboard_of(browser, staff_client.app, "/payouts", width=width) as (page, frame):
            await sign_in(page, staff_client.token())
            row = frame.locator("tbody tr")
            await expect(row.get_by_text(MASK)).to_be_visible()
            assert len({*await row.evaluate(_CELLS_END)}) == 1
            cells = await row.locator("td").evaluate_all("cells => cells.map(cell => getComputedStyle(cell).display)")
            assert {*cells} == {"table-cell"}


@pytest.mark.long
async def test_a_number_that_is_no_card_is_told_beside_it(browser: Browser, staff_client: StaffClient) -> None:
    await may_pay_out(staff_client)
    async with dashboard_of(browser, staff_client.app, "/payouts/new", width=360) as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_label("Card number").fill("4242 4242 4242 4241")
        await frame.get_by_role("button", name="Go on").click()
        await expect(frame.get_by_label("Card number")).to_have_attribute("aria-invalid", "true")
        await expect(frame.locator("#wrong-card")).to_have_text("The card number is not valid. Please check it.")
        wide = await frame.locator("html").evaluate("html => html.scrollWidth - html.clientWidth")
        assert wide == 0
    assert not payouts_asked(staff_client)
