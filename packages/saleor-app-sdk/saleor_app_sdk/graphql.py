"""Saleor's GraphQL API, as far as a payment app needs it. The documents are files (``saleor_app_sdk.documents``).

Raises, from every call:

- ``SaleorUnreachableError``: no usable response in time; retry later;
- ``SaleorRefusedError``: Saleor refuses it permanently;
- ``SaleorNotAuthorisedError``: the token is not valid for it. Saleor answers with HTTP 200 and a top-level error.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import structlog
from gql import Client, GraphQLRequest
from gql.client import AsyncClientSession, ReconnectingAsyncClientSession
from gql.transport.exceptions import TransportError, TransportQueryError

from integration_base import telemetry
from integration_base.connection_failures import REASONS, ConnectionFailure, classify_connection_failure
from integration_base.exact_json import dumps
from integration_base.outbound import NO_COMPRESSION
from saleor_app_sdk.aliases import alias, merge_variables, repeat_field
from saleor_app_sdk.answers import read_mutation_result, read_object
from saleor_app_sdk.batches import RequestBatcher
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.generic_events import is_query
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.reports import EventReport, ReportOutcome
from saleor_app_sdk.shared_transport import BusyError, OtherAnswerError, SharedTransport
from saleor_app_sdk.versions import OLDEST_SUPPORTED, Version, parse_version

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
_MAX_BATCH = 10  # Saleor takes about 50 ms for a report, one after the other: a batch stays well below the deadline

# Without these an app cannot be installed, nor report; an app may have documents of its own under the same names.
_OWN_OPERATIONS = Documents(Path(__file__).parent / "operations")

_GRAPHQL_ERROR = "GRAPHQL_ERROR"  # about the document or its variables as a whole
_TRANSACTION = "transaction"  # the part of a report's result that shows the transaction and its order

logger = structlog.get_logger(__name__)

_Session = AsyncClientSession | ReconnectingAsyncClientSession


@dataclass(frozen=True, slots=True)
class AppIdentity:
    """The app that a token belongs to: its global id in that Saleor, and the identifier from its manifest."""

    id: str
    identifier: str | None


class SaleorClient:
    """Calls any number of Saleors over one shared HTTP client, with one session for each.

    The creator of the HTTP client closes it. ``deadline`` limits a whole call, including all waiting.
    """

    def __init__(
        self, http: httpx2.AsyncClient, operations: Documents | None = None, *, deadline: timedelta = DEADLINE
    ) -> None:
        self._http = http
        self._operations = operations or Documents()
        self._deadline = deadline
        self._sessions: dict[str, _Session] = {}
        self._requests: dict[tuple[str, Version, int], _PreparedRequest] = {}
        self._batches: RequestBatcher[_BatchKey, _BatchItem, Any] = RequestBatcher(self._execute_batch, _MAX_BATCH)

    async def who_am_i(self, saleor_api_url: str, token: str, *, timeout: timedelta | None = None) -> AppIdentity:
        """Return the app that Saleor says the token belongs to. The address must have passed the allow-list."""
        data = await self._execute(saleor_api_url, token, self._request("who_am_i"), timeout=timeout)
        if "app" in data and data["app"] is None:
            code = "NOT_AN_APP"
            raise SaleorRefusedError(code, None, "this token is not an app's")
        app = read_object(data.get("app"))
        if not isinstance(app.get("id"), str) or not isinstance(app.get("identifier"), str | None):
            msg = "Saleor returned an unreadable app"
            raise SaleorUnreachableError(msg)
        return AppIdentity(id=app["id"], identifier=app.get("identifier"))

    async def report(self, installation: Installation, event: EventReport) -> ReportOutcome:
        """Report an event with the installation's proven token (``transactionEventReport``; Saleor contract, A.7)."""
        version = parse_version(installation.schema_version)
        try:
            report = await self._send_report(installation, event, version)
        except SaleorRefusedError as refused:
            # A Saleor that was downgraded since its last request, or is being upgraded just now, refuses fields that it
            # does not know. It must still get the report: retry in the form for the oldest version.
            if refused.code != _GRAPHQL_ERROR or version == OLDEST_SUPPORTED:
                raise
            report = await self._send_report(installation, event, OLDEST_SUPPORTED)
        return ReportOutcome.from_response(read_mutation_result(report))

    async def _send_report(self, installation: Installation, event: EventReport, version: Version) -> Any:
        variables = event.variables(version)
        return await self.execute_batched(installation, "transaction_event_report", variables, version=version)

    async def execute(
        self,
        installation: Installation,
        operation: str,
        variables: Mapping[str, Any],
        *,
        timeout: timedelta | None = None,
        version: Version | None = None,
    ) -> dict[str, Any]:
        """Execute a document with the installation's proven token; return its data.

        ``operation``: the name of a document, or its text. Numbers in the data are ``int`` and ``Decimal``.
        ``timeout``: replaces the deadline. ``version``: what Saleor has just reported, instead of the stored one.
        """
        if not installation.token:
            msg = "no token has been confirmed for this installation yet"
            raise SaleorNotAuthorisedError(msg)
        request = self._request(operation, version or parse_version(installation.schema_version)).with_variables(
            variables
        )
        return await self._execute(installation.saleor_api_url, installation.token, request, timeout=timeout)

    async def execute_batched(
        self,
        installation: Installation,
        operation: str,
        variables: Mapping[str, Any],
        *,
        version: Version | None = None,
    ) -> Any:
        """Execute a document of one field, batched with concurrent calls for the same document; return that field.

        An error of one call is raised to that call alone. ``version`` as in ``execute``.
        """
        if not installation.token:
            msg = "no token has been confirmed for this installation yet"
            raise SaleorNotAuthorisedError(msg)
        chosen = version or parse_version(installation.schema_version)
        key = _BatchKey(installation.saleor_api_url, installation.token, operation, chosen)
        return await self._batches.submit(key, _BatchItem(variables, telemetry.current_trace_id()))

    async def _execute_batch(self, key: "_BatchKey", items: Sequence["_BatchItem"]) -> Sequence[Any]:
        if len(items) > 1:
            request = self._request(key.operation, key.version, len(items)).with_variables(
                merge_variables([item.variables for item in items])
            )
            names = [alias(number) for number in range(len(items))]
            try:
                with _batch_trace(items):
                    data = await self._send(key.saleor_api_url, key.token, request)
                return [data.get(name) for name in names]
            except TransportQueryError as error:
                if _separates_errors(error, names):
                    return [_result_for(error, name) for name in names]
            except (TimeoutError, TransportError) as error:
                if isinstance(error, BusyError) or isinstance(
                    error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout
                ):
                    raise _error_for(error) from error
        # One of them may have caused it: sent alone, each gets only its own error.
        return await asyncio.gather(*(self._execute_single(key, item) for item in items), return_exceptions=True)

    async def _execute_single(self, key: "_BatchKey", item: "_BatchItem") -> Any:
        request = self._request(key.operation, key.version).with_variables(item.variables)
        with telemetry.tracing(item.trace_id):
            try:
                data = await self._send(key.saleor_api_url, key.token, request)
            except TransportQueryError as error:
                field = next(iter(error.data or {}), None)
                if field is None or not _separates_errors(error, [field]):
                    raise _error_for(error) from error
                return _value_or_raise(_result_for(error, field))
            except (TimeoutError, TransportError) as error:
                raise _error_for(error) from error
        return next(iter(data.values()), None)

    async def _execute(
        self, saleor_api_url: str, token: str, request: "_PreparedRequest", *, timeout: timedelta | None = None
    ) -> dict[str, Any]:
        try:
            return await self._send(saleor_api_url, token, request, timeout=timeout)
        except (TimeoutError, TransportError) as exc:
            raise _error_for(exc) from exc

    async def _send(
        self, saleor_api_url: str, token: str, request: "_PreparedRequest", *, timeout: timedelta | None = None
    ) -> dict[str, Any]:
        """Return a document's data. Raises TimeoutError and gql's errors."""
        session = await self._session(saleor_api_url)
        # Serialised here and not by the HTTP client, which cannot serialise a Decimal.
        sent: dict[str, Any] = {
            "json": None,
            "content": dumps(request.payload),
            "headers": {**NO_COMPRESSION, "Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            "follow_redirects": False,
        }
        with telemetry.step(telemetry.Kind.SALEOR, request.name, saleor=saleor_api_url) as step:
            step.outcome = "no_answer"
            if traceparent := telemetry.current_traceparent():
                sent["headers"] |= {"traceparent": traceparent}
            try:
                async with asyncio.timeout((timeout or self._deadline).total_seconds()):
                    data = await session.execute(request, extra_args=sent)
            except TransportQueryError:
                step.outcome = "error"
                raise
            step.outcome = "answered"
            return data

    def _request(self, operation: str, version: Version = OLDEST_SUPPORTED, times: int = 1) -> "_PreparedRequest":
        if (operation, version, times) not in self._requests:
            text = self._document(operation, version)
            self._requests[operation, version, times] = _PreparedRequest(
                operation, text if times == 1 else repeat_field(text, times)
            )
        return self._requests[operation, version, times]

    def _document(self, operation: str, version: Version) -> str:
        if is_query(operation):
            return operation
        documents = self._operations if operation in self._operations.names else _OWN_OPERATIONS
        return documents.text(operation, version)

    async def _session(self, saleor_api_url: str) -> _Session:
        if saleor_api_url not in self._sessions:
            # gql has a time limit of its own; only the deadline here applies.
            client = Client(transport=SharedTransport(saleor_api_url, self._http), execute_timeout=None)
            session: _Session = await client.connect_async()  # type: ignore[no-untyped-call] # gql does not say
            self._sessions[saleor_api_url] = session
        return self._sessions[saleor_api_url]


@dataclass(frozen=True, slots=True)
class _BatchKey:
    """What the calls of a batch have in common."""

    saleor_api_url: str
    token: str
    operation: str
    version: Version


@dataclass(frozen=True, slots=True)
class _BatchItem:
    """One call of a batch: its variables and its trace."""

    variables: Mapping[str, Any]
    trace_id: str | None


@contextmanager
def _batch_trace(items: Sequence[_BatchItem]) -> Iterator[None]:
    """Send a batch in the trace of its calls; if there are several traces, in a new one."""
    traces = {item.trace_id for item in items}
    with telemetry.tracing(traces.pop() if len(traces) == 1 else None):
        if len(traces) > 1:
            logger.info("requests.combined", linked_traces=sorted(filter(None, traces)))
        yield


class _PreparedRequest(GraphQLRequest):
    """A request whose document is parsed and printed once: gql prints it again on each access."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
        self._query = text

    def with_variables(self, variables: Mapping[str, Any]) -> "_PreparedRequest":
        """Return the same request with these variables."""
        request = copy(self)
        request.variable_values = dict(variables)
        return request

    @property
    def payload(self) -> dict[str, Any]:
        """Return the JSON body of the request."""
        return {"query": self._query, "variables": self.variable_values or {}}


def _separates_errors(error: TransportQueryError, names: Sequence[str]) -> bool:
    """Return True for a response with partial data in which each error names the alias that it is about."""
    paths = [problem.get("path") or [None] for problem in error.errors or []]
    return isinstance(error.data, Mapping) and bool(paths) and all(path[0] in names for path in paths)


def _result_for(error: TransportQueryError, name: str) -> Any:
    own = [problem for problem in error.errors or [] if problem["path"][0] == name]
    result = (error.data or {}).get(name)
    if own and isinstance(result, Mapping) and all(problem["path"][1:2] == [_TRANSACTION] for problem in own):
        # Saleor has carried it out, and cannot show all of the transaction: nothing of that is relied on.
        return {**result, _TRANSACTION: None}
    return _error_for_graphql(own) if own else result


def _value_or_raise(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def _error_for(error: TimeoutError | TransportError) -> SaleorError:
    if isinstance(error, TimeoutError):
        return _no_connection(ConnectionFailure.TIMED_OUT, "Saleor did not answer in time")
    if isinstance(error, TransportQueryError):
        return _error_for_graphql(error.errors or [])
    if isinstance(error, BusyError):
        busy = SaleorUnreachableError(f"Saleor has too many requests or is being maintained ({error})")
        busy.pause = error.pause
        return busy
    if isinstance(error, OtherAnswerError):
        return _no_answer_of_saleor(error)
    cause = error.__cause__ or error
    if isinstance(cause, httpx2.RequestError):
        kind = classify_connection_failure(cause)
        return _no_connection(kind, f"Saleor did not answer a GraphQL request: {REASONS[kind]}")
    return SaleorUnreachableError(f"Saleor did not answer a GraphQL request ({type(cause).__name__})")


def _no_connection(kind: ConnectionFailure, message: str) -> SaleorUnreachableError:
    error = SaleorUnreachableError(message)
    error.connection = kind
    return error


def _no_answer_of_saleor(other: OtherAnswerError) -> SaleorUnreachableError:
    leads = "" if other.location is None else f", which leads to {other.location}"
    error = SaleorUnreachableError(f"HTTP {other.status} came in place of an answer of Saleor's API{leads}")
    error.status, error.location = other.status, other.location
    return error


def _error_for_graphql(errors: list[Any]) -> SaleorNotAuthorisedError | SaleorRefusedError | SaleorUnreachableError:
    codes = [_exception_code(error) for error in errors]
    message = "; ".join(str(error.get("message")) for error in errors)[:500]
    if "PermissionDenied" in codes:
        return SaleorNotAuthorisedError(f"Saleor does not accept the token for this: {message}")
    # GraphQLError: the request itself is invalid (a variable, an id), with HTTP 400 or 200. A retry cannot help.
    if codes and all(code == "GraphQLError" for code in codes):
        return SaleorRefusedError(_GRAPHQL_ERROR, None, message)
    return SaleorUnreachableError(f"Saleor failed to process a GraphQL request: {message}")


def _exception_code(error: object) -> str | None:
    try:
        return str(error["extensions"]["exception"]["code"])  # type: ignore[index] # None if any part is missing
    except (KeyError, TypeError):
        return None
