"""What a real Saleor 3.23.28 sent, as it lies in ``cassettes/saleor``."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from integration_base_tests.places import REPOSITORY

CASSETTES = REPOSITORY / "cassettes" / "saleor"
JWKS: dict[str, Any] = json.loads((CASSETTES / "jwks.json").read_text())

# The app that was installed for the recordings.
IDENTIFIER = "local.capture.payment"
APP_ID = "QXBwOjE="
API_URL = "http://127.0.0.1:8000/graphql/"


@dataclass(frozen=True)
class Recorded:
    """One recorded request. ``number`` is unique over all recordings."""

    number: int
    event: str
    path: str
    headers: dict[str, str]
    body: bytes

    def __str__(self) -> str:
        return f"{self.number}-{self.event}{'' if self.body else '-empty'}"


def webhooks() -> list[Recorded]:
    """Return every recorded webhook once, found anywhere in the recordings."""
    found = (
        Recorded(
            number=said["n"],
            event=said["event"],
            path=said["path"],
            headers={name.lower(): value for name, value in said["headers"]},
            body=said["body_raw"].encode(),
        )
        for path in sorted(CASSETTES.rglob("*.json"))
        for said in _requests(json.loads(path.read_text()))
    )
    return sorted(
        {recording.number: recording for recording in found if "saleor-signature" in recording.headers}.values(),
        key=lambda recording: recording.number,
    )


def _requests(said: Any) -> Iterator[dict[str, Any]]:
    if isinstance(said, dict):
        if "headers" in said and "body_raw" in said:
            yield said
        for part in said.values():
            yield from _requests(part)
    elif isinstance(said, list):
        for part in said:
            yield from _requests(part)
