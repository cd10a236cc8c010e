"""Rules that script failures in advance: of HTTP responses, and of webhooks.

A rule is used up after `times` matches. Outcomes of payments are scripted in the state itself
(`core.gateway_state.Script`).
"""

from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateway_client.sandbox.core.records import Operation, Payment

Wording = Literal["gateway", "html", "empty", "other", "record"]
"""The apparent author of a response: the gateway itself (in the shape of its refusals), a proxy in front of it (`html`,
`empty`), some other API (`other`: a message without `args`), or the handler that did the work and returned its record
(`record`).
"""


class FaultRule(BaseModel):
    """A fault in the next matching calls, before or after their work is done.

    `drop` closes the connection without a response, `truncate` in the middle of one, `garbage` responds 200 with
    invalid JSON, `status` responds with that HTTP status, `latency` only waits. The body of a `status` response is
    `body` if it is set, else the one that `wording` selects. Clearing the rules ends what waits.
    """

    model_config = ConfigDict(extra="forbid")

    rule_id: str = ""
    http_method: Literal["GET", "POST", "PUT"] | None = None
    path: str | None = Field(default=None, description="a glob over the path, for example /api/v1/split/*")
    order_id: str | None = None
    moment: Literal["before", "after"] = "before"
    effect: Literal["drop", "truncate", "garbage", "status", "latency"]
    status: int = Field(default=500, ge=200, le=599)
    wording: Wording = "gateway"
    body: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    seconds: float = Field(default=0.0, ge=0, le=600, description="how long to wait as well")
    times: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _record_only_after_work(self) -> "FaultRule":
        if self.wording == "record" and self.moment == "before":
            raise ValueError("there is no record before the work is done")
        return self

    def matches(self, http_method: str, path: str, order_id: str | None) -> bool:
        """Whether the rule applies to a call. Only a rule that names their path applies to the payer's pages."""
        if self.path is None and path.startswith("/api/v1/checkout/"):
            return False
        return (
            self.http_method in {None, http_method}
            and (self.path is None or fnmatchcase(path, self.path))
            and self.order_id in {None, order_id}
        )


class WebhookRule(BaseModel):
    """A fault in the next matching webhooks (`times` None: in all of them).

    `hold` holds them until they are released, `drop` loses them, `duplicate` sends each `copies` more times, `delay`
    sends each `seconds` later, `forge` signs them with a wrong secret.
    """

    model_config = ConfigDict(extra="forbid")

    rule_id: str = ""
    order_id: str | None = None
    method: str | None = None
    status: str | None = None
    effect: Literal["hold", "drop", "duplicate", "delay", "forge"]
    copies: int = Field(default=1, ge=1, le=100)
    seconds: float = Field(default=0.0, ge=0, le=600)
    times: int | None = Field(default=None, ge=1)

    def matches(self, entry: Payment | Operation) -> bool:
        """Whether the rule applies to a webhook of this entry."""
        return (
            self.order_id in {None, entry.order_id}
            and self.method in {None, entry.method}
            and self.status in {None, entry.status.value}
        )


class Rules(BaseModel):
    """The rules that are not used up."""

    faults: list[FaultRule] = Field(default_factory=list)
    webhooks: list[WebhookRule] = Field(default_factory=list)

    def take_fault_rule(self, http_method: str, path: str, order_id: str | None) -> FaultRule | None:
        """Return the first rule that matches a call, and count one use of it; None when none matches."""
        for rule in self.faults:
            if rule.matches(http_method, path, order_id):
                rule.times -= 1
                if rule.times == 0:
                    self.faults.remove(rule)
                return rule
        return None

    def take_webhook_rule(self, entry: Payment | Operation) -> WebhookRule | None:
        """Return the first rule that matches a webhook, and count one use of it; None when none matches."""
        for rule in self.webhooks:
            if rule.matches(entry):
                if rule.times is not None:
                    rule.times -= 1
                    if rule.times == 0:
                        self.webhooks.remove(rule)
                return rule
        return None
