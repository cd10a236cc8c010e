"""Webhook definitions: the event, its subscription query, its handler, and the response if the handler fails."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_type_hints

from integration_base.amounts import CENT
from integration_base.outbound import Deadline
from saleor_app_sdk.errors import NotUsableError
from saleor_app_sdk.event_types import WebhookEvent, find_webhook_event
from saleor_app_sdk.events import (
    AppEvent,
    CustomerEvent,
    Event,
    ListStoredPaymentMethods,
    PaymentGatewayInitializeSession,
    RequestedAction,
    SessionEvent,
    StoredPaymentMethodDeleteRequested,
    TransactionProcessSession,
)
from saleor_app_sdk.generic_events import GenericEvent, build_generic_event, pass_payload
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.responses import (
    Acknowledgement,
    ActionResponse,
    DataResponse,
    GatewayConfigResponse,
    SessionResponse,
    WebhookResponse,
    unique_reference,
)
from saleor_app_sdk.signature import MAX_BODY_BYTES
from saleor_app_sdk.stored_methods import MethodDeletedResponse, StoredMethodsResponse
from saleor_app_sdk.versions import Version, parse_version

# What people read after an error of the app; the error itself is in the log.
APP_ERROR_MESSAGE = (
    "The payment app could not process this because of an internal error. Check the payment before trying again."
)


WEBHOOKS_PATH = "/api/webhooks"
"""Each webhook has its own path below this one."""


@dataclass(frozen=True, slots=True)
class WebhookContext:
    """The context of a verified webhook, apart from the event. ``received_at`` is aware and in UTC.

    ``deadline`` is the time limit for the response; it counts from the arrival of the request.
    ``digest`` is the sha-256 of the verified body, in hexadecimal: a repeated delivery, or one that was recorded and
    replayed, has the same digest.
    """

    installation: Installation
    received_at: datetime
    saleor_version: str | None
    deadline: Deadline
    digest: str = ""

    @property
    def schema_version(self) -> Version:
        """The minor version of the Saleor that sent it, for example ``(3, 22)``."""
        return parse_version(self.saleor_version or self.installation.schema_version)


# For any event: each definition has its own event class, and the decorator's types tie the handler to it.
Handler = Callable[[Any, WebhookContext], Awaitable[WebhookResponse]]
ErrorHandler = Callable[[Any, WebhookContext, Exception], Awaitable[WebhookResponse]]
RefusalHandler = Callable[[Installation, NotUsableError], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class WebhookDefinition:
    """One webhook. ``query`` is the name of its document."""

    event: type[Event]
    query: str
    handler: Handler
    on_error: ErrorHandler | None
    on_refusal: RefusalHandler | None = None

    @property
    def event_type(self) -> str:
        """The form of the manifest: TRANSACTION_CHARGE_REQUESTED."""
        return self.event.event_type

    @property
    def kind(self) -> WebhookEvent:
        """What Saleor's schemas say about the event."""
        return find_webhook_event(self.event_type)

    @property
    def header(self) -> str:
        """The form of the ``Saleor-Event`` header: transaction_charge_requested."""
        return self.event_type.lower()

    @property
    def typename(self) -> str:
        """The form of the body: TransactionChargeRequested."""
        return self.kind.typename

    @property
    def slug(self) -> str:
        """The form of addresses: transaction-charge-requested."""
        return self.header.replace("_", "-")

    @property
    def path(self) -> str:
        """The path to which Saleor sends it."""
        return f"{WEBHOOKS_PATH}/{self.slug}"

    @property
    def name(self) -> str:
        """The form for people: Transaction charge requested."""
        return self.header.replace("_", " ").capitalize()

    @property
    def body_type(self) -> Any:
        """What the body is read as: the class of the event, or for other events what the handler's author chose."""
        is_generic = issubclass(self.event, GenericEvent)
        return self.event.model_fields["payload"].annotation if is_generic else self.event

    @property
    def max_bytes(self) -> int:
        """The longest body that is acted upon; what is longer is answered with a failure once it is verified.

        Events about a payment that exists name the basket's lines more than once, and whatever has happened since: what
        could be paid must be possible to give back, so they may be four times as long.
        """
        is_about_payment = issubclass(self.event, RequestedAction | TransactionProcessSession)
        return MAX_BODY_BYTES if is_about_payment else MAX_BODY_BYTES // 4

    def accepts(self, answer: WebhookResponse) -> bool:
        """Return True for a response to this event: Saleor books a refund's response to a charge as a failure."""
        if issubclass(self.event, RequestedAction):
            return isinstance(answer, ActionResponse) and answer.kind is self.event.kind
        if issubclass(self.event, GenericEvent):
            return isinstance(answer, Acknowledgement if self.event.is_asynchronous else DataResponse)
        return isinstance(
            answer, next(kind for event, kind in _RESPONSE_TYPES.items() if issubclass(self.event, event))
        )


_RESPONSE_TYPES: dict[type[Event], type[WebhookResponse]] = {
    AppEvent: Acknowledgement,
    CustomerEvent: Acknowledgement,
    SessionEvent: SessionResponse,
    PaymentGatewayInitializeSession: GatewayConfigResponse,
    ListStoredPaymentMethods: StoredMethodsResponse,
    StoredPaymentMethodDeleteRequested: MethodDeletedResponse,
}


def _classes_of_events(base: type[Event]) -> Iterator[type[Event]]:
    for event in base.__subclasses__():
        yield event
        yield from _classes_of_events(event)


_EVENTS_WITH_CLASS = frozenset(event.event_type for event in _classes_of_events(Event) if hasattr(event, "event_type"))


def build_definition(event_type: str, query: str, handler: Handler, on_error: ErrorHandler | None) -> WebhookDefinition:
    """Return the definition, with the event's class taken from the first parameter of ``handler``.

    An event without a class of its own is read as the annotated pydantic model or mapping. Raises TypeError when the
    annotation does not fit ``event_type``, or when the handler is not asynchronous; ValueError for an unknown event.
    """
    if not inspect.iscoroutinefunction(handler):
        msg = f"the handler of {event_type} must be asynchronous"
        raise TypeError(msg)
    hints = get_type_hints(handler)
    first = next(iter(inspect.signature(handler).parameters), "")
    event = hints.get(first)
    if event_type not in _EVENTS_WITH_CLASS:
        return _build_generic_definition(event_type, query, event, handler, on_error)
    if not isinstance(event, type) or not issubclass(event, Event) or getattr(event, "event_type", None) != event_type:
        msg = f"the first parameter of the handler of {event_type} must be annotated with that event's class"
        raise TypeError(msg)
    return WebhookDefinition(event, query.removesuffix(".graphql"), handler, on_error)


def _build_generic_definition(
    event_type: str, query: str, body_type: Any, handler: Handler, on_error: ErrorHandler | None
) -> WebhookDefinition:
    event = build_generic_event(find_webhook_event(event_type), body_type)
    if event is None:
        msg = f"the first parameter of the handler of {event_type} must be annotated with a pydantic model or a mapping"
        raise TypeError(msg)
    answer_error = None if on_error is None else pass_payload(on_error)
    return WebhookDefinition(event, query.removesuffix(".graphql"), pass_payload(handler), answer_error)


def has_failure_response(event: Event) -> bool:
    """Return False for an event of which no response says that it failed: Saleor gets an error status.

    It caches the response to ListStoredPaymentMethods, even an empty one; it reads none to an asynchronous event, and
    nothing of a failure in those to other events.
    """
    return not (isinstance(event, ListStoredPaymentMethods | GenericEvent) or event.is_asynchronous)


def build_failure(event: Event, message: str, code: str = "APP_ERROR") -> WebhookResponse:
    """Return the well-formed failure response to ``event``, with a unique reference, if there is one."""
    if isinstance(event, SessionEvent):
        return SessionResponse.failure(
            event.action.action_type,
            psp_reference=unique_reference(),
            message=message,
            data={"errors": [{"code": code, "message": message}]},
        )
    if isinstance(event, RequestedAction):
        return build_action_failure(type(event), message)
    if isinstance(event, StoredPaymentMethodDeleteRequested):
        return MethodDeletedResponse.failure(message)
    assert isinstance(event, PaymentGatewayInitializeSession)  # noqa: S101 - there is no further kind of event
    return GatewayConfigResponse(data={"errors": [{"code": code, "message": message}]})


def build_uncertain_response(event: Event, message: str, *, still_running: bool = False) -> WebhookResponse:
    """Return the well-formed response for an event whose outcome is unknown.

    A payment that may exist must not be called failed: that is final for Saleor, and invites the shopper to pay twice.
    "Action required" is not final and does not count as paid; Saleor calls again when the shopper returns. Anything
    else fails, as an action's own event can still be reported afterwards.

    ``still_running``: the event is still being handled. An action is pending then: reported as failed, it would be
    requested again.
    """
    if still_running and isinstance(event, RequestedAction):
        return ActionResponse.pending(event.kind, psp_reference=unique_reference())
    if not isinstance(event, SessionEvent) or event.action.amount == 0:
        return build_failure(event, message)
    return SessionResponse.action_required(
        event.action.action_type,
        psp_reference=unique_reference(),
        amount=event.action.amount.quantize(CENT),
        message=message,
        data={"errors": [{"code": "APP_ERROR", "message": message}]},
    )


def build_action_failure(event: type[RequestedAction], message: str) -> ActionResponse:
    """Return the failure response to a requested action, which needs only the class of the event."""
    return ActionResponse.failure(event.kind, psp_reference=unique_reference(), message=message)
