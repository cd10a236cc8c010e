"""One HTTP exchange with the gateway, and the meaning of its failures.

After a failure only one question matters: whether the request left this machine. The HTTP library's errors answer it,
and for our own timeout its trace does: until the first byte of the request is being written, nothing was sent.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx2

from gateway_client.credentials import Credentials
from gateway_client.errors import GatewayError, InvalidRequestError, NotSentError, OutcomeUnknownError
from gateway_client.models.base import CARD_FIELDS
from integration_base import exact_json, outbound, telemetry
from integration_base.connection_failures import REASONS, classify_connection_failure

_MAX_RESPONSE_BYTES = 4 * 1024 * 1024
_CONNECT_SECONDS = 5.0
_PROGRAM = "gateway-client"  # firewalls for web applications turn away the names of libraries
_LIBRARY = "python-httpx2/"
_SHORTEST_SECRET = 3  # a card's security code
_SHORTEST_RECIPIENT_TEXT = 6  # a document's number; shorter texts occur in sentences by chance
_NOT_SENT_ERRORS = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
Verb = Literal["GET", "POST", "PUT"]
E = TypeVar("E", bound=GatewayError)


# The fixed words in paths. An identifier that happens to be one of these words is no secret.
_PATH_WORDS = frozenset(
    {
        *("", "payment", "split", "purchase", "auth", "credit", "capture", "void", "refund", "recurrent", "dispute"),
        *("pos", "order", "orders", "cancel", "transactions", "recurring", "balances", "accounts"),
        *("applepay", "session", "tokenization", "tokenize", "streaming-report", "start", "fetch"),
    }
)
_REVEALING_LENGTH = 24  # characters: this much of a long secret in a row is no coincidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to the gateway. ``body`` is never in the repr: it may contain a card.

    ``quotable``: whether the gateway's messages about it may be shown, without what they repeat of the request.
    ``creates``: whether it creates a payment or a payout.
    """

    method: Verb
    base_url: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    order_id: str | None = None
    with_endpoints_key: bool = True
    creates: bool = False
    quotable: bool = True

    @property
    def endpoint(self) -> str:
        """The method and path without any identifier of an account, an order or a person: one of few texts."""
        steps = self.path.removeprefix("/api/v1").split("/")
        return f"{self.method} {'/'.join(step if step in _PATH_WORDS else '*' for step in steps)}"

    @property
    def moves_money(self) -> bool:
        """Whether this is not a mere read: then only the gateway's own refusal proves that nothing was done."""
        return self.method != "GET" and not self.path.startswith("/streaming-report/")

    def redacted(self, text: str) -> str:
        """Return ``text`` of the gateway without the request's card, token, cryptogram and recipient, if quoted."""
        if text and not self.quotable:
            return "(what the gateway says is not shown)"
        secrets = (*_card_texts(self.body or {}), *_recipient_texts(self.body or {}))
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, "(not shown)")
            # A truncated quotation.
            if len(secret) > _REVEALING_LENGTH and (start := text.find(secret[:_REVEALING_LENGTH])) >= 0:
                text = f"{text[:start]}(not shown)"
        return text

    def error(self, kind: type[E], message: str, *, code: str | None = None, http_status: int | None = None) -> E:
        """Create an error about this call."""
        return kind(
            message, method=self.method, path=self.path, order_id=self.order_id, code=code, http_status=http_status
        )


def _card_texts(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a request's card fields, at any depth: none of them may be shown."""
    inner = [body[name] for name in CARD_FIELDS & body.keys()]
    while inner:
        match inner.pop():
            case Mapping() as members:
                inner.extend(members.values())
            case list() as items:
                inner.extend(items)
            case str() as text if len(text) >= _SHORTEST_SECRET:
                yield text


def _recipient_texts(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield a request's texts about the recipient of a payout (gateway interface, 1c: ``properties``)."""
    properties = body.get("properties")
    if isinstance(properties, Mapping):
        texts = (text for text in properties.values() if isinstance(text, str))
        yield from (text for text in texts if len(text) >= _SHORTEST_RECIPIENT_TEXT)


@dataclass(frozen=True, slots=True)
class GatewayResponse:
    """A whole response, of any status. Neither ``content`` nor the account's ``keys`` are in the repr."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)
    keys: tuple[str, ...] = field(default=(), repr=False)

    def with_content(self, content: bytes) -> "GatewayResponse":
        """Return the same response with this ``content``."""
        return replace(self, content=content)

    def redacted(self, text: str) -> str:
        """Return ``text`` of the gateway without the request's keys where it repeats them."""
        for key in self.keys:
            text = text.replace(key, "(not shown)")
        return text


@dataclass(slots=True)
class _Progress:
    """How far the request got, according to the HTTP library's trace."""

    connecting: bool = False
    writing: bool = False

    async def __call__(self, event: str, _info: Mapping[str, Any]) -> None:
        self.connecting = True
        if "send_request_headers" in event:
            self.writing = True


class Transport:
    """Exchanges requests of one account over the process-wide connections."""

    def __init__(self, http: httpx2.AsyncClient, credentials: Credentials) -> None:
        self._http = http
        self._credentials = credentials

    @property
    def keys(self) -> tuple[str, ...]:
        """All secrets in the requests."""
        return self._credentials.keys

    async def exchange(self, call: Call, *, timeout: float) -> GatewayResponse:
        """Send ``call`` and read the whole response within ``timeout`` seconds in all.

        Raises ``NotSentError`` or ``OutcomeUnknownError``. Redirects are returned, not followed.
        """
        progress = _Progress()
        with _trace_exchange(call) as step:
            try:
                async with asyncio.timeout(timeout):
                    response = await self._send(call, timeout, progress)
                    try:
                        content = await read_body(call, response)
                    finally:
                        await response.aclose()
                _record_status(step, response)
                return GatewayResponse(response.status_code, response.headers, content, self.keys)
            except (httpx2.RequestError, TimeoutError) as exc:
                failure = _failure(call, exc, progress)
            # Raised outside of the handler: the library's error holds the request, and the request holds the keys.
            raise failure

    @asynccontextmanager
    async def open(self, call: Call, *, timeout: float) -> AsyncIterator[httpx2.Response]:
        """Send ``call`` and yield the response before its body is read. ``timeout`` is the longest silence, in seconds.

        A failure of the connection while the body is read is raised here too, as ``OutcomeUnknownError``.
        """
        progress, failure = _Progress(), None
        try:
            with _trace_exchange(call) as step:
                response = await self._send(call, timeout, progress)
                _record_status(step, response)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx2.RequestError as exc:
            failure = _failure(call, exc, progress)
        if failure is not None:
            raise failure

    async def _send(self, call: Call, timeout: float, progress: _Progress) -> httpx2.Response:
        if timeout <= 0:
            raise call.error(NotSentError, "no time was left to ask")
        if self._http.is_closed:
            raise call.error(NotSentError, "the connections are closed: the process is stopping")
        # Not built by the client, whose cookies are shared by all accounts and must not travel between them.
        request = httpx2.Request(
            call.method,
            call.base_url + call.path,
            params=call.query or None,
            headers=self._headers(call),
            content=None if call.body is None else exact_json.dumps(call.body).encode("ascii"),
            extensions={"timeout": _timeouts(timeout), "trace": progress},
        )
        return await self._http.send(request, stream=True, auth=None, follow_redirects=False)

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": _program_of(self._http)}
        if call.method != "GET":
            # Also without a body: the gateway answers 406 to a POST without this header.
            headers["Content-Type"] = "application/json"
        return headers | self._credentials.headers(with_endpoints_key=call.with_endpoints_key)


def _program_of(http: httpx2.AsyncClient) -> str:
    """Return how requests name the program that sends them: as its HTTP client does, unless by the library's name."""
    named = http.headers.get("User-Agent", "")
    return _PROGRAM if not named or named.startswith(_LIBRARY) else named


@contextmanager
def _trace_exchange(call: Call) -> Iterator[telemetry.Step]:
    """Report an exchange as a telemetry step. The request carries no trace header: the interface defines none."""
    with telemetry.step(telemetry.Kind.GATEWAY, call.endpoint, payment=call.order_id) as step:
        step.outcome = "no_answer"
        try:
            yield step
        except NotSentError:
            step.outcome = "not_sent"
            raise


def _record_status(step: telemetry.Step, response: httpx2.Response) -> None:
    step.outcome = f"{response.status_code // 100}xx"
    step.facts["status"] = response.status_code


def _timeouts(seconds: float) -> dict[str, float]:
    # Waiting for the pool or the host times out early, while it is still certain that nothing was sent.
    early = min(seconds / 3, _CONNECT_SECONDS)
    return {"connect": early, "pool": early, "read": seconds, "write": seconds}


async def read_body(call: Call, response: httpx2.Response) -> bytes:
    """Return the body of an opened response. Raises ``OutcomeUnknownError`` if it exceeds 4 MiB: none here should."""
    try:
        return await outbound.read_at_most(_MAX_RESPONSE_BYTES, response)
    except outbound.BodyError as exc:
        raise call.error(OutcomeUnknownError, str(exc), http_status=response.status_code) from None


async def stream_body(call: Call, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Yield the body of an opened response as it arrives. Raises ``OutcomeUnknownError`` if it is incomplete."""
    try:
        async with aclosing(outbound.stream_body(response)) as arriving:
            async for piece in arriving:
                yield piece
    except outbound.BodyError as exc:
        raise call.error(OutcomeUnknownError, str(exc), http_status=response.status_code) from None


def path_segment(text: str) -> str:
    """Return ``text`` quoted as one path segment. Raises ``InvalidRequestError`` if it cannot be one."""
    if text in ("", ".", ".."):
        raise InvalidRequestError("path", "a step that is not empty and not dots", text or "an empty text")
    return quote(text, safe="")


def _failure(call: Call, exc: Exception, progress: _Progress) -> GatewayError:
    kind = classify_connection_failure(exc)
    if isinstance(exc, _NOT_SENT_ERRORS):
        error: GatewayError = call.error(NotSentError, f"no connection to the gateway: {REASONS[kind]}")
    elif isinstance(exc, TimeoutError) and progress.connecting and not progress.writing:
        error = call.error(NotSentError, "no connection to the gateway in time")
    else:
        error = call.error(OutcomeUnknownError, f"the request left and no answer came back: {REASONS[kind]}")
    error.connection = kind
    return error
