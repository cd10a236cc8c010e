"""A checkout whose Saleor says what a test wants, and a browser whose clock can be moved, and stopped."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router

from app.rules.cards.key_pair import ALG, ENC
from integration_base_tests.waiting import unless_it_hangs
from tests.dashboard.framing import BrowserErrors
from tests.storefront_kit.shop import KitShop, kit_shop

CHECKOUT, TRANSACTION, REFERENCE = "Q2hlY2tvdXQ6MQ==", "VHJhbnNhY3Rpb25JdGVtOjE=", "9424b415bc3f4765ae40a795d92aa6ed"
OFFER, START, PROCESS = "paymentGatewayInitialize", "transactionInitialize", "transactionProcess"
OWED, SAVED, DELETE = "checkout", "me", "storedPaymentMethodRequestDelete"
_ASKED = re.compile(rf"\b({OFFER}|{START}|{PROCESS}|{OWED}|order|{SAVED}|{DELETE})(?:\(| \{{)")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SETTLES = """(() => {
  const ask = window.fetch;
  const nextTask = () => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (port1.close(), resolve());
    port2.postMessage(null);
  });
  let asking = 0;
  window.fetch = async (...request) => {
    asking += 1;
    try {
      const answer = await ask(...request);
      return new Response(await answer.blob(), answer);
    } finally {
      nextTask().then(nextTask).then(nextTask).then(() => (asking -= 1));
    }
  };
  window.settled = async () => {
    do await nextTask(); while (asking);
  };
})()"""
"""Gives a page ``settled``, which waits until all that the page has asked for is there and the page has read it."""

Answer = dict[str, Any] | int | None
"""What a mutation gives, or an HTTP status without anything."""


@dataclass
class ScriptedSaleor:
    """A Saleor that answers each question with what is next; the last answer is given again and again."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tokens: list[tuple[str, str | None]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def set_answers(self, mutation: str, *answers: Answer) -> None:
        """Answer this mutation so from now on."""
        self.answers[mutation] = list(answers)

    def times(self, mutation: str) -> int:
        """Return how often it was asked."""
        return len(self.variables(mutation))

    def variables(self, mutation: str) -> list[dict[str, Any]]:
        """Return what it was asked with."""
        return [variables for name, variables in self.asked if name == mutation]

    async def answer(self, request: Request) -> Response:
        """Answer as GraphQL does."""
        asked = json.loads(await request.body())
        mutation = _ASKED.findall(asked["query"])[0]
        self.asked.append((mutation, asked["variables"]))
        self.tokens.append((mutation, request.headers.get("authorization")))
        await self.gate.wait()
        answers = self.answers[mutation]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, int):
            return Response(status_code=answer)
        if answer and "extensions" in answer:
            return JSONResponse({"data": None, "errors": [answer]})
        return JSONResponse({"data": {mutation: answer}})


def gateway_config(**more: Any) -> Answer:
    """Return what paymentGatewayInitialize gives."""
    data = {"available": True, "mode": "hosted", "modes": ["hosted"], "saveCard": False, **more}
    return {"gatewayConfigs": [{"data": data, "errors": []}], "errors": []}


AMOUNTS = ("charged", "chargePending", "authorized", "authorizePending", "refunded", "canceled")


def session(
    event: str,
    data: Any = None,
    *,
    words: str = "",
    reference: str = REFERENCE,
    transaction: str = TRANSACTION,
    amounts: Mapping[str, float] | None = None,
) -> Answer:
    """Return what transactionInitialize and transactionProcess give.

    ``amounts``: those of the transaction, 0 by default; None: Saleor does not state them.
    """
    told = {"type": event, "pspReference": reference, "message": words}
    stated = {} if amounts is None else {f"{name}Amount": {"amount": amounts.get(name, 0)} for name in AMOUNTS}
    return {"transaction": {"id": transaction, **stated}, "transactionEvent": told, "data": data, "errors": []}


def refused_session(code: str, message: str = "", *, event: str = "CHARGE_FAILURE", **more: Any) -> Answer:
    """Return a session with an error of the app."""
    return session(event, {"errors": [{"code": code, "message": message, **more}]})


def key_of(public_jwk: dict[str, Any]) -> dict[str, Any]:
    """Return how the app offers a key for cards."""
    return {"jwk": public_jwk, "alg": ALG, "enc": ENC}


@dataclass
class Visit:
    """A shopper at the checkout."""

    page: Page
    saleor: ScriptedSaleor
    shop: KitShop
    complaints: BrowserErrors

    def address(self, lang: str = "en", **attributes: str) -> str:
        """Return the address of the checkout."""
        here = {"saleor_api_url": "/graphql/", "checkout_id": CHECKOUT, "return_url": "/checkout"}
        return self.shop.checkout(lang, **here | attributes)

    async def open(self, lang: str = "en", *, state: str | None = "ready", **attributes: str) -> None:
        """Come to the payment step, and wait for a state of the kit."""
        await self.page.goto(self.address(lang, **attributes))
        if state is not None:
            await self.wait_for_state(state)

    async def wait_for_state(self, state: str) -> None:
        """Wait until the kit says that it is so far."""
        await expect(self.page.locator("gateway-payment")).to_have_attribute("state", state)

    async def pass_time(self, seconds: float, until: Callable[[], bool] | None = None) -> None:
        """Let time pass on the page, and wait until something was asked."""
        await self.page.clock.run_for(int(seconds * 1000))
        async with unless_it_hangs():
            while until is not None and not until():  # noqa: ASYNC110 - a page of another process tells by asking
                await asyncio.sleep(0.01)

    async def stop_clock(self) -> None:
        """Let time pass on the page only when it is told to: else it passes on its own as well."""
        await self.page.clock.pause_at(NOON + timedelta(days=1))

    async def pass_seconds(self, seconds: int) -> None:
        """Let so many seconds pass on the page, each when the page has read what it asked for in those before."""
        for _ in range(seconds):
            await self.pass_time(1)
            await self.page.evaluate("settled()")

    async def evaluates(self, script: str) -> None:
        """Run a script in the page, with the element as ``kit``."""
        await self.page.evaluate(f"() => {{ const kit = document.querySelector('gateway-payment'); {script} }}")


@pytest.fixture
async def visit(browser: Browser) -> AsyncIterator[Visit]:
    saleor = ScriptedSaleor()
    saleor.gate.set()
    saleor.set_answers(OFFER, gateway_config())
    saleor.set_answers(OWED, None)
    code = Route("/{name}.svg", lambda _request: Response(SVG, media_type="image/svg+xml"))
    routes = {"/graphql": Router([Route("/", saleor.answer, methods=["POST"])]), "/pay": Router([code])}
    async with kit_shop(routes=routes) as shop:
        context = await browser.new_context(viewport={"width": 900, "height": 900})
        page = await context.new_page()
        await page.add_init_script(SETTLES)
        await page.clock.install(time=NOON)
        complaints = BrowserErrors()
        complaints.of(page)
        yield Visit(page, saleor, shop, complaints)
        saleor.gate.set()
