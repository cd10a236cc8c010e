"""What is fuzzed: each parser of what comes from outside, what it may raise, and what must hold of what it takes."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

import httpx2
from pydantic import BaseModel, ValidationError

from app.flows.reconciliation.entries import book_line, entries_of
from app.rules.observation import observation_from_record
from gateway_client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import ForgedNotificationError, GatewayError, UnreadableNotificationError
from gateway_client.models.reports import RegisterTicket, TransactionLine, UnreadableLine
from gateway_client.notification import read_notification
from gateway_client.signature import sign
from integration_base import exact_json
from saleor_app_sdk import events
from saleor_app_sdk.errors import KeysUnusableError
from saleor_app_sdk.jwks import find_key, parse_key_set
from saleor_app_sdk.signature import BadSignatureError, verify
from saleor_app_sdk.source import SaleorModel
from saleor_app_sdk_tests.recordings import JWKS

CORPUS = Path(__file__).parent / "corpus"
SECRET = "the secret of the account in the corpus"
_OF_EVENTS = [each for name in events.__all__ if issubclass(each := getattr(events, name), events.Event)]
_EVENTS = [event for event in _OF_EVENTS if not event.__subclasses__()]  # the others are what these have in common
_KEYS = Credentials("5a9db0c5-7d1f-4c2b-9b60-3b1f2a4c5d6e", "key", "secret", "endpoints", "https://gateway.example.com")
_NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
_TICKET = RegisterTicket(report_id="report")
_OF_PYDANTIC = frozenset(dir(BaseModel))
_LONGEST_NAME = 256  # what a name of the gateway can be in a row, at most


@dataclass(frozen=True)
class Target:
    """A parser. ``take`` returns, or raises what nobody has said that it raises: that is a finding."""

    name: str
    take: Callable[[bytes], None]

    def corpus(self) -> list[bytes]:
        """What it is begun with: genuine ones, and what has found something before."""
        return [path.read_bytes() for path in sorted((CORPUS / self.name).iterdir())]


def _notification(form: bytes) -> None:
    """A form from anybody. Only what the gateway has signed is taken, and it is what it has signed."""
    try:
        taken = read_notification(form, [SECRET])
    except (ForgedNotificationError, UnreadableNotificationError):
        return
    assert taken.data in _signed(), "a forgery is taken"


@cache
def _signed() -> frozenset[str]:
    genuine = (CORPUS / "notification").glob("genuine-*")
    return frozenset(dict(parse_qsl(form.read_text()))["data"] for form in genuine)


def _record(text: bytes) -> None:
    """What the gateway has signed, whatever it says."""
    data = base64.urlsafe_b64encode(text).decode()
    form = f"data={data}&signature={sign(data, SECRET)}".encode()
    try:
        record = read_notification(form, [SECRET]).record
    except UnreadableNotificationError:
        return
    for language in ("uk", "en"):
        seen = observation_from_record(record, language)
        if seen is not None:
            assert len(seen.gateway_id) <= _LONGEST_NAME
            assert len(seen.order_id) <= _LONGEST_NAME


def _signature(text: bytes) -> None:
    """A header and, after a line feed, a body: taken is only the body that the recorded Saleor has signed."""
    header, _, body = text.partition(b"\n")
    key = find_key(JWKS, JWKS["keys"][0]["kid"], _NOON)
    assert key is not None
    try:
        verify(header.decode("latin-1"), body, key)
    except BadSignatureError:
        return
    assert body in _signed_by_saleor(), "a forgery is taken"


@cache
def _signed_by_saleor() -> frozenset[bytes]:
    return frozenset(path.read_bytes().partition(b"\n")[2] for path in (CORPUS / "signature").glob("genuine-*"))


def _webhook(body: bytes) -> None:
    """What Saleor has signed, whatever it says."""
    try:
        said = exact_json.loads(body, any_number=True)
    except ValueError:
        return
    for event in _EVENTS:
        try:
            _read_all_of(event.model_validate(said))
        except ValidationError:
            continue


def _read_all_of(part: SaleorModel) -> None:
    """Read what a part of an event concludes from what it says, and so each part of it."""
    for name in dir(type(part)):
        if isinstance(getattr(type(part), name), property) and not name.startswith("_") and name not in _OF_PYDANTIC:
            getattr(part, name)
    for value in dict(part).values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, SaleorModel):
                _read_all_of(item)


def _keys(text: bytes) -> None:
    try:
        found = parse_key_set(exact_json.loads(text))
    except (KeysUnusableError, ValueError):
        return
    for key in found["keys"]:
        assert find_key(found, key["kid"], _NOON) is not None
        assert "d" not in key


def _register(text: bytes) -> None:
    """The first byte says how long the pieces are in which it arrives, and whether it is a register."""
    piece, content = max(1, text[0] if text else 1), text[1:]
    lines = asyncio.run(_read_list(content, piece, register=piece % 2 == 1))
    books = [kept for line in lines if (kept := book_line(line)) is not None]
    for entry in entries_of(books):
        assert isinstance(entry.amount, Decimal)


async def _read_list(content: bytes, piece: int, *, register: bool) -> list[TransactionLine | UnreadableLine]:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), piece):
            yield content[start : start + piece]

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=pieces())

    lines: list[TransactionLine | UnreadableLine] = []
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        reports = GatewayClient(http, _KEYS, sleep=_never).reports
        if register:
            found: AsyncIterator[TransactionLine | UnreadableLine] = reports.fetch(_TICKET, patience=0, timeout=30)
        else:
            found = reports.period(_NOON, _NOON + timedelta(hours=1), timeout=30)
        with suppress(GatewayError):
            async for line in found:
                lines.append(line)  # noqa: PERF401 - what came before it broke off is read too
    return lines


async def _never(_seconds: float) -> None:
    raise AssertionError("nobody has the patience")


TARGETS = {
    target.name: target
    for target in (
        Target("notification", _notification),
        Target("record", _record),
        Target("signature", _signature),
        Target("webhook", _webhook),
        Target("keys", _keys),
        Target("register", _register),
    )
}
