"""The lines that docs/storefront.md gives to storefront developers, run in a real browser: what they seal, pays."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from integration_base_tests.loopback import serve_app
from integration_base_tests.pages import STOREFRONT, blocks
from saleor_app_sdk.testing.views import SessionView
from tests.journeys.card_shop import (
    ASKS_THE_SHOPPER,
    GOOD,
    allow_cards,
    assert_no_card_data_left,
    offered_card,
    typed,
)
from tests.journeys.stack import Stack
from tests.journeys.stories import TOTAL, assert_books_agree, paid_order

pytestmark = [pytest.mark.browser, pytest.mark.long]
ONE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the browser sees no database


def the_documented_lines() -> str:
    """Return exactly what stands in the documentation."""
    [snippet] = [block for block in blocks("js", among=[STOREFRONT]) if block.role == "seal"]
    return snippet.code


@pytest.fixture
async def storefront() -> AsyncIterator[str]:
    """A storefront's pages on this machine, which browsers take for a secure place."""

    async def some_page(request: Request) -> HTMLResponse:
        return HTMLResponse(f'<link rel="icon" href="data:,"><h1>{request.url.path}</h1>')

    async with serve_app(Starlette(routes=[Route("/checkout", some_page), Route("/back", some_page)])) as address:
        yield address


@pytest.fixture
async def page(browser: Browser, storefront: str) -> Page:
    page = await browser.new_page(locale="uk-UA", timezone_id="Europe/Warsaw")
    await page.goto(f"{storefront}/checkout")
    await page.add_script_tag(content=the_documented_lines())
    return page


async def pay_in(page: Page, shop: Stack, storefront: str, content: dict[str, Any]) -> tuple[str, SessionView]:
    """Seal the card and describe the browser in the page, and pass both to Saleor."""
    checkout = await shop.saleor.create_checkout()
    card = await offered_card(shop, checkout.id)
    stamp = "{...content, at: new Date().toISOString(), for: id}"
    sealed = await page.evaluate(f"([content, id, card]) => sealCard({stamp}, card)", [content, checkout.id, card])
    assert content["number"] not in sealed
    data = {
        "card": sealed,
        "browserFingerprint": await page.evaluate("browserFingerprint()"),
        "returnUrl": f"{storefront}/back",
    }
    return checkout.id, await shop.saleor.initialize(checkout.id, data=data, customer_ip="203.0.113.7")


@ONE
async def test_what_the_documented_lines_seal_is_paid(shop: Stack, storefront: str, page: Page) -> None:
    await allow_cards(shop, storefront_origins=[storefront])
    checkout_id, session = await pay_in(page, shop, storefront, typed())
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS", session
    assert session.required_transaction.amounts.charged == TOTAL
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_no_card_data_left(shop, GOOD)


@ONE
async def test_the_shopper_confirms_at_the_bank_and_is_back_in_the_shop(
    shop: Stack, storefront: str, page: Page
) -> None:
    await allow_cards(shop, storefront_origins=[storefront])
    checkout_id, session = await pay_in(page, shop, storefront, typed(ASKS_THE_SHOPPER))
    await page.goto(session.data["redirectUrl"])
    await page.get_by_role("button", name="Confirm").click()
    await page.wait_for_url(f"{storefront}/back?transactionId=*")
    done = await shop.saleor.process(session.required_transaction.id)
    assert done.event is not None
    assert done.event.type == "CHARGE_SUCCESS"
    await paid_order(shop, checkout_id)
    await assert_no_card_data_left(shop, ASKS_THE_SHOPPER)


async def test_the_documented_fingerprint_is_all_that_a_page_can_know(page: Page) -> None:
    told = await page.evaluate("browserFingerprint()")
    assert told["browserLanguage"] == "uk-UA"
    assert told["browserTimeZone"] == "Europe/Warsaw"
    assert told["browserTimeZoneOffset"] in {"-60", "-120"}
    assert len(told) == 9
    assert all(isinstance(value, str) and value for value in told.values())
