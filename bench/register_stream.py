"""Reads a register of a million lines line by line, and measures time and memory (from Linux's /proc).

python -m bench.register_stream [--lines 1000000]
"""

import argparse
import asyncio
import platform
import time
from contextlib import aclosing
from decimal import Decimal
from pathlib import Path

import httpx2

from bench.loopback import LINES, POS_ID, neighbour
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.models.reports import RegisterTicket, UnreadableLine

MARKS = (0.1, 0.5, 1.0)


def memory() -> str:
    """Return the current and the peak memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {
        name: int(rest.split()[0]) / 1024
        for name, _, rest in (line.partition(":") for line in lines)
        if rest.endswith("kB")
    }
    return f"{found['VmRSS']:.1f} MiB, peak {found['VmHWM']:.1f} MiB"


async def main(lines: int) -> None:
    """Read them, add the amounts up, print."""
    marks = {int(lines * mark): mark for mark in MARKS}
    with neighbour() as url:
        keys = Credentials(POS_ID, "key", "secret", "endpoints-key", url)
        async with httpx2.AsyncClient(trust_env=False) as http:
            client = GatewayClient(http, keys)
            ticket = RegisterTicket(report_id=f"{LINES}-{lines}", count=lines)
            print(f"{lines} lines, Python {platform.python_version()}; before: {memory()}")
            count, total, began = 0, Decimal(), time.perf_counter()
            async with aclosing(client.reports.fetch(ticket, patience=0, timeout=30)) as register:
                async for line in register:
                    assert not isinstance(line, UnreadableLine), line
                    count += 1
                    total += line.amount or 0
                    if count in marks:
                        took = time.perf_counter() - began
                        pace = f"{took:7.1f} s  {count / took:7.0f} lines/s"
                        print(f"{marks[count]:5.0%} {count:9} lines {pace}  {memory()}")
    assert total == lines * Decimal("0.10"), total  # a tenth, added up a million times
    print(f"sum of the amounts: {total}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    asyncio.run(main(parser.parse_args().lines))
