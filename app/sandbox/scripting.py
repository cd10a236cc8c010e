"""Orders given beforehand about what shall go wrong: with HTTP answers, and with webhooks.

A rule is used up after `times` matches. Outcomes of payments are ordered in the state itself (`state.Script`).
"""

from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.sandbox.core.records import Operation, Payment

Wording = Literal["gateway", "html", "empty", "other", "record"]
"""Who words an answer: the gateway itself (its shape of a refusal), a proxy before it (`html`, `empty`), some other API
(`other`: a message without `args`), or whoever did the work and answered with its record (`record`).
"""


class FaultRule(BaseModel):
    """What shall happen to the next matching calls, before or after their work is done.

    `drop` closes the connection without an answer, `truncate` in the middle of one, `garbage` answers 200 with no
    JSON, `status` answers with that HTTP status, `latency` only waits. What a `status` is answered with: `body` where
    it is given, else what `wording` says.
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

    def fits(self, http_method: str, path: str, order_id: str | None) -> bool:
        """Whether a call is meant. The payer's pages are meant only by a rule that names their path."""
        if self.path is None and path.startswith("/api/v1/checkout/"):
            return False
        return (
            self.http_method in {None, http_method}
            and (self.path is None or fnmatchcase(path, self.path))
            and self.order_id in {None, order_id}
        )


class WebhookRule(BaseModel):
    """What shall happen to the next matching webhooks (`times` None: to all of them).

    `hold` keeps them until they are released, `drop` loses them, `duplicate` sends each `copies` more times, `delay`
    sends each so many seconds later, `forge` signs them with a wrong secret.
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

    def fits(self, entry: Payment | Operation) -> bool:
        """Whether a webhook about this entry is meant."""
        return (
            self.order_id in {None, entry.order_id}
            and self.method in {None, entry.method}
            and self.status in {None, entry.status.value}
        )


class Rules(BaseModel):
    """The rules that are waiting to be used."""

    faults: list[FaultRule] = Field(default_factory=list)
    webhooks: list[WebhookRule] = Field(default_factory=list)

    def take_fault(self, http_method: str, path: str, order_id: str | None) -> FaultRule | None:
        """The first fault that fits a call, one use of it spent."""
        for rule in self.faults:
            if rule.fits(http_method, path, order_id):
                rule.times -= 1
                if rule.times == 0:
                    self.faults.remove(rule)
                return rule
        return None

    def take_webhook(self, entry: Payment | Operation) -> WebhookRule | None:
        """The first rule that fits a webhook, one use of it spent."""
        for rule in self.webhooks:
            if rule.fits(entry):
                if rule.times is not None:
                    rule.times -= 1
                    if rule.times == 0:
                        self.webhooks.remove(rule)
                return rule
        return None
