"""How GraphQL requests to any number of Saleors travel over one HTTP client, and what is taken for a response."""

from functools import partial
from typing import Any, NoReturn

import httpx2
from gql.transport.exceptions import TransportError
from gql.transport.httpx import HTTPXAsyncTransport

from integration_base.date_header import read_retry_after
from integration_base.exact_json import loads
from integration_base.outbound import read_at_most
from saleor_app_sdk.answers import is_graphql_response

MAX_RESPONSE_BYTES = 4 * 1024 * 1024  # of one Saleor: its response must not exhaust the memory that all stores share
_TOO_MANY_REQUESTS, _UNAVAILABLE = 429, 503
_READ_HEADERS = ("Retry-After", "Date", "Location")
_MAX_LOCATION_LENGTH = 100  # characters: what staff read of an installation is cut after 255


class BusyError(TransportError):
    """Saleor, or a server before it, has no time for requests now. ``pause``: see ``SaleorUnreachableError``."""

    def __init__(self, status: int, pause: float) -> None:
        super().__init__(f"HTTP {status}")
        self.pause = pause


class OtherAnswerError(TransportError):
    """Something else than an answer of Saleor's API: from a proxy, a firewall, a shop's pages, or of a fault.

    ``status`` is its HTTP status, ``location`` where it leads to; None if it leads nowhere.
    """

    def __init__(self, status: int, location: str | None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.location = location


class SharedTransport(HTTPXAsyncTransport):
    """gql's transport over a shared client: one pool and one SSL context for all Saleors."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        super().__init__(url, json_deserialize=partial(loads, any_number=True))
        self._shared = http

    def _get_json_result(self, response: httpx2.Response) -> Any:
        """Return the response of Saleor's API. Raises TransportError for JSON that is none."""
        pause = read_retry_after(response.headers)
        if response.status_code == _TOO_MANY_REQUESTS or (response.status_code == _UNAVAILABLE and pause is not None):
            raise BusyError(response.status_code, pause or 0.0)
        answer = super()._get_json_result(response)
        if not is_graphql_response(answer):
            self._raise_response_error(response, "Not a GraphQL response")
        return answer

    @classmethod
    def _raise_response_error(cls, response: httpx2.Response, _reason: str) -> NoReturn:
        raise OtherAnswerError(response.status_code, _read_location(response))

    async def connect(self) -> None:
        self.client = _SizeLimitedClient(self._shared)  # type: ignore[assignment] # all that gql needs of a client

    async def close(self) -> None:
        self.client = None


class _SizeLimitedClient:
    """A client that limits the size of a response."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def post(self, url: str, **sent: Any) -> httpx2.Response:
        """Send a request and return the response with its whole body. Raises BodyError and the library's errors."""
        async with self._http.stream("POST", url, **sent) as response:
            content = await read_at_most(MAX_RESPONSE_BYTES, response)
        # Not those of the content, which is decoded.
        headers = {name: response.headers[name] for name in _READ_HEADERS if name in response.headers}
        return httpx2.Response(response.status_code, headers=headers, content=content, request=response.request)


def _read_location(response: httpx2.Response) -> str | None:
    """Return where a redirect leads to, without its query, which may hold secrets; None if it leads nowhere."""
    if not response.has_redirect_location:
        return None
    try:
        target = response.request.url.join(response.headers["Location"])
    except httpx2.InvalidURL:
        return None
    location = str(target.copy_with(query=None, fragment=None, username=None, password=None))
    return location if target.host and len(location) <= _MAX_LOCATION_LENGTH else None
