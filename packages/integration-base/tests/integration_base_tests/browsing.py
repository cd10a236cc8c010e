"""A real browser, for tests of pages."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright, expect

from integration_base_tests.waiting import LONGEST_WAIT

# Debian's small Chromium has the same engine without the windows, and runs tests of pages in half the time.
_PROGRAMS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(shutil.which, _PROGRAMS), _PROGRAMS[-1])
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
async def chromium() -> AsyncIterator[Browser]:
    """Start a headless Chromium. Raises FileNotFoundError when there is none."""
    if shutil.which(CHROMIUM) is None:
        raise FileNotFoundError(f"Chromium ({CHROMIUM})")
    expect.set_options(timeout=LONGEST_WAIT * 1000)  # instead of 5 s
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        try:
            yield browser
        finally:
            await browser.close()
