"""Saleor's GraphQL API, as far as a payment app needs it. The documents are files (``app.saleor.documents``).

Raises, from every call:

- ``SaleorUnreachableError``: no usable answer in time; ask again later;
- ``SaleorRefusedError``: Saleor will not do it, now or later;
- ``SaleorNotAuthorisedError``: the token is not good for it. Saleor says so with HTTP 200 and a top-level error.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import httpx2
import structlog
from gql import Client, GraphQLRequest
from gql.client import AsyncClientSession, ReconnectingAsyncClientSession
from gql.transport.exceptions import TransportError, TransportQueryError
from gql.transport.httpx import HTTPXAsyncTransport

from app import telemetry
from app.exact_json import dumps, loads
from app.outbound import UNPACKED, read_at_most
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
MOST_ANSWER_BYTES = 4 * 1024 * 1024  # of one Saleor, whoever runs it: it must not take the memory of all stores
_MOST_TOGETHER = 10  # Saleor takes some 50 ms for a report, one after the other: together well below the deadline

_NOT_UNDERSTOOD = "GRAPHQL_ERROR"  # the document or its variables, as a whole

# GRAPHQL_ERROR is the one code of a report that says nothing definite: it is worth asking again.
_PERMANENT = {"INVALID", "NOT_FOUND", "INCORRECT_DETAILS", "ALREADY_EXISTS", "REQUIRED"}

logger = structlog.get_logger(__name__)

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
        self._batches: Batches[_Asked, _Question, Any] = Batches(self._ask_all, _MOST_TOGETHER)

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
        try:
            report = await self._reported(installed, event, version)
        except SaleorRefusedError as refused:
            # A Saleor that has become an older one since it was heard of, or is being upgraded just now, refuses what
            # it does not know. That is no reason never to tell it: it is told as the oldest one is.
            if refused.code != _NOT_UNDERSTOOD or version == OLDEST_SUPPORTED:
                raise
            report = await self._reported(installed, event, OLDEST_SUPPORTED)
        if not isinstance(report, Mapping):
            msg = "Saleor answered a report with nothing"
            raise SaleorUnreachableError(msg)
        for error in report.get("errors") or ():
            raise refusal_of(error)
        return ReportOutcome.of(report)

    async def _reported(self, installed: Installed, event: EventReport, version: Version) -> Any:
        asked = event.variables(version)
        return await self.ask_with_others(installed, "transaction_event_report", asked, version=version)

    async def ask(
        self,
        installed: Installed,
        operation: str,
        variables: Mapping[str, Any],
        *,
        within: timedelta | None = None,
        version: Version | None = None,
    ) -> dict[str, Any]:
        """Execute a document with the installation's proven token; return its data.

        ``within``: another deadline. ``version``: what that Saleor has just said that it is, instead of what is kept.
        """
        if not installed.token:
            msg = "no token has been proven for this installation yet"
            raise SaleorNotAuthorisedError(msg)
        request = self._request(operation, version or read_version(installed.schema_version)).asked_with(variables)
        return await self._execute(installed.saleor_api_url, installed.token, request, within=within)

    async def ask_with_others(
        self, installed: Installed, operation: str, variables: Mapping[str, Any], *, version: Version | None = None
    ) -> Any:
        """Return the one field of a document, asked in one request with those who ask the same in this moment.

        What goes wrong with one of them is told to that one alone. ``version`` as in ``ask``.
        """
        if not installed.token:
            msg = "no token has been proven for this installation yet"
            raise SaleorNotAuthorisedError(msg)
        chosen = version or read_version(installed.schema_version)
        asked = _Asked(installed.saleor_api_url, installed.token, operation, chosen)
        return await self._batches.ask(asked, _Question(variables, telemetry.trace_id()))

    async def _ask_all(self, asked: "_Asked", questions: Sequence["_Question"]) -> Sequence[Any]:
        if len(questions) > 1:
            request = self._request(asked.operation, asked.version, len(questions)).asked_with(
                variables_of([each.variables for each in questions])
            )
            names = [alias(number) for number in range(len(questions))]
            try:
                with _trace_of(questions):
                    data = await self._send(asked.saleor_api_url, asked.token, request)
                return [data.get(name) for name in names]
            except TransportQueryError as error:
                if _tells_apart(error, names):
                    return [_part_of(error, name) for name in names]
            except (TimeoutError, TransportError) as error:
                if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout):
                    raise _failure_of(error) from error
        # It can be because of one of them: then it is told to that one alone.
        return await asyncio.gather(*(self._ask_alone(asked, each) for each in questions), return_exceptions=True)

    async def _ask_alone(self, asked: "_Asked", question: "_Question") -> Any:
        request = self._request(asked.operation, asked.version).asked_with(question.variables)
        with telemetry.tracing(question.trace_id):
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
        sent: dict[str, Any] = {
            "json": None,
            "content": dumps(request.payload),
            "headers": {**UNPACKED, "Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            "follow_redirects": False,
        }
        with telemetry.step(telemetry.Kind.SALEOR, request.name, saleor=saleor_api_url) as step:
            step.outcome = "no_answer"
            if traceparent := telemetry.traceparent():
                sent["headers"] |= {"traceparent": traceparent}
            try:
                async with asyncio.timeout((within or self._deadline).total_seconds()):
                    data = await session.execute(request, extra_args=sent)
            except TransportQueryError:
                step.outcome = "error"
                raise
            step.outcome = "answered"
            return data

    def _request(self, operation: str, version: Version = OLDEST_SUPPORTED, times: int = 1) -> "_Printed":
        if (operation, version, times) not in self._requests:
            text = self._operations.text(operation, version)
            self._requests[operation, version, times] = _Printed(
                operation, text if times == 1 else repeated(text, times)
            )
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


@dataclass(frozen=True, slots=True)
class _Question:
    """What one asks among others, and in which trace."""

    variables: Mapping[str, Any]
    trace_id: str | None


@contextmanager
def _trace_of(questions: Sequence[_Question]) -> Iterator[None]:
    """Ask all of these in their trace; of several traces none can stand for the others, so in a new one."""
    traces = {each.trace_id for each in questions}
    with telemetry.tracing(traces.pop() if len(traces) == 1 else None):
        if len(traces) > 1:
            logger.info("saleor_asked_together", linked_traces=sorted(filter(None, traces)))
        yield


class _Printed(GraphQLRequest):
    """A request whose document is parsed and written out once: gql writes it anew each time that it is asked for."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
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
        self.client = _Bounded(self._shared)  # type: ignore[assignment] # all that gql asks of a client

    async def close(self) -> None:
        self.client = None


class _Bounded:
    """A client that reads no more of an answer than it can hold."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def post(self, url: str, **sent: Any) -> httpx2.Response:
        """Ask, and return the answer with all of its body. Raises BodyError and the library's errors."""
        async with self._http.stream("POST", url, **sent) as response:
            content = await read_at_most(MOST_ANSWER_BYTES, response)
        return httpx2.Response(response.status_code, content=content, request=response.request)


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
        return SaleorRefusedError(_NOT_UNDERSTOOD, None, message)
    return SaleorUnreachableError(f"Saleor failed at a GraphQL request: {message}")


def _exception_code(error: object) -> str | None:
    try:
        return str(error["extensions"]["exception"]["code"])  # type: ignore[index] # what is not there is None
    except (KeyError, TypeError):
        return None
