"""Wherever money of a test project is shown, a badge says that it is not real."""

import re

from app.core.vocabulary import Flow
from tests.commands.books import operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names
from tests.dashboard.order_page_stack import OrderPageStack
from tests.payments.second_account import add_second_account

BADGE = '<span class="badge">Test project</span>'
MIXED = '<span class="badge">With a test project</span>'
PAYMENT = f"/payments/{1:032x}"
DAY = "/money?from=2026-11-21"


async def headings(staff_client: StaffClient, path: str) -> str:
    return "".join(re.findall(r"<h1.*?</h1>", (await staff_client.see(path)).text, re.DOTALL))


@one_database
async def test_money_of_a_test_project_has_a_badge_on_every_page(staff_client: StaffClient) -> None:
    await staff_client.payment(1, flow=Flow.AUTHORIZATION, operations=[operation()], problem="Compare it.")
    pages = ("/", "/payments", PAYMENT, "/attention", DAY)
    for path in pages:
        page = (await staff_client.see(path)).text
        assert BADGE not in page, path
    await staff_client.services.accounts.change(staff_client.shop.account.id, test_project=True)
    for path in pages:
        page = (await staff_client.see(path)).text
        assert BADGE in page, path
    dialogs = re.findall(r"<dialog.*?</h2>", (await staff_client.see(PAYMENT)).text, re.DOTALL)
    assert dialogs
    assert all(BADGE in dialog for dialog in dialogs)


@one_database
async def test_sums_say_whether_all_or_some_of_them_are_not_real(staff_client: StaffClient) -> None:
    await staff_client.payment(1)
    second = await add_second_account(staff_client.shop)
    await store_payment(staff_client.services, second, **names(2))
    await staff_client.services.accounts.change(second.id, test_project=True)
    for path in ("/", DAY):
        assert MIXED in await headings(staff_client, path)
    for path in (f"/?account={second.id}", f"{DAY}&account={second.id}"):
        assert BADGE in await headings(staff_client, path)
    for path in (f"/?account={staff_client.shop.account.id}", f"{DAY}&account={staff_client.shop.account.id}"):
        assert "badge" not in await headings(staff_client, path)
    listed = " ".join((await staff_client.see("/payments")).text.split())
    assert f"Found: 2 · Charged: 100.00\N{NO-BREAK SPACE}UAH · {BADGE} Charged: 100.00".replace("\xa0", " ") in listed
    assert listed.count(BADGE) == 2  # of the sum, and of one row


@one_database
async def test_on_an_orders_page(stack: OrderPageStack) -> None:
    stack.gateway.will_answer(stack.gateway.page())
    checkout = await stack.saleor.create_checkout()
    session = await stack.saleor.initialize(checkout.id)
    (aggregate,) = await stack.aggregates_of(session.required_transaction.id)
    await stack.pays(aggregate)
    await stack.work()
    order = (await stack.saleor.complete(checkout.id)).order
    assert order is not None
    assert BADGE not in (await stack.see(order.id)).text
    await stack.services.accounts.change(aggregate.payment.account_id, test_project=True)
    assert BADGE in (await stack.see(order.id)).text
