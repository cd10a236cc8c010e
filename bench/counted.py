"""The app as ``saleor-gateway run`` starts it, counting its database queries: the subject of ``bench.webhooks``.

``python -m bench.counted FILE`` writes the number of statements and transactions since its start into FILE whenever it
gets SIGUSR1 (first under another name, so that nobody reads an incomplete file).
"""

import json
import signal
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from app.cli import main


def count_queries_into(file: Path) -> None:
    """Count from now on."""
    counts = {"statements": 0, "transactions": 0}
    asked: set[Connection] = set()

    def statement(connection: Connection, *_: Any) -> None:
        counts["statements"] += 1
        asked.add(connection)

    def end(connection: Connection) -> None:
        counts["transactions"] += connection in asked
        asked.discard(connection)

    def write(*_: Any) -> None:
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(counts))
        unfinished.replace(file)

    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "commit", end)
    event.listen(Engine, "rollback", end)
    signal.signal(signal.SIGUSR1, write)


if __name__ == "__main__":
    count_queries_into(Path(sys.argv[1]))
    sys.argv[1:] = ["run"]
    main()
