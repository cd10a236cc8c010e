"""A channel moves from a test project to a live one while pages of the test project are still open."""

from collections.abc import Awaitable, Callable

import pytest

from app.core.alerts import AlertKind
from app.core.payment import row_id_of
from app.core.vocabulary import CloseReason, PaymentStatus
from app.flows.accounts.channels import assign_channel
from app.flows.open_pages import OpenPageChecks, check_polled_page
from app.flows.staff.subscription import cancel_subscription
from app.store.tables import MerchantAccount
from integration_base_tests.loopback import json_reply
from tests.payments.alert_cases import subjects
from tests.payments.fake_gateway import payment
from tests.payments.operations.test_subscriptions import ACTIVE, CANCELLED
from tests.payments.second_account import add_second_account
from tests.payments.shop import TOTAL, Shop
from tests.payments.test_money_and_order_part import (
    acknowledge_all,
    begin_on_checkout,
    begin_on_order,
    closing_reasons,
    told,
)

pytestmark = pytest.mark.law(10)


@pytest.fixture(autouse=True)
async def live(shop: Shop) -> MerchantAccount:
    """The shop tries payments with a test project, and has a live account as well."""
    shop.saleor.states_totals = True
    shop.account = await shop.services.accounts.change(shop.account.id, test_project=True)
    shop.clock.forward(seconds=1)
    return await add_second_account(shop)


async def go_live(shop: Shop, live: MerchantAccount) -> None:
    shop.clock.forward(seconds=1)
    await assign_channel(shop.services, "uah", live)


def will_close(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply([payment(shop.order_id, "failure", TOTAL, status_code="6007")]))


async def test_open_pages_are_closed(shop: Shop, live: MerchantAccount) -> None:
    await begin_on_checkout(shop)
    will_close(shop)

    await go_live(shop, live)
    await shop.work()

    aggregate = await shop.aggregate()
    assert aggregate.payment.status is PaymentStatus.CANCELED
    assert await closing_reasons(shop) == [CloseReason.LEFT_TEST_PROJECT]
    assert "The channel takes real money now" in (aggregate.create.message or "")
    assert await told(shop) == ""


@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
@pytest.mark.parametrize("begin", [begin_on_checkout, begin_on_order])
async def test_what_is_paid_even_so_is_put_to_staff(
    shop: Shop, live: MerchantAccount, flow: str, begin: Callable[..., Awaitable[object]]
) -> None:
    await begin(shop, action={"actionType": flow, "amount": TOTAL, "currency": "UAH"})
    await go_live(shop, live)

    method = "purchase" if flow == "CHARGE" else "auth"
    await shop.notify(payment(shop.order_id, method=method))
    await shop.work()

    assert "569.50 UAH was paid or authorized in a test project" in await told(shop)
    [problem] = (await shop.aggregate()).payment.problems
    assert problem.kind is AlertKind.NOT_OWED


@pytest.mark.parametrize("outcome", ["success", "failure"])
async def test_what_was_at_the_bank_is_followed(shop: Shop, live: MerchantAccount, outcome: str) -> None:
    await begin_on_checkout(shop)
    await shop.notify(payment(shop.order_id, "pending"))
    await shop.work()
    await go_live(shop, live)

    await shop.notify(payment(shop.order_id, outcome))
    await shop.work()

    assert ("in a test project" in await told(shop)) is (outcome == "success")
    assert [done.state.final for done in (await shop.aggregate()).operations] == [True, True]


async def test_it_is_over_when_it_is_given_back(shop: Shop, live: MerchantAccount) -> None:
    await begin_on_checkout(shop)
    await go_live(shop, live)
    await shop.notify(payment(shop.order_id))
    await shop.notify(shop.record_refund(TOTAL, "the-refund"))
    await shop.work()

    assert await told(shop) == ""


async def test_checkout_paid_before_that_may_become_an_order_afterwards(shop: Shop, live: MerchantAccount) -> None:
    await begin_on_checkout(shop)
    await shop.notify(payment(shop.order_id))
    await shop.work()

    await go_live(shop, live)

    assert "in a test project" in await told(shop)
    await shop.pass_time(hours=8)  # that nobody completes it is no news, and staff should not
    assert len((await shop.aggregate()).payment.problems) == 1


async def test_order_placed_and_paid_before_that_is_left_alone(shop: Shop, live: MerchantAccount) -> None:
    await begin_on_order(shop)
    await shop.notify(payment(shop.order_id))
    await shop.work()

    await go_live(shop, live)

    assert await told(shop) == ""


@pytest.mark.parametrize("asked_by", ["shopper", "worker"])
async def test_page_that_another_process_opened_meanwhile_is_closed(
    shop: Shop, live: MerchantAccount, asked_by: str
) -> None:
    await begin_on_checkout(shop)
    await shop.services.accounts.map_channel("uah", live.id)
    shop.transaction.checkout = None  # Saleor need not answer
    if asked_by == "shopper":
        assert await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
    else:
        create = (await shop.aggregate()).create
        await check_polled_page(shop.services, shop.saleor, row_id_of(create))

    assert await closing_reasons(shop) == [CloseReason.LEFT_TEST_PROJECT]


@pytest.mark.fault("two-workers")
async def test_no_other_process_opens_a_page_in_the_test_project_afterwards(
    shop: Shop, second_process: Shop, live: MerchantAccount
) -> None:
    """It has read a moment ago which account takes the channel's money."""
    await second_process.services.accounts.for_channel(shop.installation.id, "uah")
    await assign_channel(shop.services, "uah", live)

    await begin_on_checkout(second_process)

    assert (await shop.aggregate()).payment.account_id == live.id


async def test_pages_of_live_accounts_stay_open(shop: Shop, live: MerchantAccount) -> None:
    shop.account = await shop.services.accounts.change(shop.account.id, test_project=False)
    await begin_on_checkout(shop)

    await go_live(shop, live)

    assert await closing_reasons(shop) == []


async def rename_channel(shop: Shop) -> None:
    for slug in ("uah", "ukraine"):
        await shop.services.accounts.follow_channels(shop.installation.id, {"Q2hhbm5lbDox": slug})


async def test_pages_from_before_the_channel_was_renamed_are_closed(shop: Shop, live: MerchantAccount) -> None:
    await begin_on_checkout(shop)
    await rename_channel(shop)

    shop.clock.forward(seconds=1)
    await assign_channel(shop.services, "ukraine", live)

    assert await closing_reasons(shop) == [CloseReason.LEFT_TEST_PROJECT]


async def test_pages_of_another_channel_stay_open(shop: Shop, live: MerchantAccount) -> None:
    await begin_on_checkout(shop)

    await assign_channel(shop.services, "eur", live)

    assert await closing_reasons(shop) == []


async def subscribe(shop: Shop) -> None:
    """An order is placed and paid, and with that a subscription has begun in the test project."""
    await begin_on_order(shop)
    await shop.notify(payment(shop.order_id, recurring=ACTIVE))
    await shop.work()


async def test_subscription_of_a_test_project_is_for_staff_until_it_is_cancelled(
    shop: Shop, live: MerchantAccount
) -> None:
    await subscribe(shop)
    assert await subjects(shop) == []

    await go_live(shop, live)
    assert await subjects(shop) == [(AlertKind.CHARGED_ON, 1)]
    assert "a test project's subscription" in await told(shop)

    await acknowledge_all(shop)
    await assign_channel(shop.services, "uah", live)  # it is saved once more
    assert await subjects(shop) == []

    shop.gateway.will_answer(CANCELLED)
    await cancel_subscription(shop.services, shop.order_id, "olena")
    assert not (await shop.aggregate()).payment.has_problems


async def test_subscription_from_before_the_channel_was_renamed_is_for_staff(shop: Shop, live: MerchantAccount) -> None:
    await subscribe(shop)
    await rename_channel(shop)

    await assign_channel(shop.services, "ukraine", live)

    assert await subjects(shop) == [(AlertKind.CHARGED_ON, 1)]


async def test_cancelled_subscription_of_a_test_project_is_left_alone(shop: Shop, live: MerchantAccount) -> None:
    await subscribe(shop)
    shop.gateway.will_answer(CANCELLED)
    await cancel_subscription(shop.services, shop.order_id, "olena")

    await go_live(shop, live)

    assert await subjects(shop) == []


async def test_subscription_that_begins_on_a_page_of_a_test_project_even_so_is_for_staff(
    shop: Shop, live: MerchantAccount
) -> None:
    await begin_on_order(shop)
    await go_live(shop, live)

    await shop.notify(payment(shop.order_id, recurring=ACTIVE))
    await shop.work()

    assert await subjects(shop) == [(AlertKind.NOT_OWED, 1), (AlertKind.CHARGED_ON, 1)]
