"""The tests' browser without a script sends what a browser would."""

from html import escape

import httpx2
import pytest

from gateway_client_tests.sandbox.harness import Harness
from gateway_client_tests.sandbox.plain_browser import Browser


async def test_the_browser_sends_what_a_browser_would(harness: Harness) -> None:
    created = await harness.merchant.pay_hosted("mugs", "249.90")
    async with httpx2.AsyncClient(trust_env=False) as http:
        browser = Browser(http)
        page = await browser.open(created.headers["location"])
        assert page.heading == "Pay 249.90\N{NO-BREAK SPACE}UAH"
        declined = await browser.press(page, "Pay", cvv="x")
        assert declined.status == 400
        with pytest.raises(LookupError):
            page.button("Buy")
        paid = await browser.press(declined, "Pay", cvv="123")
        assert paid.redirect is not None
        assert paid.redirect.endswith("order_id=mugs&status=success")


async def test_a_choice_that_is_not_chosen_is_not_sent() -> None:
    html = """
        <form action="/buy">
          <input type="radio" name="way" value="fast" checked> <input type="radio" name="way" value="slow">
          <input type="checkbox" name="gift" value="yes"> <input name="note"> <button name="go">Go</button>
        </form>
        <p>Or <a href="away">leave</a></p>"""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, html=f"<p>{escape(request.content.decode())}" if request.content else html)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        browser = Browser(http)
        page = await browser.open("http://shop.test/a/b")
        assert page.link("leave") == "http://shop.test/a/away"
        sent = await browser.press(page, "Go", note="hi")
    assert sent.url == "http://shop.test/buy"
    assert sent.words == "way=fast&note=hi&go="
