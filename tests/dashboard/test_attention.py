"""What staff are shown of what needs them, and what they can do about it."""

from datetime import UTC, datetime

import pytest
from playwright.async_api import Browser, expect

from app.flows.notifications import receive
from app.flows.reconciliation.run import begin_run
from app.flows.staff.manual_resolution import acknowledge_problems
from app.i18n.messages import LazyMessage
from app.reports.alerts.open_alerts import PATIENCE
from app.rules.problems import PAID_TWICE, cause_of_mismatch
from app.store.reconciliations import Finding, record_findings, update_run
from app.store.tables import DiscrepancyKind, DiscrepancyState, ReconciliationRun, RunState
from saleor_app_sdk.testing.vocabulary import EventType
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.framing import BrowserErrors, dashboard_of, path_of, sign_in
from tests.payments.alert_cases import (
    another_amount_is_paid,
    keys_are_refused,
    notified_of,
    saleor_is_away,
    saleor_refuses,
    settle_amount,
    subjects,
    unreadable_record,
)
from tests.payments.fake_gateway import payment
from tests.payments.problems import issue_saying, raise_problem
from tests.payments.test_turned_away import turn_away

BUTTON = "Mark as reviewed"


async def differ(staff_client: StaffClient, count: int) -> None:
    """Let the gateway contradict what was asked of so many payments, one a minute."""
    for number in range(1, count + 1):
        kept = await staff_client.payment(number)
        issue, now = issue_saying(f"The amount of {number} differs."), staff_client.shop.clock.forward(minutes=1)
        await raise_problem(staff_client.services.database, kept, cause_of_mismatch(issue, None, "x"), issue, now)


@one_database
async def test_when_nothing_is_wrong_the_page_says_so(staff_client: StaffClient) -> None:
    page = (await staff_client.see("/attention")).text
    assert "Nothing needs your attention." in page
    assert 'class="count"' not in page


async def test_a_payment_that_does_not_agree_is_looked_up_and_looked_at(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await another_amount_is_paid(shop)
    page = (await staff_client.see("/attention")).text
    assert "report does not match the request" in page
    assert "Saleor may not show all of this money, or may show another amount." in page  # some of it can be there
    assert "569.49\N{NO-BREAK SPACE}UAH, but 569.50\N{NO-BREAK SPACE}UAH was requested" in page
    assert f'href="/payments/{shop.order_id}"' in page
    assert '<span class="count">1</span>' in page
    polls = shop.gateway.polls
    answer = await staff_client.do(f"/attention/payments/{shop.order_id}/look")
    assert "The payment was looked up at the gateway" in answer.text
    assert shop.gateway.polls == polls + 1
    answer = await staff_client.do(f"/attention/payments/{shop.order_id}/looked-at")
    assert "This stays here because its outcome is still open." in answer.text
    await settle_amount(shop, "569.49")
    await shop.notify(payment(shop.order_id, "failure"))
    await shop.work()
    answer = await staff_client.do(f"/attention/payments/{shop.order_id}/looked-at")
    assert "Marked as reviewed." in answer.text
    assert "Nothing needs your attention." in answer.text
    assert 'class="count"' not in answer.text
    answer = await staff_client.do(f"/attention/payments/{shop.order_id}/looked-at")
    assert "Nothing was marked" in answer.text


@pytest.mark.browser
@one_database
async def test_buttons_that_do_the_same_to_two_payments_have_different_names(
    browser: Browser, staff_client: StaffClient
) -> None:
    await differ(staff_client, 2)
    async with dashboard_of(browser, staff_client.app, "/attention") as (page, frame):
        await sign_in(page, staff_client.token())
        for name in ("Look up now 100.00 UAH Order 1001", "Look up now 100.00 UAH Order 1002"):
            await expect(frame.get_by_role("button", name=name, exact=True)).to_have_count(1)
        for name in (f"{BUTTON} 100.00 UAH Order 1001", f"{BUTTON} 100.00 UAH Order 1002"):
            await expect(frame.get_by_role("button", name=name, exact=True)).to_have_count(1)


@one_database
async def test_each_alert_of_a_payment_says_its_own_and_is_reviewed_by_itself(staff_client: StaffClient) -> None:
    kept = await staff_client.payment(1)
    order_id, database, now = kept.order_id, staff_client.services.database, staff_client.shop.clock()
    for cause, said in ((cause_of_mismatch(issue_saying("one"), None, "x"), "one"), (PAID_TWICE, "two")):
        await raise_problem(database, kept, cause, issue_saying(said), now)

    page = (await staff_client.see("/attention")).text
    texts = ("one more was paid", "two more was paid")
    assert [page.count(text) for text in texts] == [1, 1]
    assert page.index(texts[0]) < page.index('id="paid twice"') < page.index(texts[1])

    page = (await staff_client.do(f"/attention/payments/{order_id}/looked-at?what=paid%20twice")).text
    assert [page.count(text) for text in texts] == [1, 0]
    page = (await staff_client.do(f"/attention/payments/{order_id}/looked-at?what=mismatch")).text
    assert "Nothing needs your attention." in page


@one_database
async def test_the_number_of_tasks_follows_at_once_wherever_one_is_done(staff_client: StaffClient) -> None:
    await differ(staff_client, 2)
    assert '<span class="count">2</span>' in (await staff_client.see("/payments")).text
    # Another process, or an operator in a terminal, does it: this one is told nothing of that.
    installation_id = staff_client.shop.installation.id
    assert await acknowledge_problems(staff_client.services, installation_id, f"{1:032x}")
    assert '<span class="count">1</span>' in (await staff_client.see("/payments")).text
    assert await acknowledge_problems(staff_client.services, installation_id, f"{2:032x}")
    assert 'class="count"' not in (await staff_client.see("/money")).text


async def test_what_saleor_has_refused_is_told_again(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await saleor_refuses(shop)
    assert "Send all to Saleor again" in (await staff_client.see("/attention")).text
    assert (
        "Sending to Saleor again." in (await staff_client.do(f"/attention/payments/{shop.order_id}/tell-refused")).text
    )
    await shop.work()
    assert EventType.CHARGE_SUCCESS in {event.type for event in shop.transaction.events}
    assert await subjects(shop) == []
    assert "There is nothing to send to Saleor again." in (await staff_client.do("/attention/tell-refused")).text


@one_database
async def test_all_that_waits_is_told_at_once_when_saleor_is_back(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await saleor_is_away(shop)
    shop.clock.now += PATIENCE
    page = (await staff_client.see("/attention")).text
    assert "Saleor does not accept the app's reports" in page
    assert "nobody answers" in page
    shop.saleor.failures.clear()
    assert "Sending to Saleor again." in (await staff_client.do("/attention/tell-waiting")).text
    await shop.work()
    assert "Nothing needs your attention." in (await staff_client.see("/attention")).text


@one_database
async def test_notifications_are_looked_at_together(staff_client: StaffClient) -> None:
    await notified_of(staff_client.shop)
    await receive(staff_client.services, staff_client.shop.account.id, unreadable_record())
    page = (await staff_client.see("/attention")).text
    assert f"gateway order ID {'f' * 32}" in page
    assert '<span class="count">2</span>' in page
    marked = (await staff_client.do("/attention/unmatched/looked-at")).text
    assert "Marked as reviewed" in marked
    assert '<span class="count">1</span>' in marked
    assert "Nothing needs your attention." in (await staff_client.do("/attention/unreadable/looked-at")).text


@one_database
async def test_refused_keys_are_told_of_the_account(staff_client: StaffClient) -> None:
    await keys_are_refused(staff_client.shop)
    page = (await staff_client.see("/attention")).text
    assert "Merchant account Main" in page
    assert "replace them in the app" in page
    assert "saleor-gateway" not in page  # commands are for the terminal: `saleor-gateway attention` names them
    assert BUTTON not in page


async def test_many_are_shown_page_by_page(staff_client: StaffClient) -> None:
    await differ(staff_client, 60)
    first = (await staff_client.see("/attention")).text
    assert first.count(BUTTON) == 5
    assert '<span class="badge">60</span>' in first
    assert "The amount of 60 differs." in first
    path, seen = "/attention?what=mismatch", []
    for most in (25, 25, 10):
        page = (await staff_client.see(path)).text
        assert page.count(BUTTON) == most
        seen += [int(part.split(" differs")[0]) for part in page.split("The amount of ")[1:]]
        path = page.partition('href="/attention?what=mismatch&amp;')[2].partition('"')[0]
        path = f"/attention?what=mismatch&{path}"
    assert seen == list(range(60, 0, -1))
    assert "after=" not in path


@one_database
@pytest.mark.parametrize("after", ["", "x", "20261121-1", "99999999999999999999-1", "20261121120000000000-" + "9" * 30])
async def test_an_address_that_nobody_has_made_shows_the_beginning(staff_client: StaffClient, after: str) -> None:
    await differ(staff_client, 2)
    page = (await staff_client.see(f"/attention?what=mismatch&after={after}")).text
    assert page.count(BUTTON) == 2
    assert (await staff_client.see("/attention?what=nonsense")).text.count(BUTTON) == 2


@one_database
async def test_it_is_all_said_in_ukrainian(staff_client: StaffClient) -> None:
    await notified_of(staff_client.shop)
    page = (await staff_client.see("/attention", **{"Accept-Language": "uk"})).text
    assert "Потребує уваги" in page
    assert "Шлюз повідомляє про замовлення, яких цей застосунок не створював" in page


@pytest.mark.threat("xss-dashboard")
@one_database
async def test_nothing_from_outside_becomes_a_part_of_the_page(staff_client: StaffClient) -> None:
    await notified_of(staff_client.shop, order_id="<script>alert(1)</script>")
    page = (await staff_client.see("/attention")).text
    assert "<script>" not in page


@pytest.mark.browser
@one_database
async def test_from_the_way_there_to_nothing_left(browser: Browser, staff_client: StaffClient) -> None:
    complaints = BrowserErrors()
    await differ(staff_client, 2)
    async with dashboard_of(browser, staff_client.app, "/payments", complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        places = frame.get_by_role("navigation", name="Places")
        await expect(places).to_contain_text("Needs attention 2")
        await places.get_by_role("link", name="Needs attention").click()
        await expect(frame.get_by_role("heading", level=1)).to_be_focused()
        assert await path_of(frame) == "/attention"
        for left in (1, 0):
            await frame.get_by_role("button", name=BUTTON).first.click()
            await expect(frame.get_by_role("status")).to_be_focused()
            await expect(frame.get_by_role("button", name=BUTTON)).to_have_count(left)
        await expect(frame.get_by_text("Nothing needs your attention.")).to_be_visible()
        await page.set_viewport_size({"width": 360, "height": 800})
        wide = await frame.locator("html").evaluate("it => it.scrollWidth - it.clientWidth")
        assert wide == 0
    assert complaints == []


async def test_up_to_when_the_books_agree(staff_client: StaffClient) -> None:
    assert "Our records are compared with the gateway’s each night." in (await staff_client.see("/attention")).text
    services, account = staff_client.services, staff_client.shop.account
    run_id = await begin_run(services, account)
    until = datetime(2026, 11, 20, 2, tzinfo=UTC)
    async with services.database.transaction() as session:
        await update_run(session, run_id, covered_until=until, state=RunState.DONE, due_at=None)
    page = (await staff_client.see("/attention")).text
    assert "Our records and the gateway’s agree up to" in page
    assert "2026-11-20T02:00:00Z" in page


async def test_a_night_that_failed_and_paid_orders_of_nobody(staff_client: StaffClient) -> None:
    services, account, now = staff_client.services, staff_client.shop.account, staff_client.shop.clock()
    run_id = await begin_run(services, account)
    words = LazyMessage("The gateway did not prepare the register in time.").to_json()
    async with services.database.transaction() as session:
        await update_run(session, run_id, state=RunState.FAILED, failure=words, due_at=None)
        run = await session.get_one(ReconciliationRun, run_id)
        facts: dict[str, object] = {"gateway": None, "ours": None, "copies": 1}
        kind, state = DiscrepancyKind.UNKNOWN, DiscrepancyState.TO_PEOPLE
        await record_findings(session, run, [Finding("key", kind, state, "invoice-7", facts)], now)
    page = (await staff_client.see("/attention")).text
    assert "could not be compared" in page
    assert "The gateway did not prepare the register in time." in page
    assert "paid orders that this app did not create" in page
    page = (await staff_client.do("/attention/unknown-orders/looked-at")).text
    assert "paid orders that this app did not create" not in page
    assert "could not be compared" in page  # that is over when the books are compared


@one_database
async def test_a_channel_in_which_nobody_gets_through_is_shown_with_its_reason(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await turn_away(shop)
    page = (await staff_client.see("/attention")).text
    assert "Shoppers are turned away, and none gets through" in page
    assert "CHANNEL_NOT_MAPPED" in page
    assert "Marked as reviewed" in (await staff_client.do("/attention/turned-away/looked-at")).text
    assert "Nothing needs your attention." in (await staff_client.see("/attention")).text
    assert "Nothing was marked" in (await staff_client.do("/attention/turned-away/looked-at")).text
