"""A webhook, defined once: what event, which subscription, who handles it, and what Saleor hears if nobody can."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_type_hints

from app.amounts import CENT
from app.outbound import Deadline
from app.saleor.answers import (
    Acknowledgement,
    ActionAnswer,
    Answer,
    GatewayConfigAnswer,
    SessionAnswer,
    unique_reference,
)
from app.saleor.events import (
    AppEvent,
    CustomerEvent,
    Event,
    ListStoredPaymentMethods,
    PaymentGatewayInitializeSession,
    RequestedAction,
    SessionEvent,
    StoredPaymentMethodDeleteRequested,
)
from app.saleor.installation import Installed
from app.saleor.stored_methods import MethodDeletedAnswer, StoredMethodsAnswer
from app.saleor.versions import Version, read_version

# What people hear when something broke in here; what broke stands in the log.
SORRY = (
    "The payment app could not process this because of an error of its own. Look at the payment before trying again."
)


WEBHOOKS = "/api/webhooks"
"""Below this path Saleor sends events, each to its own."""


@dataclass(frozen=True, slots=True)
class WebhookContext:
    """What is known about a verified webhook apart from the event. ``received_at`` is aware and in UTC.

    ``deadline`` is when the answer must be there; it counts from the arrival of the request.
    ``digest`` is the sha-256 of the verified body, in hexadecimal: the same delivery, repeated or played back by
    somebody who recorded it, has the same.
    """

    installation: Installed
    received_at: datetime
    saleor_version: str | None
    deadline: Deadline
    digest: str = ""

    @property
    def schema_version(self) -> Version:
        """The line of Saleor that sent it, for example ``(3, 22)``."""
        return read_version(self.saleor_version or self.installation.schema_version)


# Of any event: each definition carries its own class, and the decorator's types tie the handler to it.
Handler = Callable[[Any, WebhookContext], Awaitable[Answer]]
Otherwise = Callable[[Any, WebhookContext, Exception], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class WebhookDefinition:
    """One webhook. ``query`` is the name of its document in ``manifest/subscriptions``."""

    event: type[Event]
    query: str
    handler: Handler
    otherwise: Otherwise | None

    @property
    def event_type(self) -> str:
        """As the manifest says it: TRANSACTION_CHARGE_REQUESTED."""
        return self.event.event_type

    @property
    def header(self) -> str:
        """As ``Saleor-Event`` says it: transaction_charge_requested."""
        return self.event_type.lower()

    @property
    def typename(self) -> str:
        """As the body says it: TransactionChargeRequested."""
        return self.event.__name__

    @property
    def slug(self) -> str:
        """As addresses say it: transaction-charge-requested."""
        return self.header.replace("_", "-")

    @property
    def path(self) -> str:
        """Where Saleor sends it."""
        return f"{WEBHOOKS}/{self.slug}"

    @property
    def name(self) -> str:
        """As people say it: Transaction charge requested."""
        return self.header.replace("_", " ").capitalize()

    def accepts(self, answer: Answer) -> bool:
        """Say whether this is an answer to this event: Saleor books a refund's answer under a charge as a failure."""
        if issubclass(self.event, RequestedAction):
            return isinstance(answer, ActionAnswer) and answer.kind is self.event.kind
        return isinstance(answer, next(kind for event, kind in _ANSWERS.items() if issubclass(self.event, event)))


_ANSWERS: dict[type[Event], type[Answer]] = {
    AppEvent: Acknowledgement,
    CustomerEvent: Acknowledgement,
    SessionEvent: SessionAnswer,
    PaymentGatewayInitializeSession: GatewayConfigAnswer,
    ListStoredPaymentMethods: StoredMethodsAnswer,
    StoredPaymentMethodDeleteRequested: MethodDeletedAnswer,
}


def define(event_type: str, query: str, handler: Handler, otherwise: Otherwise | None) -> WebhookDefinition:
    """Take the event's class from the first parameter of ``handler``.

    Raises TypeError when that is not an event, or another one than ``event_type``, or the handler is not asynchronous.
    """
    if not inspect.iscoroutinefunction(handler):
        msg = f"the handler of {event_type} must be asynchronous"
        raise TypeError(msg)
    hints = get_type_hints(handler)
    first = next(iter(inspect.signature(handler).parameters), "")
    event = hints.get(first)
    if not isinstance(event, type) or not issubclass(event, Event) or getattr(event, "event_type", None) != event_type:
        msg = f"the first parameter of the handler of {event_type} must be annotated with that event's class"
        raise TypeError(msg)
    return WebhookDefinition(event, query.removesuffix(".graphql"), handler, otherwise)


def failure_of(event: Event, message: str) -> Answer:
    """Return the well-formed answer to ``event`` that says: not done. Its reference is one that nothing else has.

    There is none to ListStoredPaymentMethods: what Saleor is answered it shows for a while, also that there is nothing;
    nor to an asynchronous event.
    """
    if isinstance(event, SessionEvent):
        return SessionAnswer.failure(
            event.action.action_type,
            psp_reference=unique_reference(),
            message=message,
            data={"errors": [{"code": "APP_ERROR", "message": message}]},
        )
    if isinstance(event, RequestedAction):
        return failure_of_action(type(event), message)
    if isinstance(event, StoredPaymentMethodDeleteRequested):
        return MethodDeletedAnswer.failure(message)
    assert isinstance(event, PaymentGatewayInitializeSession)  # noqa: S101 - there is no further kind of event
    return GatewayConfigAnswer(data={"errors": [{"code": "APP_ERROR", "message": message}]})


def uncertain_of(event: Event, message: str, *, goes_on: bool = False) -> Answer:
    """Return the well-formed answer when nobody can tell any more what was done.

    A payment that may exist must not be called failed: that is final for Saleor, and invites the shopper to pay twice.
    "Action required" is not final and does not count as paid; Saleor asks again when the shopper comes back. Anything
    else fails, as an action's own event can still be reported afterwards.

    ``goes_on``: it is still being done. An action is pending then: who is told that it failed asks for it again.
    """
    if goes_on and isinstance(event, RequestedAction):
        return ActionAnswer.pending(event.kind, psp_reference=unique_reference())
    if not isinstance(event, SessionEvent) or event.action.amount == 0:
        return failure_of(event, message)
    return SessionAnswer.action_required(
        event.action.action_type,
        psp_reference=unique_reference(),
        amount=event.action.amount.quantize(CENT),
        message=message,
        data={"errors": [{"code": "APP_ERROR", "message": message}]},
    )


def failure_of_action(event: type[RequestedAction], message: str) -> ActionAnswer:
    """Return the failure of a requested action, for which the event itself need not be known."""
    return ActionAnswer.failure(event.kind, psp_reference=unique_reference(), message=message)
