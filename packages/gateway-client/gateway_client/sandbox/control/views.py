"""Request and response bodies of the control endpoints. Amounts are text here, to be exact."""

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from gateway_client.sandbox.calls import Call
from gateway_client.sandbox.core.codes import INSUFFICIENT_FUNDS, OK, Status
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Operation, Payment, Share
from gateway_client.sandbox.deliveries import Delivery
from gateway_client.sandbox.render import checkout_url


class OperationView(BaseModel):
    """A capture, void or refund."""

    operation_id: UUID
    method: str
    amount: Decimal
    status: Status
    status_code: str | None
    split: list[Share]
    products: list[dict[str, Any]]


class PaymentView(BaseModel):
    """A payment, the addresses of its pages, and the operations on it."""

    payment_id: UUID
    pos_id: UUID
    order_id: str
    mode: str
    method: str
    amount: Decimal
    processed_amount: Decimal | None
    currency: str
    status: Status
    status_code: str | None
    waits_for_payer: bool
    cc_mask: str | None
    cc_token: str | None
    recurring_id: UUID | None
    split: list[Share]
    description: str
    payload: str | None
    attributes: dict[str, str]
    products: list[dict[str, Any]]
    checkout_url: str
    qr_url: str
    challenge_url: str
    result_url: str | None
    server_url: str | None
    operations: list[OperationView]


def payment_view(state: GatewayState, payment: Payment) -> PaymentView:
    """Return a payment as the control endpoints show it."""
    return PaymentView(
        payment_id=payment.payment_id,
        pos_id=payment.pos_id,
        order_id=payment.order_id,
        mode=payment.mode,
        method=payment.method,
        amount=payment.amount,
        processed_amount=payment.processed_amount,
        currency=payment.currency,
        status=payment.status,
        status_code=payment.status_code,
        waits_for_payer=payment.waits_for_payer,
        cc_mask=payment.card.mask if payment.card else None,
        cc_token=payment.card.token if payment.card else None,
        recurring_id=payment.recurring_id,
        split=payment.shares,
        description=payment.description,
        payload=payment.payload,
        products=payment.products,
        attributes={attribute["key"]: attribute["value"] for attribute in payment.attributes},
        checkout_url=checkout_url(payment, "form"),
        qr_url=checkout_url(payment, "qr"),
        challenge_url=checkout_url(payment, "3ds"),
        result_url=payment.result_url,
        server_url=payment.server_url,
        operations=[_operation_view(operation) for operation in state.operations_of(payment)],
    )


def _operation_view(operation: Operation) -> OperationView:
    return OperationView(
        operation_id=operation.operation_id,
        method=operation.method,
        amount=operation.amount,
        status=operation.status,
        status_code=operation.status_code,
        split=operation.shares,
        products=operation.products,
    )


class ControlRequest(BaseModel):
    """Base of request bodies: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class Pay(ControlRequest):
    """Pay as the payer would on the page."""

    card: str = "4242424242424242"
    challenge: Literal["pass", "fail", "leave"] = "leave"
    processed_amount: Decimal | None = Field(default=None, gt=0, decimal_places=2)


class Decline(ControlRequest):
    """Pay with a card that is declined."""

    status_code: str = Field(default=INSUFFICIENT_FUNDS, pattern=r"^[3-9]\d{3}$")


class Challenge(ControlRequest):
    """Answer 3-D Secure."""

    passed: bool = True


class Settle(ControlRequest):
    """Settle what is pending: the payment, or one of its operations."""

    status_code: str = Field(default=OK, pattern=r"^\d{4}$")
    operation_id: UUID | None = None


class Portal(ControlRequest):
    """An operation in the merchant portal: the shop receives a webhook of it, or (`silent`) none."""

    operation: Literal["capture", "void", "refund"]
    amount: Decimal | None = Field(default=None, gt=0, decimal_places=2)
    split: list[Share] = Field(default_factory=list)
    comment: str | None = None
    silent: bool = False


class Dispute(ControlRequest):
    """The payer's bank takes money back: all of it, or `amount`. `status_code` may leave it pending."""

    amount: Decimal | None = Field(default=None, gt=0, decimal_places=2)
    status_code: str = Field(default=OK, pattern=r"^\d{4}$")
    silent: bool = False


class Fire(ControlRequest):
    """Send a new webhook of a payment or its latest operation of one method. `changes` overwrite its fields."""

    operation: str | None = None
    changes: dict[str, Any] = Field(default_factory=dict)
    secret: str | None = None


class Release(ControlRequest):
    """Send the held webhooks, and stop holding."""

    order_id: str | None = None
    newest_first: bool = False


class Advance(ControlRequest):
    """Move the sandbox's clock forward."""

    seconds: float = Field(gt=0)


class Clock(BaseModel):
    """The sandbox's time."""

    now: datetime


class Idle(BaseModel):
    """Whether no webhook is in flight."""

    idle: bool


class Deliveries(BaseModel):
    """Webhooks, oldest first."""

    webhooks: list[Delivery]


class Payments(BaseModel):
    """Payments, oldest first."""

    payments: list[PaymentView]


class SubMerchantView(BaseModel):
    """What a sub-merchant has received from split payments and given back, and its balance."""

    sub_merchant_id: UUID
    currency: str
    received: Decimal
    given_back: Decimal
    balance: Decimal


class SubMerchants(BaseModel):
    """Sub-merchants that have received something, in the order in which they first did."""

    sub_merchants: list[SubMerchantView]


class RecordedCalls(BaseModel):
    """Calls to the gateway, oldest first."""

    calls: list[Call]
