"""Measures the first load of the app's pages: requests, bytes, time to content, and layout shift.

The demo is played on loopback, then Chromium opens pages, each time with an empty cache, and once more with its cache.
As over a mobile network each trip takes 100 ms and 1.5 MB come in a second: on loopback alone a trip that waits for
another would not show. Requests and bytes (compressed, with headers) are those to the app; time is from the navigation
of the app's own frame to the first paint, and to the page's main content; the shift is the web vitals' sum. All are
medians.

    python -m bench.first_load [--times 5] [--beside FOLDER] [--json]

``--beside`` measures another checkout of the app in the same way, alternating with this one, and prints the ratios.
"""

import argparse
import asyncio
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Browser, BrowserContext, Frame, Request, async_playwright
from rich.console import Console

from app.demo.stack import Stack
from app.demo.story import Demo
from app.demo.timeline import Output
from gateway_client.sandbox.settings import PointOfSale

HERE = Path(__file__).resolve()
LATENCY = 100  # milliseconds
THROUGHPUT = 1_500_000  # bytes a second
TURNS = 3
SETTLED = 800  # milliseconds without anything to do after the content has come
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
# When what the page is about has been painted, and all that moved.
_WATCH = """() => {
  window.seen = { shift: 0, content: null };
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) seen.shift += each.value;
  }).observe({ type: "layout-shift", buffered: true });
  const look = () => {
    if (document.querySelector("main:not([aria-busy]) h1")) seen.content = performance.now();
    else requestAnimationFrame(look);
  };
  look();
}"""
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


@dataclass(frozen=True)
class Load:
    """One load of a page: requests and bytes of the app, milliseconds, layout shift."""

    requests: float
    bytes: float
    paint: float
    content: float
    shift: float


def medians(loads: Sequence[Load]) -> Load:
    """Return the median of each figure."""
    return Load(*(statistics.median(values) for values in zip(*(asdict(load).values() for load in loads), strict=True)))


async def _load(context: BrowserContext, address: str, app: str) -> Load:
    page = await context.new_page()
    devtools = await context.new_cdp_session(page)
    await devtools.send("Network.enable")
    conditions: dict[str, Any] = {"offline": False, "latency": LATENCY, "uploadThroughput": THROUGHPUT}
    await devtools.send("Network.emulateNetworkConditions", conditions | {"downloadThroughput": THROUGHPUT})
    done: list[Request] = []
    page.on("requestfinished", lambda request: done.append(request) if request.url.startswith(app) else None)
    await page.add_init_script(f"({_WATCH})()")
    await page.goto(address, wait_until="load")
    frame = await _frame_of(page.frames, app, page.main_frame)
    await frame.wait_for_function("window.seen?.content !== null", timeout=30_000)
    await page.wait_for_timeout(SETTLED)
    sizes = [await request.sizes() for request in done]
    told = await frame.evaluate("seen")
    painted = await frame.evaluate(_PAINTED)
    from_network = [size for size in sizes if size["responseHeadersSize"] + size["responseBodySize"] > 0]
    await page.close()
    return Load(
        requests=len(from_network),
        bytes=sum(
            typed_dict_type["responseHeadersSize"] + typed_dict_type["responseBodySize"]
            for typed_dict_type in from_network
        ),
        paint=painted or told["content"],
        content=told["content"],
        shift=told["shift"],
    )


async def _frame_of(frames: Sequence[Frame], app: str, main: Frame) -> Frame:
    return next((frame for frame in frames if frame.url.startswith(app)), main)


async def _measure_page(browser: Browser, address: str, app: str, times: int) -> dict[str, Load]:
    first, again = [], []
    for _ in range(times):
        context = await browser.new_context(viewport={"width": 1180, "height": 860})
        first.append(await _load(context, address, app))
        again.append(await _load(context, address, app))
        await context.close()
    return {"first": medians(first), "again": medians(again)}


async def measure(times: int) -> dict[str, dict[str, Load]]:
    """Play the demo of the imported checkout, and load each page ``times`` times."""
    output = Output(Console(file=io.StringIO()))
    with tempfile.TemporaryDirectory(prefix="first-load-") as folder:
        stack = Stack(Path(folder), output, PointOfSale().api_secret, free_ports=True)
        demo = Demo(stack, output)
        async with stack, demo.http, async_playwright() as playwright:
            if not await demo.play():
                raise SystemExit("the demo went wrong: saleor-gateway demo --once says how")
            (installed,) = await stack.saleor.apps()
            order_id = demo.return_page.rpartition("/")[2]
            in_dashboard = f"{stack.saleor.dashboard_url}extensions/app/{quote(installed.id)}"
            pages = {
                "list of payments": f"{in_dashboard}/payments",
                "payment": f"{in_dashboard}/payments/{order_id}",
                "setting up": f"{in_dashboard}/set-up",
                "shopper's return": demo.return_page,
            }
            program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
            browser = await playwright.chromium.launch(executable_path=program, args=list(FLAGS))
            app = stack.urls["app"]
            found = {name: await _measure_page(browser, address, app, times) for name, address in pages.items()}
            await browser.close()
    return found


def _run_checkout(folder: Path, times: int) -> dict[str, dict[str, Load]]:
    """Let the checkout in that folder measure itself with this file."""
    command = [sys.executable, "-P", str(HERE), "--json", "--times", str(times)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [folder, *folder.glob("packages/*")]))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    told = json.loads(done.stdout.splitlines()[-1])
    return {page: {when: Load(**load) for when, load in loads.items()} for page, loads in told.items()}


def measure_alternating(folders: Sequence[Path], times: int) -> list[dict[str, dict[str, Load]]]:
    """Measure each checkout in turn, several times, and return the medians of each."""
    told: list[list[dict[str, dict[str, Load]]]] = [[] for _ in folders]
    for _ in range(TURNS):
        for number, folder in enumerate(folders):
            told[number].append(_run_checkout(folder, times))
    return [
        {page: {when: medians([turn[page][when] for turn in turns]) for when in turns[0][page]} for page in turns[0]}
        for turns in told
    ]


def table(now: dict[str, dict[str, Load]], before: dict[str, dict[str, Load]] | None) -> str:
    """Return the figures, with the earlier ones and the ratio beside them."""
    lines = ["page, load | requests | kB | first paint, ms | content, ms | layout shift"]
    for page, loads in now.items():
        for when, load in loads.items():
            old = before[page][when] if before else None
            cells = [
                _cell(load.requests, old.requests if old else None),
                _cell(load.bytes / 1000, old.bytes / 1000 if old else None, "%.1f"),
                _cell(load.paint, old.paint if old else None),
                _cell(load.content, old.content if old else None),
                f"{old.shift:.3f} → {load.shift:.3f}" if old else f"{load.shift:.3f}",
            ]
            lines.append(" | ".join([f"{page}, {when}", *cells]))
    return "\n".join(lines)


def _cell(now: float, before: float | None, style: str = "%.0f") -> str:
    if before is None:
        return style % now
    ratio = f" ({now / before:.2f})" if before else ""
    return f"{style % before} → {style % now}{ratio}"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="The first load of the app's pages.")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--beside", type=Path, help="another checkout, measured by turns with this one")
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args()
    if said.companion is not None:
        before, now = measure_alternating([said.companion.resolve(), HERE.parent.parent], said.times)
    else:
        before, now = None, asyncio.run(measure(said.times))
    if said.json:
        figures = {page: {when: asdict(load) for when, load in loads.items()} for page, loads in now.items()}
        print(json.dumps(figures))
    else:
        print(table(now, before))


if __name__ == "__main__":
    main()
