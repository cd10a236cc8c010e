"""Saleor's GraphQL API, as far as a payment app needs it. The documents are files (``app.saleor.documents``).

Raises, from every call:

- ``SaleorUnreachableError``: no usable answer in time; ask again later;
- ``SaleorRefusedError``: Saleor will not do it, now or later;
- ``SaleorNotAuthorisedError``: the token is not good for it. Saleor says so with HTTP 200 and a top-level error.
"""

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import httpx2
from gql import Client, GraphQLRequest
from gql.client import AsyncClientSession, ReconnectingAsyncClientSession
from gql.transport.exceptions import TransportError, TransportQueryError
from gql.transport.httpx import HTTPXAsyncTransport

from app.exact_json import dumps, loads
from app.saleor.aliases import alias, repeated, variables_of
from app.saleor.batches import Batches
from app.saleor.documents import Documents
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from app.saleor.installation import Installed
from app.saleor.reports import EventReport, ReportOutcome
from app.saleor.versions import OLDEST_SUPPORTED, Version, read_version

__all__ = [
    "AppIdentity",
    "EventReport",
    "ReportOutcome",
    "SaleorClient",
    "SaleorNotAuthorisedError",
    "SaleorRefusedError",
    "SaleorUnreachableError",
]

DEADLINE = timedelta(seconds=10)
_MOST_TOGETHER = 10  # Saleor takes some 50 ms for a report, one after the other: together well below the deadline

# GRAPHQL_ERROR is the one code of a report that says nothing definite: it is worth asking again.
_PERMANENT = {"INVALID", "NOT_FOUND", "INCORRECT_DETAILS", "ALREADY_EXISTS", "REQUIRED"}

_Session = AsyncClientSession | ReconnectingAsyncClientSession


@dataclass(frozen=True, slots=True)
class AppIdentity:
    """Whose token it is: the app's global id in that Saleor, and the identifier from its manifest."""

    id: str
    identifier: str | None


class SaleorClient:
    """Asks any number of Saleors, over one shared HTTP client, with one session kept for each.

    Whoever makes the HTTP client closes it. ``deadline`` is for a whole call, whatever it waits for.
    """

    def __init__(self, http: httpx2.AsyncClient, operations: Documents, *, deadline: timedelta = DEADLINE) -> None:
        self._http = http
        self._operations = operations
        self._deadline = deadline
        self._sessions: dict[str, _Session] = {}
        self._requests: dict[tuple[str, Version, int], _Printed] = {}
        self._batches: Batches[_Asked, Mapping[str, Any], Any] = Batches(self._ask_all, _MOST_TOGETHER)

    async def who_am_i(self, saleor_api_url: str, token: str, *, within: timedelta | None = None) -> AppIdentity:
        """Ask Saleor whose token this is. The address must have passed the allow-list."""
        data = await self._execute(saleor_api_url, token, self._request("who_am_i"), within=within)
        app = data.get("app")
        if not isinstance(app, Mapping) or not isinstance(app.get("id"), str):
            code = "NOT_AN_APP"
            raise SaleorRefusedError(code, None, "this token is not an app's")
        return AppIdentity(id=app["id"], identifier=app.get("identifier"))

    async def report(self, installed: Installed, event: EventReport) -> ReportOutcome:
        """Report an event with the installation's proven token (``transactionEventReport``; Saleor contract, A.7)."""
        version = read_version(installed.schema_version)
        report = await self.ask_with_others(installed, "transaction_event_report", event.variables(version))
        if not isinstance(report, Mapping):
            msg = "Saleor answered a report with nothing"
            raise SaleorUnreachableError(msg)
        for error in report.get("errors") or ():
            raise refusal_of(error)
        return ReportOutcome.of(report)

    async def ask(
        self, installed: Installed, operation: str, variables: Mapping[str, Any], *, within: timedelta | None = None
    ) -> dict[str, Any]:
        """Execute a document with the installation's proven token; return its data. ``within``: another deadline."""
        if not installed.token:
            msg = "no token has been proven for this installation yet"
            raise SaleorNotAuthorisedError(msg)
        version = read_version(installed.schema_version)
        request = self._request(operation, version).asked_with(variables)
        return await self._execute(installed.saleor_api_url, installed.token, request, within=within)

    async def ask_with_others(self, installed: Installed, operation: str, variables: Mapping[str, Any]) -> Any:
        """Return the one field of a document, asked in one request with those who ask the same in this moment.

        What goes wrong with one of them is told to that one alone.
        """
        if not installed.token:
            msg = "no token has been proven for this installation yet"
            raise SaleorNotAuthorisedError(msg)
        version = read_version(installed.schema_version)
        asked = _Asked(installed.saleor_api_url, installed.token, operation, version)
        return await self._batches.ask(asked, variables)

    async def _ask_all(self, asked: "_Asked", each_time: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        if len(each_time) > 1:
            request = self._request(asked.operation, asked.version, len(each_time)).asked_with(variables_of(each_time))
            names = [alias(number) for number in range(len(each_time))]
            try:
                data = await self._send(asked.saleor_api_url, asked.token, request)
                return [data.get(name) for name in names]
            except TransportQueryError as error:
                if _tells_apart(error, names):
                    return [_part_of(error, name) for name in names]
            except (TimeoutError, TransportError) as error:
                if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout):
                    raise _failure_of(error) from error
        # It can be because of one of them: then it is told to that one alone.
        return await asyncio.gather(*(self._ask_alone(asked, each) for each in each_time), return_exceptions=True)

    async def _ask_alone(self, asked: "_Asked", variables: Mapping[str, Any]) -> Any:
        request = self._request(asked.operation, asked.version).asked_with(variables)
        data = await self._execute(asked.saleor_api_url, asked.token, request)
        return next(iter(data.values()), None)

    async def _execute(
        self, saleor_api_url: str, token: str, request: "_Printed", *, within: timedelta | None = None
    ) -> dict[str, Any]:
        try:
            return await self._send(saleor_api_url, token, request, within=within)
        except (TimeoutError, TransportError) as exc:
            raise _failure_of(exc) from exc

    async def _send(
        self, saleor_api_url: str, token: str, request: "_Printed", *, within: timedelta | None = None
    ) -> dict[str, Any]:
        """Return a document's data. Raises TimeoutError and gql's errors."""
        session = await self._session(saleor_api_url)
        # Written here and not by the HTTP client, which has no form for a Decimal.
        sent = {
            "json": None,
            "content": dumps(request.payload),
            "headers": {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            "follow_redirects": False,
        }
        async with asyncio.timeout((within or self._deadline).total_seconds()):
            return await session.execute(request, extra_args=sent)

    def _request(self, operation: str, version: Version = OLDEST_SUPPORTED, times: int = 1) -> "_Printed":
        if (operation, version, times) not in self._requests:
            text = self._operations.text(operation, version)
            self._requests[operation, version, times] = _Printed(text if times == 1 else repeated(text, times))
        return self._requests[operation, version, times]

    async def _session(self, saleor_api_url: str) -> _Session:
        if saleor_api_url not in self._sessions:
            # gql has a time limit of its own; the deadline here is the only one that counts.
            client = Client(transport=_SharedTransport(saleor_api_url, self._http), execute_timeout=None)
            session: _Session = await client.connect_async()  # type: ignore[no-untyped-call] # gql does not say
            self._sessions[saleor_api_url] = session
        return self._sessions[saleor_api_url]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Of whom what is asked."""

    saleor_api_url: str
    token: str
    operation: str
    version: Version


class _Printed(GraphQLRequest):
    """A request whose document is parsed and written out once: gql writes it anew each time that it is asked for."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._query = text

    def asked_with(self, variables: Mapping[str, Any]) -> "_Printed":
        """Return the same request with these variables."""
        asked = copy(self)
        asked.variable_values = dict(variables)
        return asked

    @property
    def payload(self) -> dict[str, Any]:
        """Return what goes over the wire."""
        return {"query": self._query, "variables": self.variable_values or {}}


class _SharedTransport(HTTPXAsyncTransport):
    """gql's transport over a client that somebody else made: one pool and one SSL context for all Saleors."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        super().__init__(url, json_deserialize=partial(loads, any_number=True))
        self._shared = http

    async def connect(self) -> None:
        self.client = self._shared

    async def close(self) -> None:
        self.client = None


def refusal_of(error: Mapping[str, Any]) -> SaleorRefusedError | SaleorUnreachableError:
    """Return what an entry of a mutation's ``errors`` means: a refusal for good, or worth asking again."""
    code, field, message = str(error.get("code")), error.get("field"), str(error.get("message"))
    if code in _PERMANENT:
        return SaleorRefusedError(code, field, message)
    return SaleorUnreachableError(f"Saleor could not do it ({code}): {message}")


def _tells_apart(error: TransportQueryError, names: Sequence[str]) -> bool:
    """Return True for an answer that has some of what was asked, and says which part each error is about."""
    paths = [each.get("path") or [None] for each in error.errors or [] if isinstance(each, Mapping)]
    return isinstance(error.data, Mapping) and bool(paths) and all(path[0] in names for path in paths)


def _part_of(error: TransportQueryError, name: str) -> Any:
    own = [each for each in error.errors or [] if each["path"][0] == name]
    return _failure(own) if own else (error.data or {}).get(name)


def _failure_of(error: TimeoutError | TransportError) -> SaleorError:
    if isinstance(error, TimeoutError):
        return SaleorUnreachableError("Saleor did not answer in time")
    if isinstance(error, TransportQueryError):
        return _failure(error.errors or [])
    cause = type(error.__cause__ or error).__name__
    return SaleorUnreachableError(f"Saleor did not answer a GraphQL request ({cause})")


def _failure(errors: list[Any]) -> SaleorNotAuthorisedError | SaleorRefusedError | SaleorUnreachableError:
    codes = [_exception_code(error) for error in errors]
    message = "; ".join(str(error.get("message")) for error in errors if isinstance(error, Mapping))[:500]
    if "PermissionDenied" in codes:
        return SaleorNotAuthorisedError(f"Saleor does not accept the token for this: {message}")
    # GraphQLError: the request itself is wrong (a variable, an id), with HTTP 400 or 200. It will be so tomorrow too.
    if codes and all(code == "GraphQLError" for code in codes):
        code = "GRAPHQL_ERROR"
        return SaleorRefusedError(code, None, message)
    return SaleorUnreachableError(f"Saleor failed at a GraphQL request: {message}")


def _exception_code(error: object) -> str | None:
    try:
        return str(error["extensions"]["exception"]["code"])  # type: ignore[index] # what is not there is None
    except (KeyError, TypeError):
        return None
