"""``payments link``, beside a running app: Saleor asks that app, and the command shows what came of it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk.testing.ids import key_of
from tests.commands.conftest import Shell, one_database
from tests.dashboard.order_page_stack import OrderPageStack, open_order_page_stack
from tests.payments.fake_gateway import FakeGateway, open_fake_gateway


@pytest.fixture
async def stack(database_url: str, tmp_path: Path) -> AsyncIterator[OrderPageStack]:
    """A store at this very hour: a command has no other clock."""
    async with (
        open_fake_gateway(FakeGateway()) as gateway,
        open_order_page_stack(database_url, tmp_path, Clock(datetime.now(UTC)), gateway) as open_,
    ):
        yield open_


@pytest.fixture
def environment(stack: OrderPageStack) -> dict[str, str]:
    """The settings of the running app."""
    settings = stack.settings
    return {
        "APP_DATABASE_URL": settings.database,
        "APP_DATA_DIR": str(settings.data_dir),
        "APP_BASE_URL": settings.base_url,
    }


async def test_a_link_over_what_is_open(shell: Shell, stack: OrderPageStack) -> None:
    order = await stack.order()
    stack.gateway.will_answer(stack.gateway.page())

    made = (await shell("payments", "link", order.id, "--json")).json

    (aggregate,) = await stack.payments(order)
    page = f"{stack.url}/pay/{aggregate.payment.order_id}"
    assert {name: made[name] for name in ("link", "qr_svg", "qr_png", "checkout_url", "amount", "order_number")} == {
        "link": page,
        "qr_svg": f"{page}.svg",
        "qr_png": f"{page}.png",
        "checkout_url": aggregate.payment.checkout_url,
        "amount": Decimal("569.50"),
        "order_number": order.number,
    }
    again = await shell("payments", "link", quote(order.id, safe=""))
    assert page in "".join(again.out.split())
    assert "569.50 UAH" in again.out
    assert stack.gateway.calls == ["payment"]


@one_database
async def test_a_request_that_is_named_makes_one_link(shell: Shell, stack: OrderPageStack) -> None:
    order = await stack.order()
    stack.gateway.will_answer(stack.gateway.page())
    command = ("payments", "link", key_of("Order", order.id), "--amount", "100", "--request", "ticket-7781", "--json")
    assert (await shell(*command)).json == (await shell(*command)).json
    assert (await stack.payments(order))[0].payment.amount == Decimal(100)
    assert len(await stack.saleor.transactions()) == 1


@one_database
async def test_a_named_link_that_was_paid_is_said_to_be_paid(shell: Shell, stack: OrderPageStack) -> None:
    order = await stack.order()
    stack.gateway.will_answer(stack.gateway.page())
    command = ("payments", "link", order.id, "--amount", "100", "--request", "ticket-7781")
    assert (await shell(*command)).status == 0
    (aggregate,) = await stack.payments(order)
    await stack.pays(aggregate)
    (await shell(*command)).failed(
        "no link was created: The link of this request was created before, and it has been paid."
    )
    assert len(await stack.payments(order)) == 1


@one_database
async def test_link_language_is_the_one_asked_for(shell: Shell, stack: OrderPageStack) -> None:
    order = await stack.order()
    (await shell("payments", "link", order.id, "--language", "xx")).failed("is not a language", status=2)
    stack.gateway.will_answer(stack.gateway.page())
    await shell("payments", "link", order.id, "--language", "uk-UA")
    await shell("payments", "link", order.id)
    assert [aggregate.payment.language for aggregate in await stack.payments(order)] == ["uk"]


@one_database
async def test_order_may_be_given_by_the_address_of_its_page(shell: Shell, stack: OrderPageStack) -> None:
    order = await stack.order()
    stack.gateway.will_answer(stack.gateway.page())
    page = f"https://shop.saleor.cloud/dashboard/orders/{quote(order.id, safe='')}"
    for given in (page, f"{page}/refund?action=capture"):
        assert (await shell("payments", "link", given)).status == 0
    assert len(await stack.payments(order)) == 1


@one_database
async def test_why_there_is_none(shell: Shell, stack: OrderPageStack) -> None:
    order = await stack.order()
    (await shell("payments", "link", order.id, "--amount", "600")).failed("569.50 UAH is left to pay for this order")
    (await shell("payments", "link", order.id, "--amount", "much")).failed("'much' is not an amount", status=2)
    checkout = await stack.saleor.create_checkout()
    for garbage in ("1042", "garbage!", checkout.id):
        (await shell("payments", "link", garbage)).failed("is not an order in Saleor", status=2)
    (await shell("payments", "link", key_of("Checkout", checkout.id))).failed("This order was not found in Saleor.")
    await stack.pays(await stack.link(order))
    (await shell("payments", "link", order.id)).failed("There is nothing left to pay on this order.")
