"""What ends a command from outside: it closes what it has open, and says that it was interrupted."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

import saleor_gateway
from app.commands.failure import CommandFailed
from app.commands.interruption import run_until_interrupted

PATIENCE = 2  # seconds: waited for only if a signal does nothing


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def be_sent(number: signal.Signals, closed: list[str]) -> str:
    try:
        os.kill(os.getpid(), number)
        for _ in range(100):
            await asyncio.sleep(0)
        if signal.getsignal(number) is not signal.SIG_IGN:
            await asyncio.sleep(PATIENCE)
        return "done"
    finally:
        closed.append("the file with shoppers in it")


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_closes_what_is_open_and_is_said(number: signal.Signals, status: int) -> None:
    """A command that was told to end left its temporary files, and did not say that what it did may be done."""
    closed: list[str] = []
    with pytest.raises(CommandFailed, match="interrupted: look first") as caught:
        run_until_interrupted(be_sent(number, closed), then="look first")
    assert (caught.value.exit_code, len(closed)) == (status, 1)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "what follows is ended as ever"


@pytest.mark.usefixtures("_as_it_was")
def test_what_outlives_its_terminal_is_not_interrupted() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    assert run_until_interrupted(be_sent(signal.SIGHUP, [])) == "done"


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_command_in_the_background_of_a_script_can_be_told_to_stop(number: signal.Signals, status: int) -> None:
    """A shell without job control lets it ignore Ctrl+C, which is meant for others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    closed: list[str] = []
    with pytest.raises(CommandFailed) as caught:
        run_until_interrupted(be_sent(number, closed))
    assert (caught.value.exit_code, len(closed)) == (status, 1)


def test_a_command_that_is_interrupted_while_it_is_imported_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def press() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(saleor_gateway, "find_fault", press)
    with pytest.raises(SystemExit) as ended:
        saleor_gateway.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "error: interrupted: nothing was done\n"
