"""From the raw bytes of a webhook to the answer: verify, then read, then check, then act.

Nothing of a body is parsed before its signature holds. What is answered when something is wrong:

- **Nobody knows whose it is** (unknown Saleor, bad signature): 401 and an error, nothing else. Both hear the same, so
  that nobody who tries addresses out learns who uses the app.
- **Signed, but not to be acted upon** (empty, unreadable, another event, another app, too old): a 4xx. In a session
  that is what Saleor calls an undelivered request: its failure is not final and the shopper can try again, whereas a
  200 with a failure in it would end the transaction. On a requested action Saleor does not look at a status below 500
  but reads the body, so there the same 4xx carries a well-formed failure too; a bare error would reach staff as
  "Missing value for field". Never a 5xx: Saleor would repeat the request five times, with an empty body (Saleor
  contract, A.4 and A.5).
- **Signed, understood, and then something broke in here, or took too long**: 200 and the event's well-formed failure,
  or what the definition's ``otherwise`` says instead. To an asynchronous event there is no failure: it is answered 503,
  so that Saleor shows it as failed and sends it again; after a 4xx it would not.

Saleor reads an answer for 18 seconds from its request on (Saleor contract, A.2), so the time is counted from there, and
everything has to fit into it: keys, the proof of a token, the database, the handler. A handler that takes longer is
answered for; it goes on, because what it has asked others must be recorded.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, TypeVar

import structlog
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from app import telemetry
from app.exact_json import dumps, loads
from app.outbound import Deadline
from app.saleor.addresses import is_api_url
from app.saleor.answers import Answer, SessionAnswer
from app.saleor.errors import NotUsableError, NotVerifiedError, RequestRefusedError, StillUnderwayError, TooLateError
from app.saleor.events import Event, ListStoredPaymentMethods, RequestedAction
from app.saleor.installation import InstallationStore, Installed
from app.saleor.keyring import Keyring, not_signed
from app.saleor.recipient import RecipientCheck
from app.saleor.safe_traceback import safe_traceback
from app.saleor.signature import MOST_BODY_BYTES
from app.saleor.versions import WITH_PAYMENT_METHODS, read_release, written
from app.saleor.webhook_definition import (
    SORRY,
    WebhookContext,
    WebhookDefinition,
    failure_of,
    failure_of_action,
    uncertain_of,
)

OLDEST = timedelta(hours=1)
# From the arrival of a request on; Saleor waits 18 seconds (Saleor contract, A.2).
BUDGET = timedelta(seconds=12)
# How far Saleor's clock may be ahead of ours.
LEEWAY = timedelta(minutes=5)
# What a handler may take beyond the budget to record what came of its calls, and `otherwise` after it.
BEYOND = timedelta(seconds=2)

_NOT_IN_TIME = "The payment app could not check this request in time, and did nothing. Try again."

_OURS = {"APP_ERROR", "TOO_LATE"}  # codes of refusals that are nobody's fault but the app's

T = TypeVar("T")

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: a status and JSON bytes. ``outcome`` is what became of the request, in a word for operators."""

    status: int
    body: bytes
    outcome: str = "answered"


class WebhookReceiver:
    """Receives every webhook of the app. Never raises, so that Saleor sees no 5xx but of an asynchronous event."""

    def __init__(
        self,
        *,
        store: InstallationStore,
        keyring: Keyring,
        recipients: RecipientCheck,
        now: Callable[[], datetime],
        oldest: timedelta = OLDEST,
    ) -> None:
        self._store = store
        self._keyring = keyring
        self._recipients = recipients
        self._now = now
        self._oldest = oldest
        self._beyond = BEYOND.total_seconds()
        self._late: set[asyncio.Task[Answer]] = set()

    async def receive(
        self, webhook: WebhookDefinition, headers: Mapping[str, str], body: bytes | None, deadline: Deadline
    ) -> Reply:
        """Answer one request, which has arrived when ``deadline`` was made.

        ``headers`` have lower-case names; ``body`` is None when it was too long to be read.
        """
        arrived = monotonic()
        with telemetry.tracing(telemetry.trace_id()), bound_contextvars(webhook=webhook.header):
            installation = await _or_refusal(webhook, self._verified(headers, body, deadline))
            if isinstance(installation, Reply):
                with telemetry.step(telemetry.Kind.WEBHOOK, webhook.header, since=arrived) as step:
                    step.outcome = installation.outcome
                return installation
            # Not before it is certain who says so: strangers have no say in what log lines belong together.
            if trace := telemetry.read_traceparent(headers.get("traceparent")):
                telemetry.follow(trace)
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
        installation: Installed,
        deadline: Deadline,
    ) -> Reply:
        understood = await _or_refusal(webhook, self._understood(webhook, headers, body, installation, deadline))
        if isinstance(understood, Reply):
            return understood
        try:
            return await self._answered(webhook, *understood)
        except NotUsableError as refusal:
            return _refused(webhook, refusal)

    async def _verified(self, headers: Mapping[str, str], body: bytes | None, deadline: Deadline) -> Installed:
        saleor_api_url = headers.get("saleor-api-url", "")
        signature = headers.get("saleor-signature", "")
        if body is None:
            raise NotVerifiedError("TOO_LONG", f"No event is longer than {MOST_BODY_BYTES} bytes.")
        if not is_api_url(saleor_api_url):
            raise NotVerifiedError("MISSING_SALEOR_API_URL", "The request does not say which Saleor it is from.")
        if not signature:
            raise NotVerifiedError("MISSING_SIGNATURE", "The request is not signed.")
        try:
            async with asyncio.timeout(deadline.left):
                installation = await self._store.find(saleor_api_url)
                if installation is None:
                    logger.warning("saleor_not_installed", saleor=saleor_api_url)
                    raise not_signed()
                await self._keyring.verify(installation, signature, body)
        except TimeoutError as exc:
            raise NotVerifiedError("TOO_LATE", "The signature could not be checked in time.") from exc
        return installation

    async def _understood(
        self,
        webhook: WebhookDefinition,
        headers: Mapping[str, str],
        body: bytes,
        installation: Installed,
        deadline: Deadline,
    ) -> tuple[Event, WebhookContext]:
        async with asyncio.timeout(deadline.left):
            return await self._read_and_checked(webhook, headers, body, installation, deadline)

    async def _read_and_checked(
        self,
        webhook: WebhookDefinition,
        headers: Mapping[str, str],
        body: bytes,
        installation: Installed,
        deadline: Deadline,
    ) -> tuple[Event, WebhookContext]:
        if not body:
            # Saleor's own retry after a 5xx, its signature valid over nothing.
            raise NotUsableError(
                400, "EMPTY_BODY", "Saleor sent an empty request. Look at the payment before trying again."
            )
        said = _read(body)
        # The header is not signed, the body is: both must name this event, or one event's body would do for another.
        if headers.get("saleor-event", "").lower() != webhook.header or said.get("__typename") != webhook.typename:
            raise NotUsableError(400, "WRONG_EVENT", f"This is the address for {webhook.event_type} only.")
        event = _event(webhook, said)
        received_at = self._now()
        self._check_age(event.issued_at, received_at)
        installation = await self._recipients.check(installation, event.recipient, event.version)
        release = read_release(event.version)
        if event.shows_presence:
            await self._store.heard_from(installation, None if release is None else written(release))
        digest = hashlib.sha256(body).hexdigest()
        return event, WebhookContext(installation, received_at, event.version, deadline, digest)

    def _check_age(self, issued_at: datetime, now: datetime) -> None:
        # A signature says nothing about when, so without this an old request could be played again for ever.
        if now - issued_at > self._oldest:
            raise NotUsableError(400, "TOO_OLD", "This request is too old to be acted upon. Ask for it again.")
        if issued_at - now > LEEWAY:
            raise NotUsableError(
                400, "FROM_THE_FUTURE", "This request is from the future: the clocks of Saleor and the app differ."
            )

    async def _answered(self, webhook: WebhookDefinition, event: Event, context: WebhookContext) -> Reply:
        try:
            return Reply(200, _rendered(webhook, await self._handled(webhook, event, context), context))
        except Exception as error:  # noqa: BLE001 - an error of ours must not become a 5xx that Saleor repeats
            _log(error, "saleor_webhook_failed", webhook)
            # No list is kept by Saleor of a request that has failed.
            if isinstance(event, ListStoredPaymentMethods) or event.is_asynchronous:
                raise NotUsableError(_failed(webhook.event), "APP_ERROR", SORRY) from None
            outcome = "late" if isinstance(error, TooLateError) else "failed"
            return Reply(200, await self._answered_otherwise(webhook, event, context, error), outcome)

    async def _handled(self, webhook: WebhookDefinition, event: Event, context: WebhookContext) -> Answer:
        """Return what the handler says. Raises TooLateError; the handler then goes on behind our back."""
        handling = asyncio.ensure_future(webhook.handler(event, context))
        self._late.add(handling)  # the loop alone does not keep it
        handling.add_done_callback(self._late.discard)
        await asyncio.wait({handling}, timeout=context.deadline.left + self._beyond)
        if not handling.done():
            handling.add_done_callback(lambda ended: _log_late(ended, webhook))
            raise TooLateError
        return handling.result()

    async def _answered_otherwise(
        self, webhook: WebhookDefinition, event: Event, context: WebhookContext, error: Exception
    ) -> bytes:
        if webhook.otherwise is not None:
            try:
                async with asyncio.timeout(self._beyond):
                    return _rendered(webhook, await webhook.otherwise(event, context, error), context)
            except Exception as second:  # noqa: BLE001 - as above
                if second is not error:
                    _log(second, "saleor_webhook_failed_twice", webhook)
                    return dumps(
                        uncertain_of(event, SORRY, goes_on=isinstance(error, StillUnderwayError)).dump()
                    ).encode()
        if isinstance(error, StillUnderwayError):
            return dumps(uncertain_of(event, SORRY, goes_on=True).dump()).encode()
        return dumps(failure_of(event, SORRY).dump()).encode()


async def _or_refusal(webhook: WebhookDefinition, checking: Awaitable[T]) -> T | Reply:
    """Return what a check gives, or what is answered when it does not hold or comes to nothing."""
    try:
        return await checking
    except RequestRefusedError as refusal:
        logger.warning("saleor_webhook_refused", code=refusal.code, error=refusal.message)
        return _refused(webhook, refusal)
    except TimeoutError:
        logger.warning("saleor_webhook_not_checked_in_time")
        return _refused(webhook, NotUsableError(_failed(webhook.event), "TOO_LATE", _NOT_IN_TIME))
    except Exception:  # an error of ours must not become a 5xx, which Saleor repeats with an empty body
        logger.exception("saleor_webhook_not_checked")
        return _refused(webhook, NotUsableError(_failed(webhook.event), "APP_ERROR", SORRY))


def _failed(event: type[Event]) -> int:
    """Return the status for an error of ours: what is asynchronous Saleor sends again after a 5xx, and only then."""
    return 503 if event.is_asynchronous else 400


def _read(body: bytes) -> dict[str, Any]:
    try:
        said = loads(body, any_number=True)
    except ValueError as exc:
        raise NotUsableError(400, "UNREADABLE", "Saleor's request is not readable as JSON.") from exc
    if not isinstance(said, dict):
        raise NotUsableError(400, "UNREADABLE", "Saleor's request is not a JSON object.")
    return said


def _event(webhook: WebhookDefinition, said: dict[str, Any]) -> Event:
    try:
        return webhook.event.model_validate(said)
    except ValidationError as exc:
        # A field that Saleor could not resolve is null, and the body gains `errors`. That alone is no reason to refuse;
        # a missing part that we need is.
        missing = ", ".join(sorted({".".join(str(part) for part in error["loc"]) for error in exc.errors()}))
        why = " Saleor itself reports errors in it." if said.get("errors") else ""
        raise NotUsableError(
            400, "UNREADABLE", f"Saleor's request lacks what it needs to say, or says it wrongly: {missing}.{why}"
        ) from exc


def _rendered(webhook: WebhookDefinition, answer: Answer, context: WebhookContext) -> bytes:
    if not webhook.accepts(answer):
        msg = f"{type(answer).__name__} is no answer to {webhook.event_type}"
        raise TypeError(msg)
    if isinstance(answer, SessionAnswer) and context.schema_version < WITH_PAYMENT_METHODS:
        answer = answer.model_copy(update={"card": None})
    return dumps(answer.dump()).encode()


def _log(error: Exception, what: str, webhook: WebhookDefinition) -> None:
    logger.error(what, webhook=webhook.header, error=type(error).__name__, where=safe_traceback(error))


def _log_late(handling: asyncio.Task[Answer], webhook: WebhookDefinition) -> None:
    error = None if handling.cancelled() else handling.exception()
    if error is None:
        logger.info("saleor_webhook_handled_late", webhook=webhook.header)
    elif isinstance(error, Exception):
        _log(error, "saleor_webhook_failed_late", webhook)


def _refused(webhook: WebhookDefinition, refusal: RequestRefusedError) -> Reply:
    said: dict[str, Any] = {"error": {"code": refusal.code, "message": refusal.message}}
    if isinstance(refusal, NotUsableError) and issubclass(webhook.event, RequestedAction):
        said |= failure_of_action(webhook.event, refusal.message).dump()
    outcomes = {NotVerifiedError: "not_verified", NotUsableError: "refused"}
    outcome = "failed" if refusal.code in _OURS else outcomes.get(type(refusal), "refused")
    return Reply(refusal.status, dumps(said).encode(), outcome)
