"""Finds out, without moving anything, what a gateway decides where its interface leaves it open (laws of money, 16)."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from gateway_client.credentials import Credentials
from gateway_client.dialect import CAPTURE_PATH, CaptureEndpoint
from gateway_client.transport import Call, Transport
from integration_base import exact_json

_NOWHERE = f"{CAPTURE_PATH}/nowhere"
_NO_SUCH_PATH = frozenset({404, 405})
_NO_ANSWER_TO_THIS = frozenset({401, 403, 408, 429})
_QUARTER = timedelta(minutes=15)  # every zone's distance from UTC is a multiple of it
_CLOCKS_DIFFER, _SLOW = timedelta(minutes=1), timedelta(minutes=5)
_FARTHEST_WEST, _FARTHEST_EAST = timedelta(hours=-12), timedelta(hours=14)


class Discovery:
    """What can be found out about the gateway of one account."""

    def __init__(self, transport: Transport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    async def capture_endpoint(self, *, timeout: float) -> CaptureEndpoint | None:
        """Return whether there is a path for captures without split; None where the answers do not show it.

        A capture that names no order is sent there, and to a path that cannot exist: a gateway that answers both alike
        does not have the path. Neither can move money. Each may take ``timeout`` seconds. Raises ``NotSentError`` and
        ``OutcomeUnknownError``.
        """
        status_of_none, words_of_none = await self._ask(_NOWHERE, timeout)
        status, words = await self._ask(CAPTURE_PATH, timeout)
        if status_of_none not in _NO_SUCH_PATH or status in _NO_ANSWER_TO_THIS:
            return None
        if (status, words) == (status_of_none, words_of_none):
            return CaptureEndpoint.SPLIT
        return CaptureEndpoint.PLAIN if 400 <= status < 500 else None

    async def _ask(self, path: str, timeout: float) -> tuple[int, str]:
        """Return the HTTP status and the gateway's message, without the path that it may repeat."""
        call = Call(
            method="POST", base_url=self._credentials.base_url, path=path, body={"pos_id": self._credentials.pos_id}
        )
        response = await self._transport.exchange(call, timeout=timeout)
        try:
            data = exact_json.loads(response.content)
        except exact_json.NotJsonError:
            data = None
        words = str(data.get("message", "")) if isinstance(data, dict) else ""
        return response.status, words.replace(path.lstrip("/"), "")


def zone_offset(fresh: Iterable[tuple[datetime, datetime]]) -> timedelta | None:
    """Return how far the gateway's zone is ahead of UTC, by its notifications; None if they do not show it.

    Each of ``fresh`` is the latest time in a record, as if it were in UTC, and when the notification arrived. It
    arrives after that time, soon or late: so the earliest arrival decides, if it is within five minutes.
    """
    ahead = max((written.replace(tzinfo=UTC) - arrived for written, arrived in fresh), default=None)
    if ahead is None:
        return None
    offset = -((_CLOCKS_DIFFER - ahead) // _QUARTER) * _QUARTER  # rounded up
    is_soon = offset - ahead <= _SLOW
    return offset if is_soon and _FARTHEST_WEST <= offset <= _FARTHEST_EAST else None
