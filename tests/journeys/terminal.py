"""An operator's terminal beside the running app: each command a process of its own."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.fork_server import Forked, ForkServer
from tests.journeys.stack import PATIENCE, Stack


@dataclass(frozen=True)
class Terminal:
    """Commands find the app's settings in their environment, and the patience of its processes."""

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
        """Type a command; return what it said as JSON."""
        _, out, err = await self.fork_server.run(*words, "--json", environment=self._environment)
        assert out, err
        return json.loads(out, parse_float=Decimal)

    def begin(self, *words: str) -> Forked:
        """Type a command whose words nobody waits for."""
        return self.fork_server.start(*words, environment=self._environment, out=Path("/dev/null"))
