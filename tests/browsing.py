"""A real server and a real browser, for tests of pages."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Literal

import uvicorn
from playwright.async_api import Browser, async_playwright
from starlette.types import ASGIApp

from tests.conftest import missing

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
_FLAGS = [
    "--no-sandbox",  # containers run tests as root, for which Chromium has no sandbox
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@asynccontextmanager
async def serving(app: ASGIApp, port: int = 0, *, lifespan: Literal["on", "off"] = "off") -> AsyncIterator[str]:
    """Serve `app` on this machine, on a free port if none is named; gives its address without a slash at the end.

    ``lifespan``: whether the server starts and ends what the app opens, as in production; else the test does.
    """
    with closing(socket.create_server(("127.0.0.1", port))) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan=lifespan, ws="none"))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            # The socket listens already: a request sent before the server is up waits in its queue.
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A headless Chromium. The test is skipped (in CI: fails) when there is none."""
    if shutil.which(CHROMIUM) is None:
        missing(f"Chromium ({CHROMIUM})")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        try:
            yield browser
        finally:
            await browser.close()
