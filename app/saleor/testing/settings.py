"""How this Saleor is set up."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict


class ChannelSettings(BaseModel):
    """A sales channel."""

    model_config = ConfigDict(frozen=True)

    slug: str
    name: str
    currency: str
    active: bool = True


class SaleorSettings(BaseModel):
    """What a test or the demo may choose. Times are in seconds."""

    model_config = ConfigDict(frozen=True)

    version: str = "3.23.28"
    public_url: str = "http://127.0.0.1:8000"
    """Where apps reach this Saleor; the runners fill in the port that they got, unless something was chosen."""

    connect_timeout: float = 2
    read_timeout: float = 18
    """How long an app may take to answer a webhook, the manifest or the token."""

    token_lifetime: int = 300
    """How long the token of an app's page is good for; the Dashboard hands over the next one 30 s earlier."""

    retry_delays: tuple[float, ...] = (10, 20, 40, 80, 160)
    """Between the deliveries of an action webhook that is answered by HTTP 5xx."""
    delay_factor: float = 1
    """Multiplies ``retry_delays``: 0 lets tests go through the whole misery at once."""

    channels: tuple[ChannelSettings, ...] = (ChannelSettings(slug="uah", name="Україна", currency="UAH"),)
    """What ``channels`` answers. Checkouts can be in any channel, also in one that is not listed."""

    schema_path: Path | None = None
    """Saleor's GraphQL schema (SDL). With it, every subscription of a manifest must validate against it."""

    @property
    def schema_version(self) -> str:
        """Major and minor: ``3.23``."""
        return ".".join(self.version.split(".")[:2])

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor as numbers, to compare."""
        major, minor = self.schema_version.split(".")
        return int(major), int(minor)

    @property
    def release(self) -> tuple[int, int, int]:
        """All three numbers of the version; what stands behind them does not count."""
        patch = self.version.split(".")[2].partition("-")[0]
        return *self.minor, int(patch)

    def served_at(self, url: str) -> Self:
        """Return the same settings with this address as the public one, if none was chosen."""
        return self if "public_url" in self.model_fields_set else self.model_copy(update={"public_url": url})

    @property
    def api_url(self) -> str:
        """What apps get as ``Saleor-Api-Url``."""
        return f"{self.public_url}/graphql/"

    @property
    def domain(self) -> str:
        """What apps get as ``Saleor-Domain``: host and port."""
        return self.public_url.partition("://")[2]


class SaleorFaults(BaseModel):
    """What goes wrong, until it is put right. All off by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    graphql_status: int | None = None
    """The API answers this HTTP status instead of working: 503 is "Saleor is down"."""
    graphql_internal_error: bool = False
    """The API answers 200 with "Internal Server Error" for every field."""
    graphql_delay: float = 0
    """The API takes this long."""
    graphql_answer_lost: bool = False
    """The API does its work, then the connection breaks before the answer is through."""
    graphql_times: int | None = None
    """How many requests the API's faults last; None until they are switched off."""

    refuse_token: bool = False
    """Every token is dead: PermissionDeniedError."""
    jwks_status: int | None = None
    """The keys are answered with this HTTP status."""

    webhook_answer_lost: Literal["bad_gateway", "dropped"] | None = None
    """The app does its work, then its answer is lost: a proxy says 502 instead, or the connection breaks."""
    webhook_answer_delay: float = 0
    """So many seconds go by before Saleor reads an answer: what the app reports meanwhile comes first."""
    webhook_times: int | None = None
    """How many webhooks these two last; None until they are switched off."""

    webhooks_twice: bool = False
    """Every webhook is delivered a second time, with the same body, after the first answer."""
    read_timeout: float | None = None
    """Instead of the setting of that name: lets a test make Saleor impatient."""
    webhook_in_use: bool = False
    """A webhook that is deleted is being delivered just now: it is switched off, and stays."""
    unsigned: bool = False
    """Webhooks carry a signature that no key of ours made."""

    def after_one(self, door: Literal["graphql", "webhook"]) -> Self:
        """Return what is left when one more has gone wrong there; after the last of ``<door>_times`` it is over."""
        times: int | None = getattr(self, f"{door}_times")
        if times is None:
            return self
        change: dict[str, Any] = {f"{door}_times": times - 1}
        if times <= 1:
            fields = type(self).model_fields
            change = {name: field.default for name, field in fields.items() if name.startswith(f"{door}_")}
        return self.model_copy(update=change)
