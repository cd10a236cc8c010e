"""The programs in the client's README run as they stand there, and it names nothing that there is not."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import gateway_client
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.settings import DEFAULT_PORT, PointOfSale
from gateway_client_tests.sandbox.harness import NO_MONEY, Harness, environment_of, open_harness
from integration_base_tests.clock import Clock
from integration_base_tests.pages import backticked, prose, rows
from integration_base_tests.places import GATEWAY_CLIENT
from integration_base_tests.programs import Runner, programs_of, read_line, write_programs

README = GATEWAY_CLIENT.parent / "README.md"
PROGRAMS = programs_of(README)


@pytest.fixture
async def harness(clock: Clock) -> AsyncIterator[Harness]:
    async with open_harness(clock) as harness:
        yield harness


@pytest.fixture
def runner(tmp_path: Path, harness: Harness) -> Runner:
    write_programs(PROGRAMS, tmp_path)
    return Runner(tmp_path, environment_of(harness))


def test_it_has_three_programs_and_a_sandbox() -> None:
    assert list(PROGRAMS) == ["pay.py", "webhooks.py", "refund_and_register.py", "sandbox.py"]


async def test_a_program_runs_a_sandbox(runner: Runner) -> None:
    code, said = await runner.run("sandbox.py")
    assert (code, said.startswith("a gateway on http://127.0.0.1:")) == (0, True), said


def test_its_table_names_every_error_that_the_client_raises() -> None:
    named = {name for row in rows(prose(README)) for name in backticked(row[0]) if name.endswith("Error")}
    errors = {name for name in gateway_client.__all__ if name.endswith("Error")}
    bases = {"GatewayError", "NotificationError"}
    assert named == errors - bases - {"SignedButUnreadableError"}


def test_the_sandbox_starts_with_what_it_says() -> None:
    exported = dict(re.findall(r"(GATEWAY_\w+)=(\S+)", README.read_text(encoding="utf-8")))
    standard = PointOfSale()
    assert exported == {
        "GATEWAY_BASE_URL": f"http://127.0.0.1:{DEFAULT_PORT}",
        "GATEWAY_POS_ID": str(standard.pos_id),
        "GATEWAY_API_KEY": standard.api_key,
        "GATEWAY_API_SECRET": standard.api_secret.get_secret_value(),
        "GATEWAY_ENDPOINTS_KEY": standard.endpoints_key.get_secret_value(),
    }


@pytest.mark.parametrize(
    ("card", "end"), [("4242424242424242", "success: 100.00 UAH"), (NO_MONEY, "declined: Insufficient funds.")]
)
async def test_a_payment_is_taken_and_its_end_is_waited_for(
    runner: Runner, harness: Harness, card: str, end: str
) -> None:
    # The first look-up is lost, and changes nothing.
    await harness.control.fault(FaultRule(path="/api/v1/pos/*/orders/*", effect="drop", times=1))
    program = await runner.start("pay.py", "order1", "100.00")
    assert (await read_line(program)).startswith(f"pay at {harness.url}/api/v1/checkout/")
    await harness.control.pay("order1", card=card)
    out, error = await program.communicate()
    assert (out.decode().strip(), error, program.returncode) == (end, b"", 0)


async def test_a_webhook_is_verified_and_read_once(runner: Runner, harness: Harness) -> None:
    receiver = await runner.start("webhooks.py", "0")
    port = (await read_line(receiver)).rpartition(" ")[2]
    address = f"http://127.0.0.1:{port}/gateway"
    try:
        await harness.merchant.pay_direct("order1", "12.00", server_url=address)
        await harness.quiet()
        await harness.merchant.look("order1", "purchase", callback="true")  # the last one once more
        await harness.quiet()
        form = {"content-type": "application/x-www-form-urlencoded"}
        for content, status in ((b"data=eyJhbW91bnQiOiAxfQ&signature=AAAAAAAAAAAAAAAAAAAAAAAAAAA=", 401), (b"", 400)):
            response = await harness.merchant.http.post(address, content=content, headers=form)
            assert response.status_code == status
    finally:
        receiver.terminate()
        out, _ = await receiver.communicate()
    assert out.decode().splitlines() == ["order1 purchase pending 12.00 UAH", "order1 purchase success 12.00 UAH"]


async def test_a_part_is_refunded_and_read_in_the_register(runner: Runner, harness: Harness) -> None:
    await harness.merchant.pay_direct("order1", "100.00")
    await harness.merchant.pay_direct("order2", "7.00")
    day = f"{harness.clock():%Y-%m-%d}"
    # The refund is carried out, and its response is lost.
    await harness.control.fault(FaultRule(path="/api/v1/refund", moment="after", effect="drop"))
    code, said = await runner.run("refund_and_register.py", "order1", "30.50", day)
    assert (code, said.splitlines()) == (
        0,
        ["success: 30.50 UAH refunded", "purchase success 100.00 UAH", "refund success 30.50 UAH"],
    )
    assert [record[0] for record in await harness.merchant.records("order1")] == ["purchase", "refund"]
