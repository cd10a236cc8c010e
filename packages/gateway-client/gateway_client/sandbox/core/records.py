"""The gateway's records: payments, operations on them, subscriptions, cards on file, registers."""

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from gateway_client.sandbox.core.codes import LIMITS, PAYER_ACTION_CODES, Status, description_of, status_of

PaymentMethod = Literal["purchase", "auth", "credit", "lookup", "p2p"]
OperationMethod = Literal["capture", "void", "refund", "dispute"]
Mode = Literal["direct", "hosted"]


class Share(BaseModel):
    """The part of an amount that belongs to one sub-merchant."""

    sub_merchant_id: UUID
    amount: Decimal


class Fee(BaseModel):
    """The gateway's commission; `fixed` and `percent` are portions of `total`."""

    total: Decimal
    fixed: Decimal
    percent: Decimal
    currency: str


class LimitInfo(BaseModel):
    """When to retry, and which limit declined the payment."""

    retry_after: datetime
    description: str


class Entry(BaseModel):
    """Base of payments and operations: an amount, an owner and a status that only moves forward."""

    payment_id: UUID
    order_id: str
    pos_id: UUID
    transaction_id: UUID | None = None
    amount: Decimal
    currency: str
    status_code: str | None = None
    status: Status = Status.INIT
    created_at: datetime
    processed_at: datetime | None = None
    settles_at: datetime | None = None
    """When it stops being `pending` by itself."""
    server_url: str | None = None
    fee: Fee | None = None
    reserve: Decimal = Decimal("0.00")
    """The part of the amount that the gateway withholds."""
    limit_info: LimitInfo | None = None
    shares: list[Share] = Field(default_factory=list)
    base_url: str = ""
    """The base address of links in the record: the address that the creating request was sent to."""

    @property
    def final(self) -> bool:
        """Whether the status can no longer change."""
        return self.status in {Status.SUCCESS, Status.FAILURE}

    @property
    def status_description(self) -> str | None:
        """The text of the status code."""
        return None if self.status_code is None else description_of(self.status_code)

    def set_status(self, status_code: str, now: datetime) -> None:
        """Set the status that a code stands for. The caller ensures that the record is not final."""
        self.status_code = status_code
        self.status = status_of(status_code)
        self.processed_at = now
        self.settles_at = None
        self.limit_info = None
        if status_code in LIMITS:
            midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
            day_after = midnight.fromordinal(midnight.toordinal() + 1).replace(tzinfo=now.tzinfo)
            self.limit_info = LimitInfo(retry_after=day_after, description=LIMITS[status_code])


class RecurringPlan(BaseModel):
    """`init_recurring` of a purchase: how often, and what happens when a charge fails."""

    interval_unit: Literal["day", "week", "month", "quarter", "year"]
    interval_count: int = Field(default=1, ge=1, le=30)
    retry_attempts: int = Field(default=3, ge=0, le=7)
    retry_interval_hours: int | None = Field(default=None, ge=1, le=72)
    start_date: str | None = None
    expiry_date: str | None = None
    time: str | None = None
    notification_url: str | None = None
    amount: Decimal | None = Field(default=None, gt=0, decimal_places=2)


class Payment(Entry):
    """A primary operation (gateway interface, Payment record)."""

    kind: Literal["payment"] = "payment"
    mode: Mode
    method: PaymentMethod
    checkout_id: UUID
    """The secret part of the addresses of its pages."""
    expires_at: datetime
    description: str = ""
    gateway_order_id: str | None = None
    billing_order_id: str | None = None
    result_url: str | None = None
    customer: dict[str, str] = Field(default_factory=dict)
    """The `customer_*` fields as sent."""
    language: Literal["uk", "en"] = "en"
    payload: str | None = None
    mcc: str | None = None
    options_3ds: str | None = None
    attributes: list[dict[str, str]] = Field(default_factory=list)
    products: list[dict[str, Any]] = Field(default_factory=list)
    properties: dict[str, Any] | None = None
    card: "CardOnFile | None" = None
    """The card that was used last."""
    cards_tried: int = 0
    eci: str | None = None
    payway: str | None = None
    processed_amount: Decimal | None = None
    customer_fee: Decimal = Decimal("0.00")
    """The fee that the payer pays on top."""
    plan: RecurringPlan | None = None
    recurring_id: UUID | None = None

    @property
    def waits_for_payer(self) -> bool:
        """Whether the payer must act (3DS, one-time password) before the payment continues."""
        return self.status is Status.PENDING and self.status_code in PAYER_ACTION_CODES

    @property
    def paid_amount(self) -> Decimal:
        """The amount paid: with some alternative methods the payer may have changed it."""
        return self.amount if self.processed_amount is None else self.processed_amount


class Operation(Entry):
    """A capture, void, refund or dispute (gateway interface, Secondary operation record)."""

    kind: Literal["operation"] = "operation"
    operation_id: UUID
    method: OperationMethod
    comment: str | None = None
    products: list[dict[str, Any]] = Field(default_factory=list)
    through_split: bool = False
    """Whether it was requested at a split endpoint: some field names in the response depend on that."""


class CardOnFile(BaseModel):
    """A card that was used: its mask, its token, and the status code of payments with it."""

    token: str
    pos_id: UUID
    mask: str
    code: str
    expires: datetime


class Subscription(BaseModel):
    """A recurring payment: the plan, and when its next charge is due."""

    recurring_id: UUID
    pos_id: UUID
    first_payment_id: UUID
    plan: RecurringPlan
    status: Literal["init", "active", "canceled"] = "init"
    created_at: datetime
    updated_at: datetime
    next_charge_at: datetime | None = None
    regular_charge_at: datetime | None = None
    """The charge of the interval that `next_charge_at` belongs to; they differ while a failed charge is retried."""
    failed_attempts: int = 0


class Register(BaseModel):
    """A requested transaction register; its rows are fixed at the time of the request."""

    report_id: str
    pos_id: UUID
    rows: list[dict[str, Any]]
    ready_at: datetime
    polls_left: int
