"""The demo's timeline: in order, each thing once, to terminals and to files."""

import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx2
import pytest
from rich.console import Console, RenderableType

from app.demo.timeline import Exchange, Output, Timeline
from gateway_client.sandbox.control import SandboxControl
from gateway_client_tests.sandbox.harness import Harness
from integration_base.exact_json import loads
from saleor_app_sdk.testing.server import serving

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Listener(Output):
    """Remembers the exchanges that it is to show."""

    def __init__(self) -> None:
        super().__init__(None)
        self.exchanges: list[dict[str, object]] = []

    def show(self, event: str, *lines: RenderableType, **values: object) -> None:
        assert event == "exchange"
        assert lines
        self.exchanges.append(values)

    def said(self) -> list[str]:
        return [str(exchange["said"]) for exchange in self.exchanges]


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
async def timeline(harness: Harness, listener: Listener) -> AsyncIterator[Timeline]:
    async with serving() as saleor, SandboxControl(harness.url) as gateway:
        yield Timeline(saleor.saleor, gateway, listener)


async def test_what_began_first_is_shown_first_and_everything_once(
    timeline: Timeline, listener: Listener, harness: Harness
) -> None:
    async with timeline.record("staff", "Saleor", "before"):
        pass
    async with timeline.record("shopper", "shop", "checks out"):
        harness.clock.now = datetime.now(UTC)
        await harness.merchant.pay_hosted("mugs", "249.90")
        assert not await timeline.show_new()
        assert listener.said() == ["before"]
    assert await timeline.show_new()
    assert await timeline.show_new()
    assert listener.said() == ["before", "checks out", "POST /api/v1/payment 249.90 UAH"]


async def test_a_notification_that_nobody_takes_is_shown_as_failed(
    timeline: Timeline, listener: Listener, harness: Harness
) -> None:
    harness.clock.forward(days=400)  # somebody moved the sandbox's clock: nothing waits for that day
    harness.shop.answers = [503, 503]
    await harness.merchant.pay_hosted("mugs", "249.90")
    await harness.control.pay("mugs")
    await harness.quiet()
    assert await timeline.show_new()
    notified = [exchange for exchange in listener.exchanges if exchange["from"] == "gateway"]
    assert [exchange["answer"] for exchange in notified if exchange["failed"]] == ["HTTP 503", "HTTP 503"]
    assert {exchange["said"] for exchange in notified if not exchange["failed"]} == {
        "notifies, signed: purchase pending [2119], 249.90 UAH",
        "notifies, signed: purchase success [1000], 249.90 UAH",
    }


async def test_a_page_that_loads_itself_anew_is_shown_once(
    timeline: Timeline, listener: Listener, harness: Harness
) -> None:
    created = await harness.merchant.pay_hosted("mugs", "249.90")
    async with httpx2.AsyncClient(trust_env=False) as http:
        for _ in range(3):
            await http.get(created.headers["location"].removesuffix("form") + "qr")
            assert await timeline.show_new()
    assert listener.said() == ["POST /api/v1/payment 249.90 UAH", "opens the QR code"]


def written(*, colours: bool, width: int = 80) -> tuple[Output, io.StringIO]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=colours, color_system="standard" if colours else None)
    return Output(console), file


def test_a_terminal_gets_colours_and_a_file_gets_none() -> None:
    exchange = Exchange(NOON, "app", "gateway", "asks for a page", "HTTP 303", seconds=0.012)
    for colours in (True, False):
        output, file = written(colours=colours)
        output.show_exchange(exchange)
        output.show_check("it is right")
        assert ("\x1b[" in file.getvalue()) is colours
    assert "app → gateway asks for a page ← HTTP 303" in file.getvalue()
    assert "12 ms" in file.getvalue()


def test_a_program_gets_json(capsys: pytest.CaptureFixture[str]) -> None:
    Output(None).show_exchange(Exchange(NOON, "app", "gateway", "asks for a page", "HTTP 303", seconds=0.012))
    assert loads(capsys.readouterr().out) == {
        "event": "exchange",
        "at": "2026-11-21T12:00:00+00:00",
        "from": "app",
        "to": "gateway",
        "said": "asks for a page",
        "answer": "HTTP 303",
        "failed": False,
        "milliseconds": 12,
    }


def test_a_long_line_stays_in_its_column() -> None:
    output, file = written(colours=False)
    output.show_exchange(Exchange(NOON, "Saleor", "app", "word " * 40, seconds=2.5))
    first, *rest = file.getvalue().splitlines()
    assert first.endswith("2500 ms")
    assert all(len(line) <= 80 and line.startswith(" " * 27) for line in rest)


def test_addresses_are_whole_and_trouble_shows_the_log() -> None:
    output, file = written(colours=False, width=60)
    address = "http://127.0.0.1:8077/api/v1/checkout/192ccf33-d827-417c-a9d6-c9b003e97bf4/form"
    output.show_place("Payment page", address, "open")
    output.show_failure("pay", "The shopper pays", "it is paid", "it is not", "app", ["last [words]"])
    said = file.getvalue()
    assert address in said
    assert "This step went wrong: The shopper pays" in said
    assert "last [words]" in said
