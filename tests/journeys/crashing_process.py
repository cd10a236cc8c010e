"""Apps that start quickly and are killed at the point that a test has armed (``crashing_app``)."""

from dataclasses import dataclass
from pathlib import Path

from app.demo.processes import Process, ServerProcess
from tests.fork_server import ForkServer
from tests.journeys.crash_points import CrashTrigger
from tests.journeys.crashing_app import FATE


@dataclass
class CrashingProcess(ServerProcess):
    """The app as a process that dies at the point that is armed in ``fate``."""

    fork_server: ForkServer | None = None

    @property
    def fate(self) -> CrashTrigger:
        """The trigger that ends the process."""
        return CrashTrigger(self._folder / "fate")

    @property
    def _folder(self) -> Path:
        return self.log.parent

    def _spawn(self) -> Process:
        assert self.fork_server is not None
        environment = {**self.environment, FATE: str(self._folder / "fate")}
        return self.fork_server.start(target="tests.journeys.crashing_app:main", environment=environment, out=self.log)
