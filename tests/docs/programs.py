"""The programs on a page, run as anybody would: in another process, with the account in its environment."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import blocks
from tests.sandbox.harness import POS, Harness
from tests.sources import HOUSES


def programs_of(page: Path) -> dict[str, str]:
    """Return the code of each program on a page, by its file's name."""
    return {block.role: block.code for block in blocks("python", among=[page]) if block.role.endswith(".py")}


def environment_of(harness: Harness) -> dict[str, str]:
    """Return what a program finds in its environment: nothing but the account."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(str(house.parent) for house in HOUSES),
        "GATEWAY_BASE_URL": harness.url,
        "GATEWAY_POS_ID": str(POS.pos_id),
        "GATEWAY_API_KEY": POS.api_key,
        "GATEWAY_API_SECRET": POS.api_secret.get_secret_value(),
        "GATEWAY_ENDPOINTS_KEY": POS.endpoints_key.get_secret_value(),
    }


def write_programs(programs: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the programs into a folder; return their paths."""
    for name, code in programs.items():
        (folder / name).write_text(code, encoding="utf-8")
    return [folder / name for name in programs]


@dataclass(frozen=True)
class Runner:
    """Runs the programs that a folder holds."""

    folder: Path
    environment: Mapping[str, str]

    async def start(self, program: str, *words: str) -> asyncio.subprocess.Process:
        """Start a program."""
        command = [sys.executable, "-W", "error", program, *words]
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=pipe
        )

    async def run(self, program: str, *words: str) -> tuple[int, str]:
        """Run a program to its end; return its exit code and what it has said."""
        process = await self.start(program, *words)
        out, error = await process.communicate()
        return process.returncode or 0, (out or error).decode().strip()


async def read_line(process: asyncio.subprocess.Process) -> str:
    """Return the next line that a program says."""
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().rstrip("\n")
