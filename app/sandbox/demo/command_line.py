"""What an operator types: the app's own command line, with secrets in the environment."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that has ended."""

    name: str
    status: int
    output: str
    complaints: str

    def json(self) -> Any:
        """What a command with ``--json`` wrote. Raises ValueError."""
        return json.loads(self.output)


async def type_command(environment: Mapping[str, str], *words: str) -> Typed:
    """Run ``saleor-gateway`` with these words and wait for its end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app.cli", *words),
        env=dict(environment),
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
    return Typed(
        name=" ".join(["saleor-gateway", *words[:2]]),
        status=process.returncode or 0,
        output=output.decode(),
        complaints=complaints.decode(),
    )
