"""The demo's shop when something is in the way, and who may press its buttons."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from app.demo.shop import Shop
from app.demo.timeline import Output, Timeline, standard_console
from gateway_client.sandbox.control import SandboxControl
from gateway_client_tests.sandbox.harness import Harness
from gateway_client_tests.sandbox.plain_browser import Browser
from integration_base_tests.loopback import serve_app
from saleor_app_sdk.testing.server import serving as saleor_serving


@pytest.fixture
async def shop(harness: Harness) -> AsyncIterator[str]:
    """A shop whose Saleor has no app to pay with."""
    async with saleor_serving() as saleor, SandboxControl(harness.url) as gateway:
        timeline = Timeline(saleor.saleor, gateway, Output(standard_console()))
        async with serve_app(Shop("http://shop.test", saleor.saleor, timeline, "http://app.test").application()) as url:
            yield url


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        yield http


async def test_without_a_way_to_pay_the_shopper_is_told_why(shop: str, http: httpx2.AsyncClient) -> None:
    browser = Browser(http)
    page = await browser.press(await browser.open(shop), "Reserve")
    assert (page.status, page.heading) == (502, "Not paid")
    assert "listens to TRANSACTION_INITIALIZE_SESSION" in page.words
    again = await browser.press(page, "Try again")
    assert again.status == 502


async def test_staff_see_that_there_is_nothing(shop: str, http: httpx2.AsyncClient) -> None:
    browser = Browser(http)
    dashboard = await browser.open((await browser.open(shop)).link("What staff see"))
    assert "Nobody has bought anything yet." in dashboard.words


async def test_the_payment_button_is_on_a_page_that_lets_nothing_else_in(shop: str, http: httpx2.AsyncClient) -> None:
    sent = await http.post(f"{shop}/buy", data={"way": "button", "language": "UK"})
    page = await http.get(f"{shop}{sent.headers['location']}")
    assert 'src="http://app.test/static/' in page.text
    assert 'language="uk"' in page.text
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["script-src"] == "'self' http://app.test"
    assert policy["img-src"] == "'self' http://app.test"
    assert policy["default-src"] == "'none'"
    gone = await http.get(f"{shop}/checkout", params={"checkout": "nobodys"})
    assert (gone.status_code, gone.headers["location"]) == (303, "/")


async def test_the_page_with_the_payment_button_is_in_the_language_of_the_button(
    shop: str, http: httpx2.AsyncClient
) -> None:
    browser = Browser(http)
    for language, whole, part in (
        ("EN", "Pay everything that is left", "Pay only 200.00\u00a0UAH now"),
        ("UK", "Сплатити все, що лишилося", "Сплатити зараз лише 200,00\u00a0UAH"),
    ):
        sent = await http.post(f"{shop}/buy", data={"way": "button", "language": language})
        page = await browser.open(f"{shop}{sent.headers['location']}")
        assert (await browser.open(page.link(part))).link(whole)
        assert ("Checkout" in page.words, "Demo shop" in page.words) == (language == "EN", language == "EN")


async def test_another_site_cannot_press_the_buttons(shop: str, http: httpx2.AsyncClient) -> None:
    answer = await http.post(f"{shop}/buy", data={"way": "pay"}, headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
