"""The kit in Firefox, which is driven by WebDriver BiDi: Playwright drives only a Firefox of its own."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response
from starlette.routing import Route, Router
from websockets.asyncio.client import ClientConnection, connect

from integration_base_tests.skipping import missing
from integration_base_tests.waiting import unless_it_hangs
from tests.storefront_kit.conftest import OFFER, OWED, SAVED, START, ScriptedSaleor, gateway_config, session
from tests.storefront_kit.shop import kit_shop
from tests.storefront_kit.test_amount import owed
from tests.storefront_kit.test_saved_cards import MASTERCARD, VISA

pytestmark = [pytest.mark.browser, pytest.mark.long]

FIREFOX = os.environ.get("FIREFOX", "/usr/bin/firefox-esr")
_LISTENS = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")


class Firefox:
    """A session with one page."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = count(1)
        self._page = ""

    async def ask(self, method: str, **params: Any) -> Any:
        """Send a command; return its result. Events are not listened to."""
        number = next(self._numbers)
        await self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        async for said in self._socket:
            answer = json.loads(said)
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]
        raise ConnectionError

    async def open(self, url: str) -> None:
        """Go to a page, and wait until it is loaded."""
        if not self._page:
            await self.ask("session.new", capabilities={})
            self._page = (await self.ask("browsingContext.getTree"))["contexts"][0]["context"]
        await self.ask("browsingContext.navigate", context=self._page, url=url, wait="complete")

    async def evaluate(self, expression: str) -> Any:
        """Return the JSON of an expression, in which ``kit`` is the element and ``inside`` its content."""
        script = (
            "(() => { const kit = document.querySelector('gateway-payment'), inside = kit.shadowRoot; "
            f"return JSON.stringify({expression}) ?? 'null'; }})()"
        )
        target = {"context": self._page}
        done = await self.ask("script.evaluate", expression=script, target=target, awaitPromise=False)
        assert done["type"] == "success", done
        return json.loads(done["result"]["value"])

    async def wait_until(self, expression: str) -> None:
        """Wait until an expression is true."""
        async with unless_it_hangs():
            while not await self.evaluate(expression):  # noqa: ASYNC110 - a page of another process tells by asking
                await asyncio.sleep(0.05)


@asynccontextmanager
async def firefox(profile: Path) -> AsyncIterator[Firefox]:
    """Start a headless Firefox that calls nobody."""
    if shutil.which(FIREFOX) is None:
        missing(f"Firefox ({FIREFOX})")
    quiet = {"app.update.enabled": False, "datareporting.policy.dataSubmissionEnabled": False}
    quiet |= {"network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False}
    (profile / "user.js").write_text("".join(f'user_pref("{name}", {json.dumps(quiet[name])});\n' for name in quiet))
    log = profile / "log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"),
            env=os.environ | {"HOME": str(profile)},
            stdout=output,
            stderr=output,
        )
    try:
        async with unless_it_hangs():
            while (found := _LISTENS.search(log.read_bytes())) is None:
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.05)
        async with connect(f"{found[1].decode()}/session", max_size=None, proxy=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        await process.wait()


async def test_a_customer_pays_with_a_saved_card_in_firefox(tmp_path: Path) -> None:
    saleor = ScriptedSaleor()
    saleor.gate.set()
    saleor.set_answers(OFFER, gateway_config(saveCard=True))
    saleor.set_answers(OWED, owed(569.5), owed(569.5), owed(0, authorized="FULL"))
    saleor.set_answers(SAVED, {"storedPaymentMethods": [VISA, MASTERCARD]})
    saleor.set_answers(START, session("CHARGE_SUCCESS"))
    code = Route("/{name}.svg", lambda _request: Response(status_code=404))
    routes = {"/graphql": Router([Route("/", saleor.answer, methods=["POST"])]), "/pay": Router([code])}
    async with kit_shop(routes=routes) as shop, firefox(tmp_path) as browser:
        here = {"saleor_api_url": "/graphql/", "checkout_id": "Q2hlY2tvdXQ6MQ==", "return_url": "/checkout"}
        await browser.open(shop.checkout("uk", **here))
        await browser.wait_until("kit.state === 'ready'")
        await browser.evaluate("(kit.customerToken = 'token', true)")
        await browser.wait_until("inside.querySelectorAll('[type=radio]').length === 3")
        label = await browser.evaluate("inside.querySelector('[part=button]').textContent")
        assert label == "Оплатити 569,50\N{NO-BREAK SPACE}UAH"
        await browser.evaluate("(inside.querySelector('[part=button]').click(), true)")
        await browser.wait_until("kit.state === 'paid'")
        assert "✓ Сплачено 569,50" in await browser.evaluate("inside.querySelector('[part=done]').textContent")
        assert await browser.evaluate("inside.querySelector('form').getClientRects().length") == 0
    [asked] = saleor.variables(START)
    assert asked["gateway"]["data"]["savedCardId"] == "card1"
    assert asked["amount"] == 569.5
