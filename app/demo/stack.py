"""The demo's processes: a Saleor, a gateway and the app as processes of their own, and a shop in this process."""

import asyncio
import os
import shlex
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import uvicorn
from pydantic import SecretStr

from app.demo.processes import HOST, ServerProcess, app_process, free_port, gateway_process, saleor_process
from app.demo.shop import Shop
from app.demo.timeline import Output, Timeline
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.server import listen, serving
from gateway_client.sandbox.settings import DEFAULT_PORT, PointOfSale
from saleor_app_sdk.testing.client import FakeSaleor

DEFAULT_PORTS = {"saleor": 8000, "gateway": DEFAULT_PORT, "app": 8100, "shop": 3000}
EXCLUDED_PREFIXES = ("APP_", "GATEWAY_", "SANDBOX_")  # settings of the user's own app; above all, never its database
SETTINGS = {
    "PYTHONUNBUFFERED": "1",
    "APP_ANSWER_WINDOW_SECONDS": "0.5",  # seconds until a response counts as read; a remote Saleor needs 25
}


class Stack:
    """The processes, with the app's ``data`` and the ``logs`` in an empty folder. Use ``async with``, then ``start``.

    ``api_secret`` is the secret that the operator enters for the merchant account; it may be wrong. ``dialect`` is what
    the gateway speaks (``settings.DIALECTS``).
    """

    def __init__(
        self, folder: Path, output: Output, api_secret: SecretStr, *, free_ports: bool, dialect: str = "public"
    ) -> None:
        ports = {name: free_port(0 if free_ports else port) for name, port in DEFAULT_PORTS.items()}
        self.urls = {name: f"http://{HOST}:{port}" for name, port in ports.items()}
        self.data = folder / "data"
        logs = folder / "logs"
        logs.mkdir()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(EXCLUDED_PREFIXES)}
        environment = {**inherited, **SETTINGS, "APP_DATA_DIR": str(self.data)}
        self.app = app_process(ports["app"], logs, environment)
        self.processes = (
            saleor_process(ports["saleor"], logs, environment),
            gateway_process(ports["gateway"], logs, environment, "--dialect", dialect),
            self.app,
        )
        keys = PointOfSale()
        self._operator_environment = {
            **self.app.environment,
            "GATEWAY_API_KEY": keys.api_key,
            "GATEWAY_API_SECRET": api_secret.get_secret_value(),
            "GATEWAY_ENDPOINTS_KEY": keys.endpoints_key.get_secret_value(),
        }
        self.saleor = FakeSaleor(self.urls["saleor"])
        self.gateway = SandboxControl(self.urls["gateway"])
        self.timeline = Timeline(self.saleor, self.gateway, output)
        self._shop_port = ports["shop"]
        self._exit_stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Return the stack; nothing runs yet."""
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Stop everything, whatever has happened."""
        await self._exit_stack.aclose()

    async def start(self) -> None:
        """Start all processes and the shop, and wait until they respond. Raises NotStartedError."""
        for stop in (*(process.stop for process in self.processes), self.saleor.close):
            self._exit_stack.push_async_callback(stop)
        await self._exit_stack.enter_async_context(self.gateway)
        await asyncio.gather(*(process.start() for process in self.processes))
        shop = Shop(self.urls["shop"], self.saleor, self.timeline, self.urls["app"]).application()
        config = uvicorn.Config(shop, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
        await self._exit_stack.enter_async_context(serving(config, listen(HOST, self._shop_port)))

    def find_ended_process(self) -> ServerProcess | None:
        """Return a process that has ended by itself; None when all are running."""
        return next((process for process in self.processes if process.has_ended), None)

    def command_line(self, *words: str) -> str:
        """Return a command of the app as a person can type it in another terminal, from whatever folder."""
        script = Path(sys.executable).with_name("saleor-gateway")
        program = [str(script)] if script.exists() else [sys.executable, "-m", "app.cli"]
        return f"APP_DATA_DIR={shlex.quote(str(self.data))} {shlex.join([*program, *words])}"

    async def run_command(self, *words: str) -> tuple[int, str, str]:
        """Run a command of the app, as its operator; return its exit status, standard output and standard error."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app.cli", *words),
            env=self._operator_environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            output, errors = await process.communicate()
        finally:
            if process.returncode is None:  # interrupted: kill the command, since its result is no longer needed
                process.kill()
                await process.wait()
        return process.returncode or 0, output.decode(), errors.decode()
