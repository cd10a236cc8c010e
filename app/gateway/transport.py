"""One HTTP exchange with the gateway, and what it means when it goes wrong.

The one question that matters after a failure is whether the request left this machine. The HTTP library's errors
answer it, and for our own deadline its trace does: until the first byte of the request is being written, nothing
was asked.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx2

from app import exact_json, outbound, telemetry
from app.gateway.credentials import Credentials
from app.gateway.errors import GatewayError, InvalidRequestError, NotSentError, OutcomeUnknownError
from app.gateway.models.base import CARD_FIELDS

_LARGEST_ANSWER = 4 * 1024 * 1024
_CONNECT_SECONDS = 5.0
_SHORTEST_SECRET = 3  # a card's security code
_SHORTEST_OF_RECIPIENTS = 6  # a document's number; what is shorter stands in many a sentence by chance
_NEVER_LEFT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
Verb = Literal["GET", "POST", "PUT"]
E = TypeVar("E", bound=GatewayError)


# What paths are made of besides names. Also a name can be one of these words, and is no secret then.
_STEPS = frozenset(
    {
        *("", "payment", "split", "purchase", "auth", "credit", "capture", "void", "refund", "recurrent", "dispute"),
        *("pos", "order", "orders", "cancel", "transactions", "recurring", "balances", "accounts"),
        *("applepay", "session", "tokenization", "tokenize", "streaming-report", "start", "fetch"),
    }
)
_TELLING = 24  # of a long secret, so many characters in a row are more than chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What to ask. ``body`` never shows: it may hold a card.

    ``quotable``: whether the gateway's words about it may be told, without what they repeat of it.
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
        """What is asked, without any name of an account, an order or a person: few words, whatever is asked for."""
        steps = self.path.removeprefix("/api/v1").split("/")
        return f"{self.method} {'/'.join(each if each in _STEPS else '*' for each in steps)}"

    @property
    def moves_money(self) -> bool:
        """Whether more than a question is asked: then only the gateway's own refusal says that nothing was done."""
        return self.method != "GET" and not self.path.startswith("/streaming-report/")

    def redacted(self, text: str) -> str:
        """``text`` of the gateway without what it repeats of the request's card, token, cryptogram or recipient."""
        if text and not self.quotable:
            return "(what the gateway says is not shown)"
        for secret in sorted((*_card_texts(self.body or {}), *_of_recipient(self.body or {})), key=len, reverse=True):
            text = text.replace(secret, "(not shown)")
            if len(secret) > _TELLING and (told := text.find(secret[:_TELLING])) >= 0:  # a quotation that is cut off
                text = f"{text[:told]}(not shown)"
        return text

    def error(self, kind: type[E], message: str, *, code: str | None = None, http_status: int | None = None) -> E:
        """An error of this call."""
        return kind(
            message, method=self.method, path=self.path, order_id=self.order_id, code=code, http_status=http_status
        )


def _card_texts(body: Mapping[str, Any]) -> Iterator[str]:
    """The texts in a request that nobody may see: all that stands in its card fields."""
    inner = [body[name] for name in CARD_FIELDS & body.keys()]
    while inner:
        match inner.pop():
            case Mapping() as members:
                inner.extend(members.values())
            case list() as items:
                inner.extend(items)
            case str() as text if len(text) >= _SHORTEST_SECRET:
                yield text


def _of_recipient(body: Mapping[str, Any]) -> Iterator[str]:
    """What a request says of whom a payout is for (gateway interface, 1c: ``properties``)."""
    properties = body.get("properties")
    if isinstance(properties, Mapping):
        said = (text for text in properties.values() if isinstance(text, str))
        yield from (text for text in said if len(text) >= _SHORTEST_OF_RECIPIENTS)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: whatever status, whole. ``content`` never shows, nor do the account's ``keys``."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)
    keys: tuple[str, ...] = field(default=(), repr=False)

    def holding(self, content: bytes) -> "Answer":
        """The same answer with this ``content``."""
        return replace(self, content=content)

    def redacted(self, text: str) -> str:
        """``text`` of the gateway without what it repeats of the keys that it was asked with."""
        for key in self.keys:
            text = text.replace(key, "(not shown)")
        return text


@dataclass(slots=True)
class _Progress:
    """How far the request got, told by the HTTP library's trace."""

    connecting: bool = False
    writing: bool = False

    async def __call__(self, event: str, _info: Mapping[str, Any]) -> None:
        self.connecting = True
        if "send_request_headers" in event:
            self.writing = True


class Transport:
    """The exchanges of one account over the connections of the whole process."""

    def __init__(self, http: httpx2.AsyncClient, credentials: Credentials) -> None:
        self._http = http
        self._credentials = credentials

    @property
    def keys(self) -> tuple[str, ...]:
        """Everything that is secret in what is sent."""
        return self._credentials.keys

    async def exchange(self, call: Call, *, timeout: float) -> Answer:
        """Send ``call`` and read the whole answer within ``timeout`` seconds in all.

        Raises ``NotSentError`` or ``OutcomeUnknownError``. Redirects are answers: they are not followed.
        """
        progress = _Progress()
        with _asking(call) as step:
            try:
                async with asyncio.timeout(timeout):
                    response = await self._send(call, timeout, progress)
                    try:
                        content = await read_whole(call, response)
                    finally:
                        await response.aclose()
                _note_status(step, response)
                return Answer(response.status_code, response.headers, content, self.keys)
            except (httpx2.RequestError, TimeoutError) as exc:
                failure = _failure(call, exc, progress)
            # Outside of the handler: the library's error holds the request, and the request holds the keys.
            raise failure

    @asynccontextmanager
    async def open(self, call: Call, *, timeout: float) -> AsyncIterator[httpx2.Response]:
        """The answer's head, its body to be read piece by piece. ``timeout`` is the longest silence, in seconds.

        What goes wrong with the connection while it is read is raised here too, as ``OutcomeUnknownError``.
        """
        progress, failure = _Progress(), None
        try:
            with _asking(call) as step:
                response = await self._send(call, timeout, progress)
                _note_status(step, response)
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
        # Made by hand, not by the client: its cookies are shared by all accounts and must not travel between them.
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
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "saleor-gateway"}
        if call.method != "GET":
            # Also without a body: a POST that does not say JSON is answered 406.
            headers["Content-Type"] = "application/json"
        return headers | self._credentials.headers(with_endpoints_key=call.with_endpoints_key)


@contextmanager
def _asking(call: Call) -> Iterator[telemetry.Step]:
    """Tell whoever watches of an exchange. Nothing of it is said in the request: the interface names no such header."""
    with telemetry.step(telemetry.Kind.GATEWAY, call.endpoint, payment=call.order_id) as step:
        step.outcome = "no_answer"
        try:
            yield step
        except NotSentError:
            step.outcome = "not_sent"
            raise


def _note_status(step: telemetry.Step, response: httpx2.Response) -> None:
    step.outcome = f"{response.status_code // 100}xx"
    step.facts["status"] = response.status_code


def _timeouts(seconds: float) -> dict[str, float]:
    # A pool or a host that keeps us waiting is noticed while it is still certain that nothing was sent.
    early = min(seconds / 3, _CONNECT_SECONDS)
    return {"connect": early, "pool": early, "read": seconds, "write": seconds}


async def read_whole(call: Call, response: httpx2.Response) -> bytes:
    """The body of an opened answer. One of more than 4 MiB is ``OutcomeUnknownError``: nothing here is that large."""
    try:
        return await outbound.read_at_most(_LARGEST_ANSWER, response)
    except outbound.BodyError as exc:
        raise call.error(OutcomeUnknownError, str(exc), http_status=response.status_code) from None


async def body_pieces(call: Call, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body of an opened answer, piece by piece as it arrives. ``OutcomeUnknownError`` for one that is not whole."""
    try:
        async with aclosing(outbound.pieces(response)) as arriving:
            async for piece in arriving:
                yield piece
    except outbound.BodyError as exc:
        raise call.error(OutcomeUnknownError, str(exc), http_status=response.status_code) from None


def path_step(text: str) -> str:
    """``text`` as one step of a path, whatever is in it. ``InvalidRequestError`` for what can be none."""
    if text in ("", ".", ".."):
        raise InvalidRequestError("path", "a step that is not empty and not dots", text or "an empty text")
    return quote(text, safe="")


def _failure(call: Call, exc: Exception, progress: _Progress) -> GatewayError:
    name = type(exc).__name__
    if isinstance(exc, _NEVER_LEFT):
        return call.error(NotSentError, f"no connection to the gateway ({name})")
    if isinstance(exc, TimeoutError) and progress.connecting and not progress.writing:
        return call.error(NotSentError, "no connection to the gateway in time")
    return call.error(OutcomeUnknownError, f"the request left and no answer came back ({name})")
