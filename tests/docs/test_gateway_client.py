"""The programs on the page about the gateway's client run as they stand there, and type checkers accept them."""

import asyncio
import csv
import errno
import runpy
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs

import pytest

from gateway_client import Method, Status
from gateway_client.sandbox.scripting import FaultRule
from gateway_client_tests.sandbox.harness import Harness, environment_of, open_harness
from integration_base_tests.clock import Clock
from integration_base_tests.pages import DOCS, backticked, prose, rows
from integration_base_tests.places import GATEWAY_CLIENT
from integration_base_tests.programs import Runner, programs_of, read_line, write_programs
from integration_base_tests.waiting import LONGEST_WAIT
from tests.sources import HOUSES

PAGE, README = DOCS / "gateway-client.md", GATEWAY_CLIENT.parent / "README.md"
PROGRAMS = programs_of(PAGE)

Run: TypeAlias = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
async def harness(clock: Clock) -> AsyncIterator[Harness]:
    async with open_harness(clock) as harness:
        yield harness


@pytest.fixture
def environment(harness: Harness) -> dict[str, str]:
    return environment_of(harness)


@pytest.fixture
def runner(tmp_path: Path, environment: dict[str, str]) -> Runner:
    write_programs(PROGRAMS, tmp_path)
    return Runner(tmp_path, environment)


@pytest.fixture
def run(runner: Runner) -> Run:
    return runner.run


def kept(folder: Path) -> list[Path]:
    """What the receiver of notifications has kept."""
    return list(folder.glob("*.txt"))


def test_the_page_has_the_five_programs_and_tells_every_variable() -> None:
    assert list(PROGRAMS) == ["hosted_payment.py", "capture.py", "refund.py", "register.py", "notifications.py"]
    assert {row[0] for row in rows(prose(PAGE))} >= {"`GATEWAY_BASE_URL`", "`GATEWAY_POS_ID`"}
    told = {name for row in rows(prose(PAGE)) for name in backticked(row[0]) if name.startswith("GATEWAY_")}
    code = (GATEWAY_CLIENT / "credentials.py").read_text()
    assert {name.removeprefix("GATEWAY_").lower() for name in told} == {
        "pos_id", "api_key", "api_secret", "endpoints_key", "base_url", "scheme_word", "balances_url", "register_url",
    }  # fmt: skip
    assert all(name in code for name in told)


async def test_a_payment_is_reserved_taken_in_part_and_given_back(run: Run, harness: Harness) -> None:
    code, said = await run("hosted_payment.py", "order1", "100.00")
    assert (code, said.startswith(f"pay at {harness.url}/api/v1/checkout/")) == (0, True), said
    paid = await harness.control.pay("order1")
    assert (paid.method, paid.currency, paid.amount) == ("auth", "UAH", Decimal(100))

    assert await run("capture.py", "order1", "70.00") == (0, "success: 70.00 UAH")
    assert await run("refund.py", "order1", "20.50") == (0, "success: 20.50 UAH given back")
    code, said = await run("refund.py", "order1", "100")
    assert code == 1
    assert "order order1" in said


async def test_a_lost_answer_is_looked_up_and_nothing_is_asked_twice(run: Run, harness: Harness) -> None:
    await run("hosted_payment.py", "order1", "100.00")
    await harness.control.pay("order1")
    await harness.control.fault(FaultRule(path="/api/v1/capture", moment="after", effect="drop"))
    assert await run("capture.py", "order1", "70.00") == (0, "success: 70.00 UAH")
    await harness.control.fault(FaultRule(path="/api/v1/refund", moment="before", effect="drop"))
    assert await run("refund.py", "order1") == (0, "not known yet: look again in a minute, and do not ask again")
    assert [record[0] for record in await harness.merchant.records("order1")] == [Method.AUTH, Method.CAPTURE]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("order 17" * 5, "10.001"), ["amount: at most 2 decimals", "order_id: at most 32 characters"]),
        (("order1", "0"), ["amount: above zero"]),
    ],
)
async def test_what_cannot_be_asked_is_told_at_once(run: Run, words: tuple[str, ...], told: list[str]) -> None:
    code, said = await run("hosted_payment.py", *words)
    assert code == 1
    assert [rule.split(";")[0] for rule in said.split(" | ")] == told


async def test_keys_that_are_missing_are_told_at_once(run: Run, environment: dict[str, str]) -> None:
    del environment["GATEWAY_API_KEY"], environment["GATEWAY_POS_ID"]
    code, said = await run("hosted_payment.py", "order1", "1.00")
    assert (code, said) == (
        1,
        "GATEWAY_POS_ID: is required; given: nothing | GATEWAY_API_KEY: is required; given: nothing",
    )


async def test_a_months_register_becomes_a_table(run: Run, harness: Harness, tmp_path: Path) -> None:
    for number in range(3):
        await harness.merchant.pay_direct(f"order{number}", "10.00")
    month = f"{harness.clock():%Y-%m}"
    assert await run("register.py", month, "november.csv") == (0, "3 lines")
    with (tmp_path / "november.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert sorted(row["order_id"] for row in table) == ["order0", "order1", "order2"]
    assert {(row["amount"], row["status"], row["currency"]) for row in table} == {("10.00", Status.SUCCESS, "UAH")}


async def test_notifications_are_verified_and_kept_once(harness: Harness, runner: Runner, tmp_path: Path) -> None:
    receiver = await runner.start("notifications.py", "0", str(tmp_path))
    port = int((await read_line(receiver)).rpartition(" ")[2])
    address = f"http://127.0.0.1:{port}/gateway"
    _, silent = await asyncio.open_connection("127.0.0.1", port)  # and says nothing: that holds nobody up
    try:
        await harness.merchant.pay_direct("order1", "12.00", server_url=address)
        await harness.quiet()
        heard = [await read_line(receiver) for _ in range(2)]
        assert heard == ["order1 purchase pending 12.00 UAH", "order1 purchase success 12.00 UAH"]
        await harness.merchant.look("order1", "purchase", callback="true")
        await harness.quiet()
        assert len(kept(tmp_path)) == 2

        forged = b"data=eyJhbW91bnQiOiAxfQ&signature=AAAAAAAAAAAAAAAAAAAAAAAAAAA="
        form = {"content-type": "application/x-www-form-urlencoded"}
        assert (await harness.merchant.http.post(address, content=forged, headers=form)).status_code == 401
        assert (await harness.merchant.http.post(address, content=b"hello", headers=form)).status_code == 400
        assert len(kept(tmp_path)) == 2
    finally:
        silent.close()
        receiver.terminate()
        await receiver.communicate()


async def test_notification_that_was_not_written_is_kept_when_it_comes_again(
    harness: Harness, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the first delivery: a part of it must not count as the whole, which is then never stored."""
    await harness.merchant.pay_direct("order1", "12.00")
    await harness.quiet()
    form = harness.shop.raw[0]
    write_programs(PROGRAMS, tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["notifications.py", "0", str(tmp_path)])
    receiver = runpy.run_path(str(tmp_path / "notifications.py"))["Receiver"]

    def write_a_part(file: Path, text: str, encoding: str) -> int:
        file.write_bytes(text[:10].encode(encoding))
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_text", write_a_part)
        with pytest.raises(OSError, match="No space left"):
            receiver.answer(None, form)
    assert receiver.answer(None, form) == 200
    (whole,) = kept(tmp_path)
    assert whole.read_text() == parse_qs(form.decode())["data"][0]


async def test_a_body_of_less_than_nothing_keeps_no_notification_waiting(runner: Runner, tmp_path: Path) -> None:
    """Read to its end, which never comes, it would."""
    receiver = await runner.start("notifications.py", "0", str(tmp_path))
    try:
        port = int((await read_line(receiver)).rpartition(" ")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer):
            writer.write(b"POST /gateway HTTP/1.0\r\nContent-Length: -1\r\n\r\n")
            async with asyncio.timeout(10):
                assert b" 413 " in await reader.readline()
    finally:
        receiver.terminate()
        await receiver.communicate()


@pytest.mark.long
def test_type_checkers_have_nothing_to_say_of_the_programs(tmp_path: Path) -> None:
    """As in somebody's own project: the client is a library in their environment, and mypy knows no plugin of it."""
    own = tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True, timeout=LONGEST_WAIT)
    [libraries] = own.glob("lib/python*/site-packages")
    places = [*{house.parent for house in HOUSES}, *{Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}]
    (libraries / "libraries.pth").write_text("\n".join(map(str, places)))
    programs = write_programs(PROGRAMS | programs_of(README), tmp_path)
    wrong = tmp_path / "wrong.py"
    wrong.write_text('from gateway_client import Refund, Wrong\n\nRefund(order_id=17, order_currency="UAH")\n')

    def mypy(*files: Path) -> subprocess.CompletedProcess[str]:
        options = [
            "--strict",
            "--python-executable",
            str(own / "bin" / "python"),
            "--cache-dir",
            str(tmp_path / "mypy"),
        ]
        return subprocess.run(
            [sys.executable, "-m", "mypy", *options, *map(str, files)],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LONGEST_WAIT,
        )  # fmt: skip

    assert mypy(*programs).stdout == f"Success: no issues found in {len(programs)} source files\n"
    # It does look: what is not there, and what is of another type, is found.
    said = mypy(wrong)
    assert 'has no attribute "Wrong"' in said.stdout
    assert "[arg-type]" in said.stdout
