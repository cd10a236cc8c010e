"""A Saleor, a gateway and the app as processes, and a shop beside them in this one: what the demo runs on."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import uvicorn
from pydantic import SecretStr

from app.saleor.testing.client import FakeSaleor
from app.sandbox.control.client import SandboxControl
from app.sandbox.processes import HOST, ServerProcess, app_process, free_port, gateway_process, saleor_process
from app.sandbox.server import listen, serving
from app.sandbox.settings import DEFAULT_PORT, PointOfSale
from app.sandbox.shop import Shop
from app.sandbox.timeline import Output, Timeline

USUAL_PORTS = {"saleor": 8000, "gateway": DEFAULT_PORT, "app": 8100, "shop": 3000}
NOT_OURS = ("APP_", "GATEWAY_", "SANDBOX_")  # what is set for the person's own app, least of all a database
SETTINGS = {
    "PYTHONUNBUFFERED": "1",
    "APP_ANSWER_WINDOW": "0.5",  # seconds; for a Saleor that is far away, 25 pass until an answer counts as read
}


class Stack:
    """Everything in an empty folder: the app's ``data`` and the ``logs``. Open it with ``async with``, then start it.

    ``api_secret`` is what the operator types for the merchant account; it may be wrong.
    """

    def __init__(self, folder: Path, output: Output, api_secret: SecretStr, *, free_ports: bool) -> None:
        ports = {name: free_port(0 if free_ports else port) for name, port in USUAL_PORTS.items()}
        self.urls = {name: f"http://{HOST}:{port}" for name, port in ports.items()}
        self.data = folder / "data"
        logs = folder / "logs"
        logs.mkdir()
        theirs = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
        environment = {**theirs, **SETTINGS, "APP_DATA_DIR": str(self.data)}
        self.app = app_process(ports["app"], logs, environment)
        self.processes = (
            saleor_process(ports["saleor"], logs, environment),
            gateway_process(ports["gateway"], logs, environment),
            self.app,
        )
        keys = PointOfSale()
        self._operator = {
            **self.app.environment,
            "GATEWAY_API_KEY": keys.api_key,
            "GATEWAY_API_SECRET": api_secret.get_secret_value(),
            "GATEWAY_ENDPOINTS_KEY": keys.endpoints_key.get_secret_value(),
        }
        self.saleor = FakeSaleor(self.urls["saleor"])
        self.gateway = SandboxControl(self.urls["gateway"])
        self.timeline = Timeline(self.saleor, self.gateway, output)
        self._shop_port = ports["shop"]
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Nothing runs yet."""
        return self

    async def __aexit__(self, *_error: object) -> None:
        """End everything, whatever has happened."""
        await self._opened.aclose()

    async def start(self) -> None:
        """Start everybody, and wait until they answer. Raises NotStartedError."""
        for end in (*(process.stop for process in self.processes), self.saleor.close):
            self._opened.push_async_callback(end)
        await self._opened.enter_async_context(self.gateway)
        await asyncio.gather(*(process.start() for process in self.processes))
        shop = Shop(self.urls["shop"], self.saleor, self.timeline, self.urls["app"]).application()
        config = uvicorn.Config(shop, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
        await self._opened.enter_async_context(serving(config, listen(HOST, self._shop_port)))

    def ended(self) -> ServerProcess | None:
        """A process that has ended by itself, if there is one."""
        return next((process for process in self.processes if process.ended), None)

    async def type(self, *words: str) -> tuple[int, str, str]:
        """Type a command of the app, as its operator; return its status, its output and its complaints."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app.cli", *words),
            env=self._operator,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            output, complaints = await process.communicate()
        finally:
            if process.returncode is None:  # interrupted: a command that nobody waits for is ended
                process.kill()
                await process.wait()
        return process.returncode or 0, output.decode(), complaints.decode()
