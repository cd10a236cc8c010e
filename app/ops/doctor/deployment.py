"""The deployment as the checks need it: settings, and HTTP clients."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx2

from saleor_app_sdk.graphql import SaleorClient


@dataclass(frozen=True, slots=True)
class Deployment:
    """Settings and clients. URLs have no trailing slash; ``app_id`` is the app's identifier in Saleor.

    ``own_http`` requests the app's own addresses, which the operator has chosen. ``saleor_http`` and ``saleor`` request
    Saleors: some of their addresses were chosen by strangers, so these connections are guarded.
    """

    base_url: str
    iframe_base_url: str | None
    database_url: str
    key_file: Path
    app_id: str
    own_http: httpx2.AsyncClient
    saleor_http: httpx2.AsyncClient
    saleor: SaleorClient
    now: Callable[[], datetime]
