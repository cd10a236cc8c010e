"""The processes of a demo: started apart from the terminal, waited for, and ended without leaving one behind."""

import asyncio
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2

_STARTING_TAKES_AT_MOST = 60.0
_ENDING_TAKES_AT_MOST = 10.0
_BETWEEN_LOOKS = 0.05


class NotStartedError(Exception):
    """A process ended by itself, or does not answer. The message says which."""


@dataclass
class Resident:
    """A process that serves at ``url``. What it writes goes to the file ``log``."""

    name: str
    arguments: Sequence[str]
    url: str
    health: str
    log: Path
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it, and wait until it answers. Raises NotStartedError."""
        self._spawn()
        try:
            async with asyncio.timeout(_STARTING_TAKES_AT_MOST):
                await self._until_it_answers()
        except TimeoutError:
            raise NotStartedError(f"{self.name} does not answer at {self.url}") from None

    def _spawn(self) -> None:
        """Not a moment passes between the start and the note of it: who is interrupted there leaves no orphan."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and modules
                [sys.executable, "-m", *self.arguments],
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # In a session of its own: Ctrl-C reaches the demo alone, which ends its processes in good order.
                start_new_session=True,
            )

    async def _until_it_answers(self) -> None:
        async with httpx2.AsyncClient(trust_env=False, timeout=2) as http:
            while True:
                if self.ended:
                    raise NotStartedError(f"{self.name} ended by itself")
                try:
                    if (await http.get(self.url + self.health)).is_success:
                        return
                except httpx2.TransportError:
                    pass  # not yet
                await asyncio.sleep(_BETWEEN_LOOKS)

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process is not None and self.process.poll() is not None

    async def stop(self) -> None:
        """Ask it to end; insist after a while."""
        if self.process is None or self.ended:
            return
        self.process.terminate()
        try:
            await asyncio.to_thread(self.process.wait, _ENDING_TAKES_AT_MOST)
        except subprocess.TimeoutExpired:
            self.process.kill()
            await asyncio.to_thread(self.process.wait)

    def last_words(self, most: int = 12) -> tuple[str, ...]:
        """The last lines that it wrote."""
        if not self.log.exists():
            return ()
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            return tuple(line.rstrip() for line in deque(lines, maxlen=most))
