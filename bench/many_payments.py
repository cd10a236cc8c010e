"""Payments by the million, made inside PostgreSQL: a store of some years, and a small one beside it.

What matters is that they differ as real ones do: three accounts and three channels of which one is hardly used, orders
and checkouts, cards and declines, some refunds, few problems, and amounts of which one is ever so popular.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

_FILL = Path(__file__).with_suffix(".sql")


@dataclass(frozen=True)
class Store:
    """Whose payments are made: its row, three accounts, and the digest that one shopper of 20 payments is found by."""

    installation_id: int
    accounts: tuple[str, str, str]
    digest: str


def fill(url: str, store: Store, rows: int) -> None:
    """Make that many payments, a minute between each, the last one begun now."""
    first, second, rare = store.accounts
    values: dict[str, Any] = {
        "store": store.installation_id, "first": first, "second": second, "rare": rare, "digest": store.digest,
        "rows": rows, "until": datetime.now(UTC),
    }  # fmt: skip
    with psycopg.connect(url, autocommit=True) as server:
        cursor = psycopg.ClientCursor(server)
        for statement in _FILL.read_text().split(";\n"):
            if statement.strip():
                cursor.execute(statement, values)
        server.execute("VACUUM ANALYZE")
