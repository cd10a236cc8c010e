"""The programs on a page, run as anybody would: in another process, with an environment of their own."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from integration_base_tests.pages import blocks
from integration_base_tests.places import PACKAGES, REPOSITORY


def programs_of(page: Path) -> dict[str, str]:
    """Return the code of each program on a page, by its file's name."""
    return {block.role: block.code for block in blocks("python", among=[page]) if block.role.endswith(".py")}


def python_environment() -> dict[str, str]:
    """Return the environment of a program that finds the packages and nothing else."""
    packages = (str(REPOSITORY / "packages" / name) for name in PACKAGES)
    return {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(packages)}


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
