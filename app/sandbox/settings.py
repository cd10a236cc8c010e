"""What can be set about a sandbox: its points of sale, its clock, and how its gateway behaves.

Where the gateway interface says "not shown", real gateways may differ from each other. Every such point is an
option of `Behaviour`, so that a shop can be tried against each reading of it.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

DEFAULT_PORT = 8077


class Behaviour(BaseModel):
    """How one point of sale answers. May be changed while the sandbox runs (`PATCH /_sandbox/options`)."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    hosted_answer: Literal["redirect", "json"] = "redirect"
    """Hosted create: HTTP 303 with `location` (the interface), or HTTP 200 with `redirect_url` (seen in plugins)."""
    one_operation_answer: Literal["object", "array"] = "object"
    calls_per_minute: int | None = Field(default=None, ge=1)
    """After so many calls the next ones are answered 429, until a minute has passed."""
    unknown_order: Literal["not_found", "empty"] = "not_found"
    refusal: Literal["message", "record"] = "message"
    """A capture, void or refund in the wrong state: HTTP 400 with a message, or a record with status `failure`."""
    credentials_code: str = "S-404"
    credentials_http_status: int = 401
    duplicate_http_status: int = 400
    register_http_status: int = 200
    """HTTP status of `report_not_ready`."""
    register_polls: int = Field(default=1, ge=0)
    """How many fetches of a register are answered `report_not_ready`."""
    register_delay: timedelta = timedelta(0)

    auth_success_code: Literal["1000", "1002"] = "1002"
    amount_endings: bool = True
    """Whether the cents of an amount choose the outcome."""
    settle_after: timedelta = timedelta(seconds=30)
    """How long something stays `pending` at the bank before it succeeds by itself."""
    lifetime: timedelta = timedelta(hours=1)
    """Lifetime of a payment without `order_timeout`."""
    automatic_capture_after: timedelta | None = None
    automatic_void_after: timedelta | None = None
    hold_lapses_after: timedelta | None = None
    """When a hold unlocks by itself: nobody is told, no record says so, and nothing can be done about it any more."""
    capture_excess_percent: Decimal = Field(default=Decimal(0), ge=0, le=25)

    split_must_sum: bool = True
    """Whether split amounts must make up the whole; else what is missing stays with the merchant."""
    split_reservations: bool = True
    """Whether `/api/v1/payment` takes a `split` with method `auth` (a public sample), or none at all (interface, 2)."""
    sub_merchants: frozenset[UUID] | None = None
    """The sub-merchants that the provider's support has set up; None takes any."""

    webhook_ports: frozenset[int] = frozenset({443, 8443})
    """The ports that a `server_url` may have (gateway interface, Delivery); others are arranged with the provider."""
    webhook_ports_on_this_machine: bool = True
    """Whether a `server_url` on this machine may have any port."""

    pending_webhook: bool = True
    pad_webhook_data: bool = True
    webhook_nulls: bool = False
    """Whether a webhook says `null` for what there is not, instead of leaving it out."""

    wallets: frozenset[Literal["applepay", "gpay"]] = frozenset({"applepay", "gpay"})
    """The wallets that the provider's support has switched on for direct payments."""

    sector: Literal["general", "microfinance", "gambling"] = "general"
    currencies: frozenset[str] | None = None
    """The currencies of the terminal; None takes any three-letter code."""
    minimum_amount: Decimal = Decimal("0.01")
    maximum_amount: Decimal = Decimal("1000000.00")
    fee_percent: Decimal = Decimal("1.50")
    fee_fixed: Decimal = Decimal("0.00")
    customer_fee_percent: Decimal = Field(default=Decimal(0), ge=0, le=100)
    """What the payer pays on top of the amount that was asked for."""
    customer_fee_in: frozenset[Literal["records", "lists", "registers"]] = frozenset({"registers"})
    """Where `amount` is with that fee. The interface says so of registers (10); records are webhooks too."""
    reserve_percent: Decimal = Field(default=Decimal(0), ge=0, le=100)
    """What of the money taken is kept back as rolling reserve. The sandbox never gives it back."""
    opening_balance: Decimal = Decimal("10000.00")
    """What each currency's account holds at first, so that a first refund does not fail for want of balance."""


class PointOfSale(BaseModel):
    """One merchant project and its credentials (gateway interface, Authentication)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pos_id: UUID = UUID("5a9db0c5-0000-4000-8000-000000000001")
    name: str = "Sandbox shop"
    api_key: str = "sandbox-api-key"
    api_secret: SecretStr = SecretStr("sandbox-api-secret")
    endpoints_key: SecretStr = SecretStr("sandbox-endpoints-key")
    behaviour: Behaviour = Field(default_factory=Behaviour)


def utc_now() -> datetime:
    """The time of the day, aware, UTC."""
    return datetime.now(UTC)


class SandboxSettings(BaseModel):
    """Everything that a sandbox is started with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    public_url: str | None = None
    """The address that checkout links begin with; by default the address that the request came to."""
    scheme_word: str = Field(default="CPAY", min_length=1)
    points_of_sale: tuple[PointOfSale, ...] = Field(default=(PointOfSale(),), min_length=1)
    seed: str | None = None
    """With a seed every identifier comes out the same in every run."""
    state: Path | None = None
    """The file that keeps the state over a restart; None keeps it in memory."""
    allow_remote_webhooks: bool = False
    """Whether webhooks may leave this machine. They go to any address that a payment request names."""
    webhook_retries: tuple[float, ...] = (0.5, 2.0, 5.0)
    """Seconds before each repetition of a webhook that was not answered 2xx."""
    webhook_timeout: float = 10.0
    tick: float = 0.25
    """Seconds between two looks at the clock for what expires or settles by itself."""
    clock: Callable[[], datetime] = utc_now
