"""Saleor's GraphQL API, as far as a payment app needs it. The documents are files (``app.saleor.documents``).

Raises, from every call:

- ``SaleorUnreachableError``: no usable answer in time; ask again later;
- ``SaleorRefusedError``: Saleor will not do it, now or later;
- ``SaleorNotAuthorisedError``: the token is not good for it. Saleor says so with HTTP 200 and a top-level error.
"""

import asyncio
from collections.abc import Mapping
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
from app.saleor.documents import Documents
from app.saleor.errors import SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
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
        self._requests: dict[tuple[str, Version], _Printed] = {}

    async def who_am_i(self, saleor_api_url: str, token: str, *, within: timedelta | None = None) -> AppIdentity:
        """Ask Saleor whose token this is. The address must have passed the allow-list."""
        data = await self._execute(saleor_api_url, token, "who_am_i", {}, within=within)
        app = data.get("app")
        if not isinstance(app, Mapping) or not isinstance(app.get("id"), str):
            code = "NOT_AN_APP"
            raise SaleorRefusedError(code, None, "this token is not an app's")
        return AppIdentity(id=app["id"], identifier=app.get("identifier"))

    async def report(self, installed: Installed, event: EventReport) -> ReportOutcome:
        """Report an event with the installation's proven token (``transactionEventReport``; Saleor contract, A.7)."""
        version = read_version(installed.schema_version)
        data = await self.ask(installed, "transaction_event_report", event.variables(version))
        report = data.get("transactionEventReport")
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
        return await self._execute(
            installed.saleor_api_url, installed.token, operation, variables, version, within=within
        )

    async def _execute(
        self,
        saleor_api_url: str,
        token: str,
        operation: str,
        variables: Mapping[str, Any],
        version: Version = OLDEST_SUPPORTED,
        *,
        within: timedelta | None = None,
    ) -> dict[str, Any]:
        request = self._request(operation, version).asked_with(variables)
        session = await self._session(saleor_api_url)
        # Written here and not by the HTTP client, which has no form for a Decimal.
        sent = {
            "json": None,
            "content": dumps(request.payload),
            "headers": {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            "follow_redirects": False,
        }
        try:
            async with asyncio.timeout((within or self._deadline).total_seconds()):
                return await session.execute(request, extra_args=sent)
        except TimeoutError as exc:
            msg = "Saleor did not answer in time"
            raise SaleorUnreachableError(msg) from exc
        except TransportQueryError as exc:
            raise _failure(exc.errors or []) from exc
        except TransportError as exc:
            cause = type(exc.__cause__ or exc).__name__
            msg = f"Saleor did not answer a GraphQL request ({cause})"
            raise SaleorUnreachableError(msg) from exc

    def _request(self, operation: str, version: Version) -> "_Printed":
        if (operation, version) not in self._requests:
            self._requests[operation, version] = _Printed(self._operations.text(operation, version))
        return self._requests[operation, version]

    async def _session(self, saleor_api_url: str) -> _Session:
        if saleor_api_url not in self._sessions:
            # gql has a time limit of its own; the deadline here is the only one that counts.
            client = Client(transport=_SharedTransport(saleor_api_url, self._http), execute_timeout=None)
            session: _Session = await client.connect_async()  # type: ignore[no-untyped-call] # gql does not say
            self._sessions[saleor_api_url] = session
        return self._sessions[saleor_api_url]


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
