"""``python -m tests.fork_server SOCKET``: runs commands of the app, each in a process of its own, without start-up
time.

Everything is imported once, and each process is a fork: a start costs a hundredth of the usual. All processes of a test
run share one server. tests/commands show that a terminal starts them too.

Reads one line of JSON from each connection (``Asked``), answers with the number of the new process, and with the status
in which it has ended once it has.
"""

import asyncio
import fcntl
import gc
import io
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import httpcore2

from integration_base_tests.waiting import LONGEST_WAIT
from tests.memory import folder_in_memory

COMMAND_LINE = "app.cli:main"


@dataclass(frozen=True)
class StartRequest:
    """The function (``module:name``) to run as a process, and its environment.

    Its output is appended to the files ``out`` and ``err``. It has no input.
    """

    target: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    out: str
    err: str

    def run(self) -> None:
        """Run the function in this process, until it ends."""
        status = 1
        try:
            os.setsid()
            os.chdir(self.folder)
            for path, flags, standard in (
                (os.devnull, os.O_RDONLY, 0),
                (self.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 1),
                (self.err, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 2),
            ):
                os.dup2(os.open(path, flags, 0o600), standard)
            os.environ.clear()
            os.environ.update(self.environment)
            sys.argv = ["saleor-gateway", *self.words]
            _function(self.target)()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001 - as an interpreter does, which ends then
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


def _function(place: str) -> Callable[[], None]:
    module, _, name = place.partition(":")
    function: Callable[[], None] = getattr(import_module(module), name)
    return function


class _RequestHandler(socketserver.StreamRequestHandler):
    """Starts a process and waits for its end; in a process of its own, so that the next request can be handled."""

    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        child = os.fork()
        if not child:
            self.server.server_close()
            self.request.close()
            StartRequest(**asked).run()
        self.wfile.write(f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        with suppress(BrokenPipeError):  # nobody wants to know
            self.wfile.write(f"{os.waitstatus_to_exitcode(status)}\n".encode())


class _Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Runs as long as any process holds a lock on the file ``users`` beside its socket."""

    def service_actions(self) -> None:
        super().service_actions()
        path = Path(str(self.server_address))
        with (path.parent / "users").open() as users, suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in ("socket", "started"):  # whoever comes from now on starts another one
                (path.parent / name).unlink(missing_ok=True)
            sys.exit()


async def _warm_up() -> None:
    """Open and close an app, so that all forks inherit what it has imported, compiled and read."""
    from app.main import create_app
    from app.settings import Settings
    from app.store.migrate import migrate

    with folder_in_memory() as folder:
        settings = Settings(data_dir=folder, database_url=f"sqlite:///{folder / 'payments.sqlite'}", worker=False)
        await migrate(settings.database)
        app = create_app(settings)
        async with app.router.lifespan_context(app):
            pass


def _import_everything() -> None:
    from app.cli import COMMANDS
    from app.commands.deferred import Group

    for entry in COMMANDS.values():
        for command in entry.commands.values() if isinstance(entry, Group) else [entry]:
            import_module(command.module)
    import_module("tests.journeys.crashing_app")
    httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)  # 20 ms for each client, and all speak plainly
    for client in ("gateway_client.sandbox.tls", "saleor_app_sdk.testing.client"):
        import_module(client).shared_ssl_context()
    with redirect_stdout(io.StringIO()):
        asyncio.run(_warm_up())
    gc.collect()
    gc.freeze()


@dataclass
class ForkedProcess:
    """A process that the server has forked, with the interface that ``ServerProcess`` needs."""

    pid: int
    _connection: socket.socket = field(repr=False)
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return its status once it has ended; of one that was killed, the signal's number below zero."""
        return self._ended(within=0)

    def _ended(self, within: float | None) -> int | None:
        if self.returncode is None:
            self._connection.settimeout(within)
            try:
                self.returncode = int(_line(self._connection))
            except (TimeoutError, BlockingIOError):
                return None
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = LONGEST_WAIT) -> int:
        """Wait for its end, and return its status. Raises TimeoutExpired."""
        if (status := self._ended(timeout)) is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return status


class ForkServer:
    """The process from which those of one test process are forked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started: list[ForkedProcess] = []

    def start(
        self,
        *words: str,
        environment: Mapping[str, str],
        out: Path,
        err: Path | None = None,
        folder: Path | None = None,
        target: str = COMMAND_LINE,
    ) -> ForkedProcess:
        """Start ``saleor-gateway words``, or another function without arguments, in that environment and no other."""
        place, errors = str(folder or Path.cwd()), str(err or out)
        asked = StartRequest(target, words, dict(environment), place, str(out), errors)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self._path))
        connection.sendall(json.dumps(asdict(asked)).encode() + b"\n")
        self._started.append(forked := ForkedProcess(int(_line(connection)), connection))
        return forked

    async def run(
        self, *words: str, environment: Mapping[str, str], folder: Path | None = None
    ) -> tuple[int, str, str]:
        """Run ``saleor-gateway words`` to its end; return its status, its output and its errors."""
        with folder_in_memory() as said:
            out, err = said / "out", said / "err"
            process = self.start(*words, environment=environment, out=out, err=err, folder=folder)
            status = await asyncio.to_thread(process.wait)
            return status, out.read_text(), err.read_text()

    def end(self) -> None:
        """Kill the processes that have not ended."""
        for forked_process in self._started:
            forked_process.kill()


def _line(connection: socket.socket) -> bytes:
    """Read one line, and nothing beyond it."""
    line = b""
    while not line.endswith(b"\n") and (piece := connection.recv(1)):
        line += piece
    return line


@contextmanager
def open_fork_server(folder: Path) -> Iterator[ForkServer]:
    """Use the server of that folder, which runs as long as it is used; kill at the end the processes started here."""
    path = folder / "socket"
    with (folder / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        ours = None
        with suppress(FileExistsError):  # another process of the tests has started it, or is starting it
            (folder / "started").touch(exist_ok=False)
            command = [sys.executable, "-m", "tests.fork_server", str(path)]
            ours = os.posix_spawn(command[0], command, os.environ)
        while not path.exists():
            assert ours is None or os.waitpid(ours, os.WNOHANG) == (0, 0), "the fork server has ended"
            time.sleep(0.01)
        server = ForkServer(path)
        yield server
        server.end()


def main() -> None:
    """Serve until no process uses the server any more."""
    _import_everything()
    path = Path(sys.argv[1])
    with _Server(str(path.with_suffix(".begun")), _RequestHandler) as server:
        path.with_suffix(".begun").rename(path)  # it is there once it listens
        server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
