"""Settings of a sandbox: its points of sale, its clock, and the behaviour of its gateway.

Where the gateway interface says "not shown", real gateways may differ from each other. Every such point is an
option of `Behaviour`, so that a shop can be tested against each interpretation.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

DEFAULT_PORT = 8077


class Behaviour(BaseModel):
    """How one point of sale responds. Can be changed while the sandbox runs (`PATCH /_sandbox/options`)."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    hosted_answer: Literal["redirect", "json"] = "redirect"
    """Hosted create: HTTP 303 with `location` (the interface), or HTTP 200 with `redirect_url` (seen in plugins)."""
    one_operation_answer: Literal["object", "array"] = "object"
    calls_per_minute: int | None = Field(default=None, ge=1)
    """After this many calls further ones get a 429, until a minute has passed."""
    unknown_order: Literal["not_found", "empty"] = "not_found"
    refusal: Literal["message", "record"] = "message"
    """A capture, void or refund in the wrong state: HTTP 400 with a message, or a record with status `failure`."""
    credentials_code: str = "S-404"
    credentials_http_status: int = 401
    duplicate_http_status: int = 400
    register_http_status: int = 200
    """HTTP status of `report_not_ready`."""
    register_polls: int = Field(default=1, ge=0)
    """How many fetches of a register get `report_not_ready`."""
    register_delay: timedelta = timedelta(0)

    auth_success_code: Literal["1000", "1002"] = "1002"
    amount_endings: bool = True
    """Whether the cents of an amount determine the outcome."""
    settle_after: timedelta = timedelta(seconds=30)
    """How long something stays `pending` at the bank before it succeeds by itself."""
    lifetime: timedelta = timedelta(hours=1)
    """Lifetime of a payment without `order_timeout`."""
    cards_per_page: int = Field(default=1, ge=1)
    """How many cards a payer can try on one hosted page: a declined payment may still succeed (not shown there)."""
    automatic_capture_after: timedelta | None = None
    automatic_void_after: timedelta | None = None
    hold_lapses_after: timedelta | None = None
    """When a hold lapses by itself: there is no webhook and no record of it, and no operation on it is possible."""
    capture_excess_percent: Decimal = Field(default=Decimal(0), ge=0, le=25)

    plain_capture: bool = True
    """Whether there is an endpoint for captures without split; the interface shows only the one with."""
    part_capture: Literal["releases_rest", "keeps_rest"] = "releases_rest"
    """What becomes of the rest of a reservation when a part of it is captured (not shown in the interface)."""
    operation_products: bool = True
    """Whether captures and refunds accept `products`, which the interface does not list there."""
    product_taxes: Literal["object", "list"] = "object"
    three_ds_words: frozenset[str] = frozenset({"supported", "always", "never"})
    """The values of `order_3ds_bypass` that are understood; the interface shows `always` only."""
    payout_identity: bool = True
    """Whether payouts accept `customer_patronym` and `customer_tax_id`, and some sectors must send more (not shown)."""
    subscriptions: bool = True
    """Whether subscriptions can be started, cancelled and refunded, which the interface does not show."""
    wallet_calls: bool = True
    """Whether there are the calls for wallets' tokens, which the interface does not show."""
    error_body: Literal["args", "code"] = "args"
    """A refusal: `{message, args}` (public pages), or `{message, code}` (the interface, of registers)."""
    record_attributes: bool = True
    """Whether records repeat the attributes; the interface does not list them there."""
    time_zone: str = "UTC"
    """The zone of the times in records, which do not name it."""

    split_must_sum: bool = True
    """Whether split amounts must sum to the whole; otherwise the rest stays with the merchant."""
    split_reservations: bool = True
    """Whether `/api/v1/payment` accepts a `split` with method `auth` (a public sample), or none (interface, 2)."""
    sub_merchants: frozenset[UUID] | None = None
    """The sub-merchants that the provider's support has set up; None accepts any."""

    webhook_ports: frozenset[int] = frozenset({443, 8443})
    """The ports that a `server_url` may have (gateway interface, Delivery); others are arranged with the provider."""
    webhook_ports_on_this_machine: bool = True
    """Whether a `server_url` on this machine may have any port."""

    pending_webhook: bool = True
    pad_webhook_data: bool = True
    webhook_nulls: bool = False
    """Whether a webhook has absent fields as `null`, instead of omitting them."""

    wallets: frozenset[Literal["applepay", "gpay"]] = frozenset({"applepay", "gpay"})
    """The wallets that the provider's support has enabled for direct payments."""

    sector: Literal["general", "microfinance", "gambling"] = "general"
    currencies: frozenset[str] | None = None
    """The currencies of the terminal; None accepts any three-letter code."""
    minimum_amount: Decimal = Decimal("0.01")
    maximum_amount: Decimal = Decimal("1000000.00")
    fee_percent: Decimal = Decimal("1.50")
    fee_fixed: Decimal = Decimal("0.00")
    customer_fee_percent: Decimal = Field(default=Decimal(0), ge=0, le=100)
    """The fee that the payer pays on top of the requested amount."""
    customer_fee_in: frozenset[Literal["records", "lists", "registers"]] = frozenset({"registers"})
    """Where `amount` includes that fee. The interface states it for registers (10); records include webhooks."""
    reserve_percent: Decimal = Field(default=Decimal(0), ge=0, le=100)
    """The part of the money taken that is withheld as rolling reserve. The sandbox never releases it."""
    opening_balance: Decimal = Decimal("10000.00")
    """The initial balance of each currency's account, so that a first refund does not fail for lack of funds."""


_INTERFACE: Mapping[str, object] = {
    "hosted_answer": "redirect",
    "plain_capture": False,
    "part_capture": "keeps_rest",
    "operation_products": False,
    "three_ds_words": frozenset({"always"}),
    "payout_identity": False,
    "subscriptions": False,
    "wallet_calls": False,
    "error_body": "code",
    "record_attributes": False,
    "auth_success_code": "1000",
    "split_reservations": False,
}
DIALECTS: Mapping[str, Mapping[str, object]] = {
    "interface": _INTERFACE,
    "public": {name: Behaviour.model_fields[name].get_default() for name in _INTERFACE},
}
"""What the interface leaves open, twice: as a gateway behaves that knows nothing else, and as publicly documented."""


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
    """Return the current time, timezone-aware, in UTC."""
    return datetime.now(UTC)


class SandboxSettings(BaseModel):
    """The settings that a sandbox starts with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    public_url: str | None = None
    """The base address of checkout links; by default the address that the request was sent to."""
    scheme_word: str = Field(default="CPAY", min_length=1)
    points_of_sale: tuple[PointOfSale, ...] = Field(default=(PointOfSale(),), min_length=1)
    seed: str | None = None
    """With a seed, every identifier is the same in every run."""
    state: Path | None = None
    """The file that stores the state across restarts; None keeps it in memory."""
    allow_remote_webhooks: bool = False
    """Whether webhooks may leave this machine. If so, they go to any address that a payment request names."""
    webhook_retries: tuple[float, ...] = (0.5, 2.0, 5.0)
    """Seconds before each retry of a webhook that did not get a 2xx response."""
    webhook_timeout: float = 10.0
    tick: float = 0.25
    """Seconds between two checks for payments that expire or settle by themselves."""
    clock: Callable[[], datetime] = utc_now
