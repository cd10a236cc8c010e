"""How the app is set up here, as far as the checks must know it: what the settings say, and who may be asked."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx2

from app.saleor.graphql import SaleorClient


@dataclass(frozen=True, slots=True)
class Deployment:
    """The addresses are without a slash at the end; ``app_id`` is what Saleor calls the app.

    ``own`` asks the app's own addresses, which whoever runs it has chosen, ``saleors`` and ``saleor`` ask Saleors: some
    of their addresses were chosen by strangers, so these connections are guarded (``app.outbound``).
    """

    base_url: str
    iframe_base_url: str | None
    database_url: str
    key_file: Path
    app_id: str
    own: httpx2.AsyncClient
    saleors: httpx2.AsyncClient
    saleor: SaleorClient
    now: Callable[[], datetime]
