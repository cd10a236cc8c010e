"""Apps that are quickly started, and killed at the point that a test has armed (``mortal_app``)."""

from dataclasses import dataclass
from pathlib import Path

from app.sandbox.processes import Process, ServerProcess
from tests.fork_server import ForkServer
from tests.journeys.crash_points import Fate
from tests.journeys.mortal_app import FATE


@dataclass
class Mortal(ServerProcess):
    """The app as a process that meets its fate where ``fate`` is armed."""

    fork_server: ForkServer | None = None

    @property
    def fate(self) -> Fate:
        """Where its end is decided."""
        return Fate(self._folder / "fate")

    @property
    def _folder(self) -> Path:
        return self.log.parent

    def _spawn(self) -> Process:
        assert self.fork_server is not None
        environment = {**self.environment, FATE: str(self._folder / "fate")}
        return self.fork_server.start(target="tests.journeys.mortal_app:main", environment=environment, out=self.log)
