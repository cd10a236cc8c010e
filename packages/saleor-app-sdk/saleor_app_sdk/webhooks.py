"""Turns the raw bytes of a webhook into the response: verify, then parse, then check, then handle.

No part of a body is parsed before its signature is verified. The responses to errors:

- **Unverified sender** (unknown Saleor, bad signature): 401 and an error, nothing else. Both cases get the same
  response, so that trying out addresses does not reveal who uses the app.
- **Signed, but not usable** (empty, unreadable, another event, another app, too old): a 4xx. In a session Saleor treats
  this as an undelivered request: its failure is not final and the shopper can try again, whereas a 200 with a failure
  in it would end the transaction. For a requested action Saleor ignores a status below 500 and reads the body, so there
  the same 4xx carries a well-formed failure too; staff would see a bare error as "Missing value for field". Never a
  5xx: Saleor would retry the request five times, with an empty body (Saleor contract, A.4 and A.5).
- **Signed and usable, but the app failed or took too long**: 200 and the response of the definition's ``on_error``, or
  the event's well-formed failure. An asynchronous event has no failure response: it gets 503, so that Saleor shows it
  as failed and sends it again; after a 4xx it would not. Nor has a synchronous one that is not about payments: it gets
  a 400, and Saleor does what it does without the app.

Saleor waits for a response for 18 seconds from its request on (Saleor contract, A.2), so the deadline counts from
there, and everything has to fit into it: keys, the proof of a token, the database, the handler. If a handler takes
longer, the response is sent without it; the handler continues, because the outcome of its requests must be recorded.
"""

import asyncio
import hashlib
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import structlog
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from integration_base import telemetry
from integration_base.exact_json import dumps, loads
from integration_base.outbound import Deadline
from saleor_app_sdk.addresses import is_api_url
from saleor_app_sdk.errors import (
    NotUsableError,
    NotVerifiedError,
    RequestRefusedError,
    StillUnderwayError,
    TooLateError,
)
from saleor_app_sdk.events import Event, RequestedAction
from saleor_app_sdk.installation import Installation, InstallationStore
from saleor_app_sdk.keyring import Keyring, bad_signature_error
from saleor_app_sdk.recipient import RecipientCheck
from saleor_app_sdk.responses import SessionResponse, WebhookResponse
from saleor_app_sdk.versions import WITH_PAYMENT_METHODS, format_release, parse_release
from saleor_app_sdk.webhook_definition import (
    APP_ERROR_MESSAGE,
    WebhookContext,
    WebhookDefinition,
    build_action_failure,
    build_failure,
    build_uncertain_response,
    has_failure_response,
)

MAX_EVENT_AGE = timedelta(hours=1)
# Counted from the arrival of a request; Saleor waits 18 seconds (Saleor contract, A.2).
BUDGET = timedelta(seconds=12)
# How far Saleor's clock may be ahead of ours.
LEEWAY = timedelta(minutes=5)
# Time beyond the budget in which a handler may record the outcome of its calls; `on_error` gets as much after it.
GRACE_PERIOD = timedelta(seconds=2)

_CHECK_TIMEOUT_MESSAGE = "The payment app could not check this request in time, and did nothing. Try again."

_APP_FAULT_CODES = {"APP_ERROR", "TOO_LATE"}  # codes of refusals that are the app's own fault
_MAX_TRACEBACK_FRAMES = 6

T = TypeVar("T")

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """The HTTP response: a status and JSON bytes. ``outcome`` summarises the request in a word for operators.

    ``refusal`` is why the request never reached its handler; None if it did.
    """

    status: int
    body: bytes
    outcome: str = "answered"
    refusal: RequestRefusedError | None = None


class WebhookReceiver:
    """Receives every webhook of the app. Never raises, so that only asynchronous events can get a 5xx."""

    def __init__(
        self,
        *,
        store: InstallationStore,
        keyring: Keyring,
        recipients: RecipientCheck,
        now: Callable[[], datetime],
        max_event_age: timedelta = MAX_EVENT_AGE,
    ) -> None:
        self._store = store
        self._keyring = keyring
        self._recipients = recipients
        self._now = now
        self._max_event_age = max_event_age
        self._grace_seconds = GRACE_PERIOD.total_seconds()
        self._running_handlers: set[asyncio.Task[WebhookResponse]] = set()

    async def receive(
        self, webhook: WebhookDefinition, headers: Mapping[str, str], body: bytes | None, deadline: Deadline
    ) -> Reply:
        """Respond to one request, which arrived when ``deadline`` was created.

        ``headers`` have lower-case names; ``body`` is None when it was too long to be read.
        """
        arrived = monotonic()
        with telemetry.tracing(telemetry.current_trace_id()), bound_contextvars(webhook=webhook.header):
            installation = await _result_or_refusal(webhook, self._verify(headers, body, deadline))
            if isinstance(installation, Reply):
                with telemetry.step(telemetry.Kind.WEBHOOK, webhook.header, since=arrived) as step:
                    step.outcome = installation.outcome
                return installation
            # Only after the sender is verified: strangers must not decide which log lines belong together.
            if trace := telemetry.read_traceparent(headers.get("traceparent")):
                telemetry.continue_trace(trace)
            saleor = installation.saleor_api_url
            with (
                bound_contextvars(saleor=saleor),
                telemetry.step(telemetry.Kind.WEBHOOK, webhook.header, since=arrived) as step,
            ):
                reply = await self._reply(webhook, headers, body or b"", installation, deadline)
                step.outcome = reply.outcome
            return reply

    async def _reply(
        self,
        webhook: WebhookDefinition,
        headers: Mapping[str, str],
        body: bytes,
        installation: Installation,
        deadline: Deadline,
    ) -> Reply:
        parsed = await _result_or_refusal(webhook, self._parse_in_time(webhook, headers, body, installation, deadline))
        if isinstance(parsed, Reply):
            await self._tell_refusal(webhook, installation, parsed.refusal)
            return parsed
        if len(body) > webhook.max_bytes:
            return await self._refuse_long(webhook, *parsed)
        try:
            return await self._respond(webhook, *parsed)
        except NotUsableError as refusal:
            return _build_refusal(webhook, refusal)

    async def _refuse_long(self, webhook: WebhookDefinition, event: Event, context: WebhookContext) -> Reply:
        """Refuse an event whose refund might be longer than anything that is read: nothing is begun."""
        most = webhook.max_bytes // (1024 * 1024)
        message = f"There is too much in this order: Saleor's request about it is longer than {most} MiB."
        refusal = NotUsableError(400, "TOO_LONG", message)
        logger.warning("webhook.refused", code=refusal.code, error=refusal.message)
        await self._tell_refusal(webhook, context.installation, refusal)
        if not has_failure_response(event):
            return _build_refusal(webhook, refusal)
        return Reply(200, dumps(build_failure(event, message, refusal.code).dump()).encode(), "refused", refusal)

    async def _tell_refusal(
        self, webhook: WebhookDefinition, installation: Installation, refusal: RequestRefusedError | None
    ) -> None:
        if webhook.on_refusal is None or not isinstance(refusal, NotUsableError):
            return
        try:
            async with asyncio.timeout(self._grace_seconds):
                await webhook.on_refusal(installation, refusal)
        except Exception as error:  # noqa: BLE001 - Saleor's answer does not depend on it
            _log(error, "webhook.refusal_not_sent", webhook)

    async def _verify(self, headers: Mapping[str, str], body: bytes | None, deadline: Deadline) -> Installation:
        saleor_api_url = headers.get("saleor-api-url", "")
        signature = headers.get("saleor-signature", "")
        if body is None:
            raise NotVerifiedError("TOO_LONG", "The event is longer than any event that this webhook accepts.")
        if not is_api_url(saleor_api_url):
            raise NotVerifiedError("MISSING_SALEOR_API_URL", "The request does not say which Saleor it is from.")
        if not signature:
            raise NotVerifiedError("MISSING_SIGNATURE", "The request is not signed.")
        try:
            async with asyncio.timeout(deadline.left):
                installation = await self._store.find(saleor_api_url)
                if installation is None:
                    logger.warning("installation.not_found", saleor=saleor_api_url)
                    raise bad_signature_error()
                await self._keyring.verify(installation, signature, body)
        except TimeoutError as exc:
            raise NotVerifiedError("TOO_LATE", "The signature could not be checked in time.") from exc
        return installation

    async def _parse_in_time(
        self,
        webhook: WebhookDefinition,
        headers: Mapping[str, str],
        body: bytes,
        installation: Installation,
        deadline: Deadline,
    ) -> tuple[Event, WebhookContext]:
        async with asyncio.timeout(deadline.left):
            return await self._parse_and_check(webhook, headers, body, installation, deadline)

    async def _parse_and_check(
        self,
        webhook: WebhookDefinition,
        headers: Mapping[str, str],
        body: bytes,
        installation: Installation,
        deadline: Deadline,
    ) -> tuple[Event, WebhookContext]:
        if not body:
            # Saleor's own retry after a 5xx, with a valid signature over an empty body.
            raise NotUsableError(
                400, "EMPTY_BODY", "Saleor sent an empty request. Check the payment before trying again."
            )
        payload = _parse_json(body)
        # The header is not signed, the body is: both must name this event, or one event's body would do for another.
        if headers.get("saleor-event", "").lower() != webhook.header or payload.get("__typename") != webhook.typename:
            raise NotUsableError(400, "WRONG_EVENT", f"This is the address for {webhook.event_type} only.")
        event = _parse_event(webhook, payload)
        received_at = self._now()
        self._check_age(event, received_at)
        installation = await self._recipients.check(installation, event.recipient, event.version)
        release = parse_release(event.version)
        if event.shows_presence:
            await self._store.record_contact(installation, None if release is None else format_release(release))
        digest = hashlib.sha256(body).hexdigest()
        return event, WebhookContext(installation, received_at, event.version, deadline, digest)

    def _check_age(self, event: Event, now: datetime) -> None:
        # A signature has no time, so without this check an old request could be replayed for ever.
        if event.expires and now - event.issued_at > self._max_event_age:
            raise NotUsableError(400, "TOO_OLD", "This request is too old to be processed. Request it again.")
        if event.issued_at - now > LEEWAY:
            raise NotUsableError(
                400, "FROM_THE_FUTURE", "This request is from the future: the clocks of Saleor and the app differ."
            )

    async def _respond(self, webhook: WebhookDefinition, event: Event, context: WebhookContext) -> Reply:
        try:
            return Reply(200, _render(webhook, await self._call_handler(webhook, event, context), context))
        except Exception as error:  # noqa: BLE001 - an error of ours must not become a 5xx that Saleor repeats
            _log(error, "webhook.failed", webhook)
            outcome = "late" if isinstance(error, TooLateError) else "failed"
            return Reply(200, await self._call_error_handler(webhook, event, context, error), outcome)

    async def _call_handler(self, webhook: WebhookDefinition, event: Event, context: WebhookContext) -> WebhookResponse:
        """Return the handler's response. Raises TooLateError; the handler then continues in the background."""
        handling = asyncio.ensure_future(webhook.handler(event, context))
        self._running_handlers.add(handling)  # the event loop alone keeps no strong reference
        handling.add_done_callback(self._running_handlers.discard)
        await asyncio.wait({handling}, timeout=context.deadline.left + self._grace_seconds)
        if not handling.done():
            handling.add_done_callback(lambda ended: _log_late(ended, webhook))
            raise TooLateError
        return handling.result()

    async def _call_error_handler(
        self, webhook: WebhookDefinition, event: Event, context: WebhookContext, error: Exception
    ) -> bytes:
        """Return the response of ``on_error``, or the event's failure; raise NotUsableError if it has none."""
        is_uncertain = is_running = isinstance(error, StillUnderwayError)
        if webhook.on_error is not None:
            try:
                async with asyncio.timeout(self._grace_seconds):
                    return _render(webhook, await webhook.on_error(event, context, error), context)
            except Exception as second:  # noqa: BLE001 - as above
                if second is not error:
                    _log(second, "webhook.failed_twice", webhook)
                    is_uncertain = True
        if not has_failure_response(event):
            raise NotUsableError(_app_error_status(webhook.event), "APP_ERROR", APP_ERROR_MESSAGE) from None
        if is_uncertain:
            return dumps(build_uncertain_response(event, APP_ERROR_MESSAGE, still_running=is_running).dump()).encode()
        return dumps(build_failure(event, APP_ERROR_MESSAGE).dump()).encode()


async def _result_or_refusal(webhook: WebhookDefinition, checking: Awaitable[T]) -> T | Reply:
    """Return the result of a check, or the response to send when it refuses the request, fails or times out."""
    try:
        return await checking
    except RequestRefusedError as refusal:
        logger.warning("webhook.refused", code=refusal.code, error=refusal.message)
        return _build_refusal(webhook, refusal)
    except TimeoutError:
        logger.warning("webhook.check_timed_out")
        return _build_refusal(
            webhook, NotUsableError(_app_error_status(webhook.event), "TOO_LATE", _CHECK_TIMEOUT_MESSAGE)
        )
    except Exception:  # an error of ours must not become a 5xx, which Saleor repeats with an empty body
        logger.exception("webhook.check_failed")
        return _build_refusal(webhook, NotUsableError(_app_error_status(webhook.event), "APP_ERROR", APP_ERROR_MESSAGE))


def _app_error_status(event: type[Event]) -> int:
    """Return the status for an error of the app: Saleor retries an asynchronous event after a 5xx, and only then."""
    return 503 if event.is_asynchronous else 400


def _parse_json(body: bytes) -> dict[str, Any]:
    try:
        payload = loads(body, any_number=True)
    except ValueError as exc:
        raise NotUsableError(400, "UNREADABLE", "Saleor's request is not readable as JSON.") from exc
    if not isinstance(payload, dict):
        raise NotUsableError(400, "UNREADABLE", "Saleor's request is not a JSON object.")
    return payload


def _parse_event(webhook: WebhookDefinition, payload: dict[str, Any]) -> Event:
    try:
        return webhook.event.model_validate(payload)
    except ValidationError as exc:
        # A field that Saleor could not resolve is null, and the body gains `errors`. That alone is no reason to refuse;
        # a missing part that the app needs is.
        missing = ", ".join(sorted({".".join(str(part) for part in error["loc"]) for error in exc.errors()}))
        why = " Saleor itself reports errors in it." if payload.get("errors") else ""
        raise NotUsableError(
            400, "UNREADABLE", f"Saleor's request has missing or invalid fields: {missing}.{why}"
        ) from exc


def _render(webhook: WebhookDefinition, answer: WebhookResponse, context: WebhookContext) -> bytes:
    if not webhook.accepts(answer):
        msg = f"{type(answer).__name__} is no answer to {webhook.event_type}"
        raise TypeError(msg)
    if isinstance(answer, SessionResponse) and context.schema_version < WITH_PAYMENT_METHODS:
        answer = answer.model_copy(update={"card": None})
    return dumps(answer.dump()).encode()


def _log(error: Exception, what: str, webhook: WebhookDefinition) -> None:
    if getattr(error, "is_logged", False):  # its cause has been logged once for all: a database that is away
        return
    logger.error(what, webhook=webhook.header, error=type(error).__name__, where=_safe_traceback(error))


def _safe_traceback(error: BaseException) -> list[str]:
    """Return where an error happened: its innermost frames, outermost of them first, as ``file.py:12 function``.

    The form is safe to log: no message, no values, only names and lines. An error's own message can hold what was being
    handled at that moment, and that may be a card.
    """
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_TRACEBACK_FRAMES:]
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]


def _log_late(handling: asyncio.Task[WebhookResponse], webhook: WebhookDefinition) -> None:
    error = None if handling.cancelled() else handling.exception()
    if error is None:
        logger.info("webhook.handled_late", webhook=webhook.header)
    elif isinstance(error, Exception):
        _log(error, "webhook.failed_late", webhook)


def _build_refusal(webhook: WebhookDefinition, refusal: RequestRefusedError) -> Reply:
    body: dict[str, Any] = {"error": {"code": refusal.code, "message": refusal.message}}
    if isinstance(refusal, NotUsableError) and issubclass(webhook.event, RequestedAction):
        body |= build_action_failure(webhook.event, refusal.message).dump()
    outcomes = {NotVerifiedError: "not_verified", NotUsableError: "refused"}
    outcome = "failed" if refusal.code in _APP_FAULT_CODES else outcomes.get(type(refusal), "refused")
    return Reply(refusal.status, dumps(body).encode(), outcome, refusal)
