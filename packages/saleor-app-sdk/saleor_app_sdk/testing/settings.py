"""Settings and faults of this Saleor."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?(-.+)?")


def _check_version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise ValueError("must be a version, like 3.23.28")
    return text


class ChannelSettings(BaseModel):
    """A sales channel."""

    model_config = ConfigDict(frozen=True)

    slug: str
    name: str
    currency: str
    active: bool = True
    id: str | None = None
    """None: the one of a channel that was created with that slug. A renamed channel keeps its id."""


class SaleorSettings(BaseModel):
    """Settings that a test or the demo may choose. Times are in seconds."""

    model_config = ConfigDict(frozen=True)

    version: Annotated[str, AfterValidator(_check_version)] = "3.23.28"
    public_url: str = "http://127.0.0.1:8000"
    """Where apps reach this Saleor; unless set explicitly, the runners fill in the actual port."""

    connect_timeout: float = 2
    read_timeout: float = Field(default=18, gt=0, allow_inf_nan=False)
    """How long an app may take to respond to a webhook, a manifest request or the token."""

    token_lifetime: int = 300
    """How long an access token of an app's page is valid; the Dashboard sends the next one 30 s before it expires."""

    retry_delays: tuple[float, ...] = (10, 20, 40, 80, 160)
    """Delays between the delivery attempts of an action webhook while the app responds with HTTP 5xx."""
    delay_factor: float = Field(default=1, ge=0, allow_inf_nan=False)
    """Multiplies ``retry_delays``: with 0, tests run through all retries at once."""

    channels: tuple[ChannelSettings, ...] = (ChannelSettings(slug="uah", name="Україна", currency="UAH"),)
    """What ``channels`` returns. Checkouts may use any channel, even one that is not listed."""

    schema_path: Path | None = None
    """Saleor's GraphQL schema (SDL). If set, every subscription of a manifest must validate against it."""

    @property
    def schema_version(self) -> str:
        """Major and minor: ``3.23``."""
        return ".".join(self.version.partition("-")[0].split(".")[:2])

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor as numbers, for comparisons."""
        major, minor = self.schema_version.split(".")
        return int(major), int(minor)

    @property
    def release(self) -> tuple[int, int, int]:
        """All three numbers of the version, the last one 0 if it has none; a pre-release suffix is ignored."""
        numbers = self.version.partition("-")[0].split(".")
        return *self.minor, int(numbers[2]) if len(numbers) > 2 else 0

    def with_default_url(self, url: str) -> Self:
        """Return the same settings with ``url`` as the public URL, unless one was set explicitly."""
        return self if "public_url" in self.model_fields_set else self.model_copy(update={"public_url": url})

    @property
    def api_url(self) -> str:
        """The value of ``Saleor-Api-Url``."""
        return f"{self.public_url}/graphql/"

    @property
    def domain(self) -> str:
        """The value of ``Saleor-Domain``: host and port."""
        return self.public_url.partition("://")[2]


class SaleorFaults(BaseModel):
    """Simulated faults, active until they are cleared. All off by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    graphql_status: int | None = None
    """The API responds with this HTTP status without executing the request: 503 is "Saleor is down"."""
    graphql_body: str | None = None
    """The API responds with 200 and this text without executing the request: ``null`` is JSON, and no response."""
    graphql_internal_error: bool = False
    """The API responds with 200 and "Internal Server Error" for every field."""
    graphql_delay: float = 0
    """The API waits this many seconds before it executes a request."""
    graphql_answer_lost: bool = False
    """The API executes the request, then the connection breaks before the response is complete."""
    graphql_times: int | None = None
    """The number of requests that the API's faults affect; None: all, until they are cleared."""

    refuse_token: bool = False
    """Every token is rejected with PermissionDeniedError."""
    jwks_status: int | None = None
    """JWKS requests are answered with this HTTP status."""
    jwks_body: str | None = None
    """JWKS requests are answered with 200 and this text."""

    webhook_answer_lost: Literal["bad_gateway", "dropped"] | None = None
    """The app handles the webhook, then its response is lost: a proxy returns 502 instead, or the connection breaks."""
    webhook_answer_delay: float = 0
    """Seconds before Saleor reads a response: reports that the app sends in that time arrive first."""
    webhook_times: int | None = None
    """The number of webhooks that these two faults affect; None: all, until they are cleared."""

    webhooks_twice: bool = False
    """Every webhook is delivered a second time, with the same body, after the first response."""
    read_timeout: float | None = None
    """Overrides the setting of the same name: lets a test shorten Saleor's timeout."""
    webhook_in_use: bool = False
    """A webhook that is to be deleted is being delivered: it is deactivated instead of deleted."""
    unsigned: bool = False
    """Webhooks carry a signature that none of this Saleor's keys made."""

    def remaining_after_one(self, kind: Literal["graphql", "webhook"]) -> Self:
        """Return the faults that remain after one more request of this kind; ``<kind>_times`` counts down."""
        times: int | None = getattr(self, f"{kind}_times")
        if times is None:
            return self
        change: dict[str, Any] = {f"{kind}_times": times - 1}
        if times <= 1:
            fields = type(self).model_fields
            change = {name: field.default for name, field in fields.items() if name.startswith(f"{kind}_")}
        return self.model_copy(update=change)
