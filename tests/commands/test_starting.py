"""The command line starts at once: help, version and completion import nothing of the app."""

import asyncio
import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.cli import COMMANDS
from app.commands.deferred import Command, Group
from integration_base_tests.waiting import LONGEST_WAIT
from tests.commands.conftest import clean_environment

# The app's own modules that take long to import bring these in, or would: a browser is for tests only.
HEAVY = {
    "alembic", "asyncio", "cryptography", "fastapi", "gql", "graphql", "httpx2", "jinja2", "playwright", "psycopg",
    "pydantic_settings", "sqlalchemy", "sqlmodel", "starlette", "structlog", "uvicorn",
}  # fmt: skip
OF_THE_APP = {"app.moved_names", "app", "app.cli", "app.errors", "integration_base.exact_json"}

# Prints what was imported when the program ends, whatever way it ends.
LISTING = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from app.cli import main
sys.argv = ["saleor-gateway", *sys.argv[1:]]
main()
"""

# What bash has in the environment when somebody presses Tab behind these words.
COMPLETING = {
    "_SALEOR_GATEWAY_COMPLETE": "complete_bash",
    "COMP_WORDS": "saleor-gateway payments re",
    "COMP_CWORD": "2",
}


async def imported(*words: str, **environment: str) -> tuple[int, str, set[str]]:
    """Run a command in a process; return its status, its output, and the names of all that it imported."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LISTING, *words),
        env=clean_environment(environment), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), set(err.decode().split())


@pytest.mark.parametrize(
    ("words", "environment", "status", "shown"),
    [
        (("--help",), {}, 0, "Serve the app"),
        (("--version",), {}, 0, "saleor-gateway "),
        ((), {}, 2, "Serve the app"),
        (("payments", "--help"), {}, 0, "Refund what was charged"),
        (("paymnts",), {}, 2, ""),
        ((), COMPLETING, 0, "refund"),
    ],
)
async def test_what_needs_nothing_of_the_app_imports_nothing_of_it(
    words: tuple[str, ...], environment: dict[str, str], status: int, shown: str
) -> None:
    ended, out, modules = await imported(*words, **environment)

    assert (ended, shown in out) == (status, True), out
    assert not HEAVY & modules
    own = {name for name in modules if name.partition(".")[0] == "app" and not name.startswith("app.commands")}
    assert own <= OF_THE_APP
    assert not {command.module for command in _all(COMMANDS).values()} & modules


async def test_a_command_imports_what_it_needs_and_no_other_command() -> None:
    """It shows as well that the test above would find what it looks for."""
    _, out, modules = await imported("migrate", "--help")
    assert "Migrate the database" in out
    assert {"sqlalchemy", "structlog"} <= modules
    assert not {"app.main", "app.web.dashboard.router", "fastapi", "gql", "uvicorn"} & modules
    commands = _all(COMMANDS)
    others = {command.module for command in commands.values()} - {commands["migrate",].module}
    assert not others & modules


async def test_a_command_about_accounts_imports_nothing_of_the_web() -> None:
    _, out, modules = await imported("accounts", "list", "--help")
    assert "accounts" in out
    assert {"app.bootstrap", "sqlmodel"} <= modules
    assert (
        not {"app.main", "app.web.dashboard.router", "app.web.shopper.router", "fastapi", "starlette", "jinja2"}
        & modules
    )


def test_every_command_is_where_it_is_said_to_be_and_is_called_what_it_says_itself() -> None:
    commands = _all(COMMANDS)
    assert len(commands) > 30
    for path, command in commands.items():
        words = " ".join((inspect.getdoc(command.load()) or "").split())
        assert words.startswith(command.summary.removesuffix(".")), path


def _all(commands: Mapping[str, Command | Group]) -> dict[tuple[str, ...], Command]:
    found: dict[tuple[str, ...], Command] = {}
    for name, entry in commands.items():
        if isinstance(entry, Group):
            found |= {(name, *path): command for path, command in _all(entry.commands).items()}
        else:
            found[name,] = entry
    return found


@pytest.fixture
def bash(tmp_path: Path) -> Mapping[str, str]:
    """A person's environment in which ``saleor-gateway`` can be typed."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "saleor-gateway"
    program.write_text(f"#!{sys.executable}\nfrom app.cli import main\nmain()\n")
    program.chmod(0o755)
    return clean_environment({"HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}"})


def _in_bash(environment: Mapping[str, str], script: str) -> list[str]:
    said = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT,
        check=False,
    )
    assert said.returncode == 0, said
    return said.stdout.splitlines()


# What bash does when somebody presses the key: it fills these variables and calls the function that is registered.
PRESS = """
COMP_WORDS=({words}); COMP_CWORD={last}
name=$(complete -p saleor-gateway | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$name" saleor-gateway
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("saleor-gateway", "mig"), {"migrate"}),
        (("saleor-gateway", "payments", "re"), {"refund", "resend"}),
        (("saleor-gateway", "accounts", "s"), {"set", "show", "split"}),
        (("saleor-gateway", "payments", "capture", "--am"), {"--amount"}),
        (("saleor-gateway", "payments", "settle", "--as", "suc"), {"success"}),
        (("saleor-gateway", "--vers"), {"--version"}),
    ],
)
def test_bash_completes_commands_options_and_values(
    bash: Mapping[str, str], typed: tuple[str, ...], offered: set[str]
) -> None:
    press = PRESS.format(words=" ".join(typed), last=len(typed) - 1)
    assert set(_in_bash(bash, f'eval "$(saleor-gateway --show-completion)"\n{press}')) == offered


def test_completion_is_installed_for_the_next_shell(bash: Mapping[str, str]) -> None:
    # A command alone is what bash becomes, and then no shell is found.
    (said, _) = _in_bash(bash, "saleor-gateway --install-completion; true")
    assert "bash completion installed in" in said
    press = PRESS.format(words="saleor-gateway mig", last=1)
    assert _in_bash(bash, f'source "$HOME/.bashrc"\n{press}') == ["migrate"]


@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(one, marks=pytest.mark.long) for one in ("latin-1", "koi8-u"))]
)
async def test_text_that_the_output_cannot_encode_is_written_escaped(encoding: str, tmp_path: Path) -> None:
    """A command has done its work when it prints: a stack trace would hide what it did."""
    ended, out, err = await _run_process("doctor", tmp_path, PYTHONIOENCODING=encoding)

    assert (ended, "Traceback" in err) == (1, False), err
    assert "\\u201c" in out


async def test_a_command_without_an_output_does_its_work(tmp_path: Path) -> None:
    """Some programs that start others close their standard output first."""
    ended, _, err = await _run_process("migrate", tmp_path, before="import os; os.close(1)")

    assert (ended, err) == (0, "")
    assert (tmp_path / "payments.sqlite").exists()


@pytest.mark.parametrize("umask", ["0o777", pytest.param("0o277", marks=pytest.mark.long), "0o022"])
async def test_what_a_command_makes_is_its_own_whatever_the_umask(umask: str, tmp_path: Path) -> None:
    """Such a umask made a data folder that the app itself could not use, with the advice to give it away."""
    data = tmp_path / "data"
    ended, _, err = await _run_process("migrate", data, before=f"import os; os.umask({umask})")

    assert (ended, err) == (0, "")
    assert [oct(made.stat().st_mode & 0o777) for made in (data, data / "payments.sqlite")] == ["0o700", "0o600"]


@pytest.mark.fault("disk-full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("word", ["migrate", "doctor --json", "--help", "--version"])
async def test_an_output_that_cannot_be_written_ends_a_command_in_words(
    word: str, unbuffered: str, tmp_path: Path
) -> None:
    """An export to a full disk must not look like a crash, nor a refund that was made like one that was not."""
    full = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
    ended, _, err = await _run_process(word, tmp_path, before=full, PYTHONUNBUFFERED=unbuffered)

    assert ended == 1
    assert err.startswith("error: the output cannot be written (No space left on device), so it is not whole;"), err
    assert err.count("\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
async def test_a_reader_that_wants_no_more_is_no_error(unbuffered: str, tmp_path: Path) -> None:
    nobody = "import os; pipe = os.pipe(); os.close(pipe[0]); os.dup2(pipe[1], 1)"
    ended, _, err = await _run_process("doctor --json", tmp_path, before=nobody, PYTHONUNBUFFERED=unbuffered)

    assert (ended, err) == (1, "")


@pytest.mark.parametrize("stream", [1, 2])
async def test_a_closed_stream_ends_no_command(stream: int, tmp_path: Path) -> None:
    """A command of a scheduler that closes standard error did nothing, and said nothing."""
    ended, out, err = await _run_process("migrate", tmp_path, before=f"import os; os.close({stream})")
    assert (ended, err) == (0, "")
    assert (tmp_path / "payments.sqlite").exists()
    assert bool(out) is (stream == 2)


async def test_a_question_to_nobody_is_no_stack_trace(tmp_path: Path) -> None:
    ended, _, err = await _run_process("payments list --by-email", tmp_path, before="import os; os.close(0)")
    assert (ended, err.count("\n")) == (2, 1), err
    assert err.startswith("error: ")


@pytest.mark.parametrize("columns", ["", "0"])
async def test_a_terminal_without_a_width_is_written_to(columns: str, tmp_path: Path) -> None:
    """Some terminals of containers have no columns at first: nothing was printed, not even why a command failed."""
    ended, _, err = await _run_process("payments show 1", tmp_path, COLUMNS=columns)
    assert ended == 2
    assert err.startswith("error: there is no database")


async def _run_process(words: str, folder: Path, *, before: str = "", **environment: str) -> tuple[int, str, str]:
    """Run a command in an interpreter of its own, which ``before`` starts; return its status, output and errors."""
    start = [sys.executable, "-c", "from app.cli import main; main()", *words.split()]
    if before:
        start = [sys.executable, "-c", f"{before}; os.execv({sys.executable!r}, {start!r})"]
    process = await asyncio.create_subprocess_exec(
        *start, env=clean_environment({"APP_DATA_DIR": str(folder), **environment}),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode or 0, out.decode("ascii", "replace"), err.decode()
