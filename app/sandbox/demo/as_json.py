"""The timeline as JSON lines: one object for each thing that happened, times in UTC, durations in milliseconds."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC

from app.exact_json import dumps
from app.sandbox.demo.telling import Exchange, Place, Trouble


class JsonTeller:
    """Writes to standard output, each line at once."""

    def __init__(self) -> None:
        self._step: str | None = None

    def begin(self) -> None:
        """Nothing: there is nobody to greet."""

    def step(self, number: int, name: str, title: str) -> None:
        """``{"event": "step", "number": 2, "step": "install", "title": "..."}``."""
        self._step = name
        self._write("step", number=number, title=title)

    def exchange(self, exchange: Exchange) -> None:
        """``{"event": "exchange", "from": "Saleor", "to": "app", "said": "...", "answer": "...", ...}``."""
        self._write(
            "exchange",
            at=exchange.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **{"from": exchange.speaker.value, "to": exchange.hearer.value},
            said=exchange.said,
            answer=exchange.answer,
            failed=exchange.failed,
            milliseconds=None if exchange.seconds is None else round(exchange.seconds * 1000),
            facts={name: str(fact) if fact is not None else None for name, fact in exchange.facts.items()},
        )

    def check(self, what: str) -> None:
        """``{"event": "check", "what": "...", "ok": true}``."""
        self._write("check", what=what, ok=True)

    def waiting(self, what: str) -> AbstractContextManager[object]:  # noqa: ARG002 - programs need no spinner
        """Nothing."""
        return nullcontext()

    def trouble(self, trouble: Trouble) -> None:
        """``{"event": "trouble", "step": "...", "expected": "...", "found": "...", "log": [...]}``."""
        self._step = trouble.step
        self._write(
            "trouble",
            title=trouble.title,
            expected=trouble.expected,
            found=trouble.found,
            log_name=trouble.log_name,
            log=list(trouble.log),
        )

    def end(self, checks: int, seconds: float) -> None:
        """``{"event": "end", "ok": true, "checks": 24, "milliseconds": 9000}``."""
        self._step = None
        self._write("end", ok=True, checks=checks, milliseconds=round(seconds * 1000))

    def places(self, places: Sequence[Place], hints: Sequence[str]) -> None:  # noqa: ARG002 - hints are for people
        """``{"event": "place", "name": "...", "url": "..."}`` for each."""
        self._step = None
        for place in places:
            self._write("place", name=place.name, url=place.url, what_for=place.what_for)

    def farewell(self) -> None:
        """Nothing."""

    def _write(self, event: str, **values: object) -> None:
        sys.stdout.write(dumps({"event": event, "step": self._step, **values}) + "\n")
        sys.stdout.flush()
