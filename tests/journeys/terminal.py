"""An operator's terminal beside the running app: each command a process of its own."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.fork_server import ForkedProcess, ForkServer
from tests.journeys.stack import PATIENCE, Stack


@dataclass(frozen=True)
class Terminal:
    """Runs commands with the app's settings, and its processes' patience, in their environment."""

    shop: Stack
    fork_server: ForkServer

    @property
    def _environment(self) -> dict[str, str]:
        settings = self.shop.settings
        return {
            **PATIENCE,
            "APP_DATA_DIR": str(settings.data_dir),
            "APP_DATABASE_URL": str(settings.database_url),
            "APP_BASE_URL": self.shop.app.url,
        }

    async def type(self, *words: str) -> Any:
        """Run a command; return its JSON output."""
        _, out, err = await self.fork_server.run(*words, "--json", environment=self._environment)
        assert out, err
        return json.loads(out, parse_float=Decimal)

    def begin(self, *words: str) -> ForkedProcess:
        """Start a command without waiting for its output."""
        return self.fork_server.start(*words, environment=self._environment, out=Path("/dev/null"))
