"""Webhook responses, as models that cannot contain what Saleor would refuse or fail on.

Rules: Saleor contract, A.3 to A.5. A response has no ``time`` (an old one leaves a granted refund pending for ever) and
no unknown field. It has a ``pspReference``, also a failure (without one, failures hide each other); only a session that
waits for the shopper may have none yet. An asynchronous response has nothing else, least of all ``actions`` (from 3.22
on they make the transaction unreadable).
Exceeding a limit raises pydantic's ValidationError at construction. Amounts are ``Decimal`` in the main unit and are
sent with exactly two decimals.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, TypedDict, Unpack
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from integration_base.exact_json import dumps
from saleor_app_sdk.limits import Amount, Link, Message, Reference, usable_link
from saleor_app_sdk.payment_methods import CardDetails, OtherMethod, PaymentMethod
from saleor_app_sdk.vocabulary import AvailableAction, EventType, TransactionFlow

__all__ = [
    "Acknowledgement",
    "ActionResponse",
    "AvailableAction",
    "CardDetails",
    "DataResponse",
    "EventType",
    "GatewayConfigResponse",
    "OtherMethod",
    "PaymentMethod",
    "SessionResponse",
    "TransactionFlow",
    "WebhookResponse",
    "unique_reference",
    "usable_link",
]


def unique_reference() -> str:
    """Return a new ``pspReference`` for something that has none from the gateway."""
    return f"app-{uuid4().hex}"


def _validate_json(data: object) -> object:
    dumps(data)
    return data


class ActionFields(TypedDict, total=False):
    """Optional fields of a response. ``actions``: what is possible next; None leaves Saleor's list as is."""

    actions: Iterable[AvailableAction] | None
    message: str | None
    external_url: str | None


class SessionFields(ActionFields, total=False):
    """Optional fields of a session response: ``data`` for the storefront, ``card`` for the payment method (any)."""

    data: object
    card: PaymentMethod | None


class WebhookResponse(BaseModel, ABC):
    """A response that Saleor accepts with HTTP 200."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @abstractmethod
    def dump(self) -> Any:
        """Return the JSON value for Saleor, amounts still as ``Decimal``."""


class Acknowledgement(WebhookResponse):
    """The response to an asynchronous event: Saleor reads only its status."""

    def dump(self) -> dict[str, Any]:
        """Return an empty object."""
        return {}


class DataResponse(WebhookResponse):
    """The response to a synchronous event without a response class: taxes, shipping methods. ``data`` is sent as is.

    Its form is Saleor's for that event. Numbers may be ``Decimal``; a ``float`` is refused.
    """

    data: Annotated[Mapping[str, Any] | Sequence[Any], AfterValidator(_validate_json)]

    def dump(self) -> Any:
        """Return ``data``."""
        return self.data


class GatewayConfigResponse(WebhookResponse):
    """The response to PAYMENT_GATEWAY_INITIALIZE_SESSION. ``data`` goes to the storefront and may contain errors."""

    data: Annotated[Any, AfterValidator(_validate_json)]

    def dump(self) -> dict[str, Any]:
        """Return ``{"data": ...}``."""
        return {"data": self.data}


SessionResult = Literal[
    EventType.CHARGE_SUCCESS,
    EventType.CHARGE_FAILURE,
    EventType.CHARGE_REQUEST,
    EventType.CHARGE_ACTION_REQUIRED,
    EventType.AUTHORIZATION_SUCCESS,
    EventType.AUTHORIZATION_FAILURE,
    EventType.AUTHORIZATION_REQUEST,
    EventType.AUTHORIZATION_ACTION_REQUIRED,
]


class SessionResponse(WebhookResponse):
    """The response to a session webhook: the state of the payment, and ``data`` for the storefront.

    Success, request and failure are final for Saleor: it will not call the app about this transaction again. A request
    ("pending") counts as covered, an action required does not.
    """

    result: SessionResult
    psp_reference: Reference | None
    amount: Amount | None = None
    actions: tuple[AvailableAction, ...] | None = None
    message: Message | None = None
    data: Annotated[Any, AfterValidator(_validate_json)] = None
    external_url: Link | None = None
    card: PaymentMethod | None = None

    @classmethod
    def success(
        cls, action: TransactionFlow, *, psp_reference: str, amount: Decimal, **fields: Unpack[SessionFields]
    ) -> Self:
        """Return the response for money that is charged or authorized."""
        return cls(result=_event_type(action, "SUCCESS"), psp_reference=psp_reference, amount=amount, **fields)

    @classmethod
    def request(
        cls, action: TransactionFlow, *, psp_reference: str, amount: Decimal, **fields: Unpack[SessionFields]
    ) -> Self:
        """Return the response for an outcome that will be reported later. Saleor lets the order be placed already."""
        return cls(result=_event_type(action, "REQUEST"), psp_reference=psp_reference, amount=amount, **fields)

    @classmethod
    def action_required(
        cls, action: TransactionFlow, *, psp_reference: str | None, amount: Decimal, **fields: Unpack[SessionFields]
    ) -> Self:
        """Return the response for a payment that the shopper must act on; ``data`` tells the storefront how.

        Saleor does not store its ``actions``. ``psp_reference`` None: Saleor is sent one later, and keeps what it has
        until then (Saleor contract, A.4).
        """
        return cls(result=_event_type(action, "ACTION_REQUIRED"), psp_reference=psp_reference, amount=amount, **fields)

    @classmethod
    def failure(
        cls,
        action: TransactionFlow,
        *,
        psp_reference: str,
        amount: Decimal | None = None,
        **fields: Unpack[SessionFields],
    ) -> Self:
        """Return the response when no money moved or will move. ``amount`` defaults to the requested one."""
        return cls(result=_event_type(action, "FAILURE"), psp_reference=psp_reference, amount=amount, **fields)

    @model_validator(mode="after")
    def _validate_required_fields(self) -> Self:
        if self.psp_reference is None and not self.result.endswith("_ACTION_REQUIRED"):
            msg = "only an answer that waits for the shopper may leave the reference out"
            raise ValueError(msg)
        if self.amount is None and not self.result.endswith("_FAILURE"):
            msg = "only a failure may leave the amount out"
            raise ValueError(msg)
        if self.amount == 0:
            msg = "Saleor would take an amount of 0 for the whole amount that it asked for"
            raise ValueError(msg)
        return self

    def dump(self) -> dict[str, Any]:
        """Return the JSON object for Saleor; ``paymentMethodDetails`` is ignored by Saleor 3.21."""
        return _drop_none(
            pspReference=self.psp_reference,
            result=self.result,
            amount=self.amount,
            actions=self.actions,
            message=self.message,
            data=self.data,
            externalUrl=self.external_url,
            paymentMethodDetails=self.card.response_fields() if self.card else None,
        )


class ActionResponse(WebhookResponse):
    """The response to a requested charge, refund or cancelation. Without ``outcome`` it is asynchronous.

    Each needs a ``pspReference`` of its own: Saleor ignores a second response of the same kind and reference.
    """

    kind: AvailableAction
    psp_reference: Reference
    outcome: Literal["SUCCESS", "FAILURE"] | None = None
    amount: Amount | None = None
    actions: tuple[AvailableAction, ...] | None = None
    message: Message | None = None
    external_url: Link | None = None

    @classmethod
    def success(
        cls, kind: AvailableAction, *, psp_reference: str, amount: Decimal, **fields: Unpack[ActionFields]
    ) -> Self:
        """Return the response for an action that is done; ``amount`` may differ from what was requested."""
        return cls(kind=kind, outcome="SUCCESS", psp_reference=psp_reference, amount=amount, **fields)

    @classmethod
    def failure(
        cls, kind: AvailableAction, *, psp_reference: str, amount: Decimal | None = None, **fields: Unpack[ActionFields]
    ) -> Self:
        """Return the response for an action that will not be done. ``amount`` defaults to the requested one."""
        return cls(kind=kind, outcome="FAILURE", psp_reference=psp_reference, amount=amount, **fields)

    @classmethod
    def pending(cls, kind: AvailableAction, *, psp_reference: str) -> Self:
        """Return the response for an action whose outcome will be reported later, with this same ``psp_reference``."""
        return cls(kind=kind, psp_reference=psp_reference)

    @property
    def result(self) -> EventType | None:
        """The event that Saleor will record; None as long as it is pending."""
        return EventType(f"{self.kind}_{self.outcome}") if self.outcome else None

    @model_validator(mode="after")
    def _validate_allowed_fields(self) -> Self:
        optional = (self.amount, self.actions, self.message, self.external_url)
        if self.outcome is None and any(part is not None for part in optional):
            msg = "an asynchronous answer is a pspReference and nothing else"
            raise ValueError(msg)
        if self.outcome == "SUCCESS" and self.amount is None:
            msg = "a success says its amount"
            raise ValueError(msg)
        if self.amount == 0 and self.kind is not AvailableAction.CANCEL:
            msg = "Saleor would take an amount of 0 for the whole amount that it asked for"
            raise ValueError(msg)
        return self

    def dump(self) -> dict[str, Any]:
        """Return the JSON object for Saleor."""
        return _drop_none(
            pspReference=self.psp_reference,
            result=self.result,
            amount=self.amount,
            actions=self.actions,
            message=self.message,
            externalUrl=self.external_url,
        )


def _event_type(action: TransactionFlow, outcome: str) -> Any:
    return EventType(f"{action}_{outcome}")


def _drop_none(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
