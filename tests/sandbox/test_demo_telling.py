"""What the parts of the demo do: tell in order, read pages, write to terminals and to files."""

import io
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from html import escape

import httpx2
import pytest
from rich.console import Console

from app.saleor.testing.server import serving
from app.sandbox.control import SandboxControl
from app.sandbox.demo.browser import Browser
from app.sandbox.demo.on_terminal import TerminalTeller
from app.sandbox.demo.telling import Exchange, Party, Place, Trouble
from app.sandbox.demo.watching import Watcher
from tests.sandbox.scene import Scene

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Listener:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def begin(self) -> None: ...
    def step(self, number: int, name: str, title: str) -> None: ...
    def check(self, what: str) -> None: ...
    def trouble(self, trouble: Trouble) -> None: ...
    def end(self, checks: int, seconds: float) -> None: ...
    def places(self, places: Sequence[Place], hints: Sequence[str]) -> None: ...
    def farewell(self) -> None: ...

    def exchange(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)

    def waiting(self, what: str) -> AbstractContextManager[object]:  # noqa: ARG002 - as the others
        return nullcontext()

    def said(self) -> list[str]:
        return [exchange.said.partition(" (")[0] for exchange in self.exchanges]


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
async def watcher(scene: Scene, listener: Listener) -> AsyncIterator[Watcher]:
    async with serving() as saleor, SandboxControl(scene.url) as gateway:
        yield Watcher(saleor.saleor, gateway, listener)


async def test_what_began_first_is_told_first_and_everything_once(
    watcher: Watcher, listener: Listener, scene: Scene
) -> None:
    async with watcher.exchange(Party.STAFF, Party.SALEOR, "before"):
        pass
    async with watcher.exchange(Party.SHOPPER, Party.SHOP, "checks out"):
        scene.clock.now = datetime.now(UTC)
        await scene.merchant.pay_hosted("mugs", "249.90")
        assert not await watcher.tell_what_is_over()
        assert listener.said() == ["before"]
    await watcher.catch_up()
    await watcher.catch_up()
    assert listener.said() == ["before", "checks out", "asks for a payment page over 249.90 UAH"]


async def test_a_notification_that_nobody_takes_is_told_as_failed(
    watcher: Watcher, listener: Listener, scene: Scene
) -> None:
    scene.clock.forward(days=400)  # somebody moved the sandbox's clock: nothing waits for that day
    scene.shop.answers = [503, 503]
    await scene.merchant.pay_hosted("mugs", "249.90")
    await scene.control.pay("mugs")
    await scene.quiet()
    await watcher.catch_up()
    notified = [each for each in listener.exchanges if each.speaker is Party.GATEWAY]
    assert [each.answer for each in notified if each.failed] == ["HTTP 503", "HTTP 503"]
    assert {each.said for each in notified if not each.failed} == {
        "notifies, signed: purchase pending [2119], 249.90 UAH",
        "notifies, signed: purchase success [1000], 249.90 UAH",
    }


async def test_a_page_that_loads_itself_anew_is_told_once(watcher: Watcher, listener: Listener, scene: Scene) -> None:
    created = await scene.merchant.pay_hosted("mugs", "249.90")
    async with httpx2.AsyncClient(trust_env=False) as http:
        for _ in range(3):
            await http.get(created.headers["location"].removesuffix("form") + "qr")
            await watcher.catch_up()
    assert listener.said() == ["asks for a payment page over 249.90 UAH", "looks at the QR code"]


async def test_the_browser_sends_what_a_browser_would(scene: Scene) -> None:
    created = await scene.merchant.pay_hosted("mugs", "249.90")
    async with httpx2.AsyncClient(trust_env=False) as http:
        browser = Browser(http)
        page = await browser.open(created.headers["location"])
        assert page.heading == "Pay 249.90\N{NO-BREAK SPACE}UAH"
        declined = await browser.press(page, "Pay", cvv="x")
        assert declined.status == 400
        with pytest.raises(LookupError):
            page.button("Buy")
        paid = await browser.press(declined, "Pay", cvv="123")
        assert paid.onward is not None
        assert paid.onward.endswith("order_id=mugs&status=success")


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


def written(*, colours: bool, width: int = 80) -> tuple[TerminalTeller, io.StringIO]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=colours, color_system="standard" if colours else None)
    return TerminalTeller(console), file


def test_a_terminal_gets_colours_and_a_file_gets_none() -> None:
    exchange = Exchange(NOON, Party.APP, Party.GATEWAY, "asks for a page", "HTTP 303", 0.012)
    for colours in (True, False):
        teller, file = written(colours=colours)
        teller.exchange(exchange)
        teller.check("it is right")
        assert ("\x1b[" in file.getvalue()) is colours
    assert "app → gateway asks for a page ← HTTP 303" in file.getvalue()
    assert "12 ms" in file.getvalue()


def test_a_long_line_stays_in_its_column() -> None:
    teller, file = written(colours=False)
    teller.exchange(Exchange(NOON, Party.SALEOR, Party.APP, "word " * 40, seconds=2.5))
    first, *rest = file.getvalue().splitlines()
    assert first.endswith("2.5 s")
    assert all(len(line) <= 80 and line.startswith(" " * 27) for line in rest)


def test_addresses_are_whole_and_trouble_shows_the_log() -> None:
    teller, file = written(colours=False, width=60)
    address = "http://127.0.0.1:8077/api/v1/checkout/192ccf33-d827-417c-a9d6-c9b003e97bf4/form"
    teller.places([Place("Payment page", address, "open")], ["a hint"])
    teller.trouble(Trouble("pay", "The shopper pays", "it is paid", "it is not", "the app's log", ("last [words]",)))
    said = file.getvalue()
    assert address in said.replace("\n", "").replace(" ", "")
    assert "This step went wrong: The shopper pays" in said
    assert "last [words]" in said
