"""What Saleor is answered, in models that cannot say what Saleor would refuse or choke on.

Rules: Saleor contract, A.3 to A.5. An answer carries no ``time`` (an old one leaves a granted refund pending for ever)
and no unknown field. It has a ``pspReference``, failures too (without one they swallow each other); only a session that
waits for the shopper may have none yet. An asynchronous answer has nothing else, least of all ``actions`` (from 3.22 on
they make the transaction unreadable).
Breaking a limit raises pydantic's ValidationError at construction. Amounts are ``Decimal`` in the main unit and go out
with exactly two decimals.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, TypedDict, Unpack
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from app.exact_json import dumps
from app.saleor.limits import Amount, Link, Message, Reference, usable_link
from app.saleor.payment_methods import CardDetails, OtherMethod, PaymentMethod
from app.saleor.vocabulary import AvailableAction, EventType, TransactionFlow

__all__ = [
    "Acknowledgement",
    "ActionAnswer",
    "Answer",
    "AvailableAction",
    "CardDetails",
    "EventType",
    "GatewayConfigAnswer",
    "OtherMethod",
    "PaymentMethod",
    "SessionAnswer",
    "TransactionFlow",
    "unique_reference",
    "usable_link",
]


def unique_reference() -> str:
    """Return a ``pspReference`` for something that never got one at the gateway."""
    return f"app-{uuid4().hex}"


def _writable(data: object) -> object:
    dumps(data)
    return data


class SaidOfAction(TypedDict, total=False):
    """What may be added to an answer. ``actions``: all that is possible next; None leaves Saleor's list as it is."""

    actions: Iterable[AvailableAction] | None
    message: str | None
    external_url: str | None


class SaidInSession(SaidOfAction, total=False):
    """What may be added in a session: ``data`` for the storefront, ``card`` for how it was paid (any method)."""

    data: object
    card: PaymentMethod | None


class Answer(BaseModel, ABC):
    """Something that Saleor can be answered with HTTP 200."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @abstractmethod
    def dump(self) -> dict[str, Any]:
        """Return the JSON object for Saleor, amounts still as ``Decimal``."""


class Acknowledgement(Answer):
    """The answer to an asynchronous event: Saleor looks at its status alone."""

    def dump(self) -> dict[str, Any]:
        """Return an empty object."""
        return {}


class GatewayConfigAnswer(Answer):
    """The answer to PAYMENT_GATEWAY_INITIALIZE_SESSION. ``data`` goes to the storefront, our errors inside it."""

    data: Annotated[Any, AfterValidator(_writable)]

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


class SessionAnswer(Answer):
    """The answer to a session webhook: how the payment stands, and ``data`` for the storefront.

    Success, request and failure are final for Saleor: it will not ask about this transaction again. A request
    ("pending") counts as covered, an action required does not.
    """

    result: SessionResult
    psp_reference: Reference | None
    amount: Amount | None = None
    actions: tuple[AvailableAction, ...] | None = None
    message: Message | None = None
    data: Annotated[Any, AfterValidator(_writable)] = None
    external_url: Link | None = None
    card: PaymentMethod | None = None

    @classmethod
    def success(
        cls, action: TransactionFlow, *, psp_reference: str, amount: Decimal, **said: Unpack[SaidInSession]
    ) -> Self:
        """Say that the money is charged or authorized."""
        return cls(result=_result(action, "SUCCESS"), psp_reference=psp_reference, amount=amount, **said)

    @classmethod
    def request(
        cls, action: TransactionFlow, *, psp_reference: str, amount: Decimal, **said: Unpack[SaidInSession]
    ) -> Self:
        """Say that the outcome will be reported later. Saleor lets the order be placed meanwhile."""
        return cls(result=_result(action, "REQUEST"), psp_reference=psp_reference, amount=amount, **said)

    @classmethod
    def action_required(
        cls, action: TransactionFlow, *, psp_reference: str | None, amount: Decimal, **said: Unpack[SaidInSession]
    ) -> Self:
        """Say that it is the shopper's turn; ``data`` tells the storefront how. Saleor keeps no ``actions`` of this.

        ``psp_reference`` None: Saleor is told one later, and keeps what it has until then (Saleor contract, A.4).
        """
        return cls(result=_result(action, "ACTION_REQUIRED"), psp_reference=psp_reference, amount=amount, **said)

    @classmethod
    def failure(
        cls,
        action: TransactionFlow,
        *,
        psp_reference: str,
        amount: Decimal | None = None,
        **said: Unpack[SaidInSession],
    ) -> Self:
        """Say that no money moved and none will. Without ``amount`` Saleor takes the one that it asked for."""
        return cls(result=_result(action, "FAILURE"), psp_reference=psp_reference, amount=amount, **said)

    @model_validator(mode="after")
    def _says_what_it_must(self) -> Self:
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
        return _without_nothing(
            pspReference=self.psp_reference,
            result=self.result,
            amount=self.amount,
            actions=self.actions,
            message=self.message,
            data=self.data,
            externalUrl=self.external_url,
            paymentMethodDetails=self.card.answer() if self.card else None,
        )


class ActionAnswer(Answer):
    """The answer to a charge, refund or cancelation that was requested. Without ``outcome`` it is asynchronous.

    Each needs a ``pspReference`` of its own: Saleor swallows a second one of the same kind and reference.
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
        cls, kind: AvailableAction, *, psp_reference: str, amount: Decimal, **said: Unpack[SaidOfAction]
    ) -> Self:
        """Say that it is done. ``amount`` is what was done, which may differ from what was asked."""
        return cls(kind=kind, outcome="SUCCESS", psp_reference=psp_reference, amount=amount, **said)

    @classmethod
    def failure(
        cls, kind: AvailableAction, *, psp_reference: str, amount: Decimal | None = None, **said: Unpack[SaidOfAction]
    ) -> Self:
        """Say that it was not done and will not be. Without ``amount`` Saleor takes the one that it asked for."""
        return cls(kind=kind, outcome="FAILURE", psp_reference=psp_reference, amount=amount, **said)

    @classmethod
    def pending(cls, kind: AvailableAction, *, psp_reference: str) -> Self:
        """Say that the outcome will be reported, with this same ``psp_reference``."""
        return cls(kind=kind, psp_reference=psp_reference)

    @property
    def result(self) -> EventType | None:
        """The event that Saleor will record; None as long as it is pending."""
        return EventType(f"{self.kind}_{self.outcome}") if self.outcome else None

    @model_validator(mode="after")
    def _says_what_it_may(self) -> Self:
        said = (self.amount, self.actions, self.message, self.external_url)
        if self.outcome is None and any(part is not None for part in said):
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
        return _without_nothing(
            pspReference=self.psp_reference,
            result=self.result,
            amount=self.amount,
            actions=self.actions,
            message=self.message,
            externalUrl=self.external_url,
        )


def _result(action: TransactionFlow, outcome: str) -> Any:
    return EventType(f"{action}_{outcome}")


def _without_nothing(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
