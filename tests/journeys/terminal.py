"""An operator's terminal beside the running app: each command a process of its own."""

import asyncio
import json
import os
import subprocess
import sys
from decimal import Decimal
from typing import Any

from tests.journeys.stack import PATIENCE, Stack


async def typed(shop: Stack, *words: str) -> Any:
    """Type a command; return what it said as JSON."""
    settings = {"APP_DATA_DIR": str(shop.settings.data_dir), "APP_DATABASE_URL": str(shop.settings.database_url)}
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "app.cli", *words, "--json"],
        env={**os.environ, **PATIENCE, **settings, "APP_BASE_URL": shop.app.url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    return json.loads(done.stdout, parse_float=Decimal)
