"""A client for the control endpoints, for tests and the demo."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote
from uuid import UUID

import httpx2
from pydantic import BaseModel
from pydantic_core import to_json

from app.exact_json import dumps
from app.sandbox.calls import Call
from app.sandbox.control import views
from app.sandbox.control.views import PaymentView
from app.sandbox.core.gateway_state import Script
from app.sandbox.core.records import Share
from app.sandbox.deliveries import Delivery
from app.sandbox.scripting import FaultRule, WebhookRule
from app.sandbox.settings import Behaviour

Answer = TypeVar("Answer", bound=BaseModel)


class SandboxRefusedError(Exception):
    """The sandbox would not do what was asked; `http_status` and the message say why."""

    def __init__(self, http_status: int, message: str) -> None:
        super().__init__(message)
        self.http_status = http_status


class SandboxControl:
    """Steers a running sandbox. Every method raises SandboxRefusedError when the sandbox will not.

    Give it a client of your own (it stays open), or let it have one and close it with `async with`.
    """

    def __init__(self, base_url: str, http: httpx2.AsyncClient | None = None) -> None:
        self._base = f"{base_url.rstrip('/')}/_sandbox"
        self._own = http is None
        self._http = http if http is not None else httpx2.AsyncClient(trust_env=False, timeout=70)

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client, if it is its own."""
        if self._own:
            await self._http.aclose()

    # The payer -----------------------------------------------------------------------------------------------

    async def payments(self) -> list[PaymentView]:
        """All payments, oldest first."""
        return (await self._ask("GET", "/payments", views.Payments)).payments

    async def payment(self, order_id: str) -> PaymentView:
        """One payment."""
        return await self._ask("GET", f"/payments/{quote(order_id)}", PaymentView)

    async def pay(
        self,
        order_id: str,
        *,
        card: str = "4242424242424242",
        challenge: Literal["pass", "fail", "leave"] = "leave",
        processed_amount: Decimal | None = None,
    ) -> PaymentView:
        """Pay on the hosted page. `challenge` answers 3-D Secure at once if the card asks for it."""
        ask = views.Pay(card=card, challenge=challenge, processed_amount=processed_amount)
        return await self._act(order_id, "pay", ask)

    async def decline(self, order_id: str, status_code: str = "4009") -> PaymentView:
        """Try to pay with a card that is declined with this code."""
        return await self._act(order_id, "decline", views.Decline(status_code=status_code))

    async def challenge(self, order_id: str, *, passed: bool = True) -> PaymentView:
        """Pass or fail 3-D Secure."""
        return await self._act(order_id, "challenge", views.Challenge(passed=passed))

    async def abandon(self, order_id: str) -> PaymentView:
        """Leave the page unpaid: nothing happens."""
        return await self._act(order_id, "abandon")

    async def expire(self, order_id: str) -> PaymentView:
        """End the page's lifetime now."""
        return await self._act(order_id, "expire")

    # The bank and the merchant portal ------------------------------------------------------------------------

    async def settle(
        self, order_id: str, status_code: str = "1000", *, operation_id: UUID | None = None
    ) -> PaymentView:
        """Decide what is pending: the payment, else its latest pending operation, or the one named."""
        return await self._act(order_id, "settle", views.Settle(status_code=status_code, operation_id=operation_id))

    async def portal(
        self,
        order_id: str,
        operation: Literal["capture", "void", "refund"],
        amount: Decimal | None = None,
        *,
        split: Mapping[UUID, Decimal] | None = None,
        silent: bool = False,
    ) -> PaymentView:
        """Do something in the merchant portal, behind the shop's back. `silent`: no webhook tells of it."""
        shares = [Share(sub_merchant_id=who, amount=what) for who, what in (split or {}).items()]
        ask = views.Portal(operation=operation, amount=amount, split=shares, silent=silent)
        return await self._act(order_id, "portal", ask)

    async def dispute(
        self, order_id: str, amount: Decimal | None = None, *, status_code: str = "1000", silent: bool = False
    ) -> PaymentView:
        """Let the payer's bank take money back: all that was paid, or an amount."""
        ask = views.Dispute(amount=amount, status_code=status_code, silent=silent)
        return await self._act(order_id, "dispute", ask)

    async def sub_merchants(self) -> dict[UUID, views.SubMerchantView]:
        """What each sub-merchant got, gave back and has; of one currency, if a story uses one only."""
        found = (await self._ask("GET", "/sub-merchants", views.SubMerchants)).sub_merchants
        return {each.sub_merchant_id: each for each in found}

    async def outcome(
        self, status_code: str, *, method: str | None = None, order_id: str | None = None, times: int = 1
    ) -> Script:
        """Choose the code that the next matching payment or operation ends with."""
        script = Script(status_code=status_code, method=method, order_id=order_id, times=times)
        return await self._ask("POST", "/rules/outcome", Script, script)

    # The network ---------------------------------------------------------------------------------------------

    async def fault(self, rule: FaultRule) -> FaultRule:
        """Let the next matching calls go wrong."""
        return await self._ask("POST", "/rules/fault", FaultRule, rule)

    async def webhook_rule(self, rule: WebhookRule) -> WebhookRule:
        """Let the next matching webhooks go astray."""
        return await self._ask("POST", "/rules/webhook", WebhookRule, rule)

    async def clear_rules(self) -> None:
        """Forget all rules and chosen outcomes."""
        await self._send("DELETE", "/rules")

    # Webhooks ------------------------------------------------------------------------------------------------

    async def webhooks(self, order_id: str | None = None) -> list[Delivery]:
        """Webhooks, all or those of one order, oldest first."""
        query = "" if order_id is None else f"?order_id={quote(order_id)}"
        return (await self._ask("GET", f"/webhooks{query}", views.Deliveries)).webhooks

    async def fire_webhook(
        self,
        order_id: str,
        operation: str | None = None,
        *,
        changes: Mapping[str, Any] | None = None,
        secret: str | None = None,
    ) -> Delivery:
        """Send a fresh webhook about how things are. `changes` overwrite fields; `secret` signs with another one."""
        ask = {"operation": operation, "changes": dict(changes or {}), "secret": secret}
        answer = await self._send("POST", f"/payments/{quote(order_id)}/webhook", dumps(ask))
        return Delivery.model_validate_json(answer)

    async def repeat_webhook(self, delivery_id: UUID) -> Delivery:
        """Send the very same webhook once more."""
        return await self._ask("POST", f"/webhooks/{delivery_id}/repeat", Delivery)

    async def hold_webhooks(self, order_id: str | None = None) -> None:
        """Keep webhooks back until they are released."""
        await self.webhook_rule(WebhookRule(effect="hold", order_id=order_id))

    async def release_webhooks(self, order_id: str | None = None, *, newest_first: bool = False) -> list[Delivery]:
        """Send what was held back, in order or the other way round."""
        ask = views.Release(order_id=order_id, newest_first=newest_first)
        return (await self._ask("POST", "/webhooks/release", views.Deliveries, ask)).webhooks

    async def webhooks_idle(self, timeout: float = 10.0) -> bool:
        """Wait until no webhook is under way. False when the seconds are over first."""
        return (await self._ask("POST", f"/webhooks/idle?timeout={timeout}", views.Idle)).idle

    # The sandbox itself --------------------------------------------------------------------------------------

    async def now(self) -> datetime:
        """The sandbox's time."""
        return (await self._ask("GET", "/clock", views.Clock)).now

    async def advance(self, by: timedelta) -> datetime:
        """Move time forward; what became due has happened afterwards."""
        return (await self._ask("POST", "/clock", views.Clock, views.Advance(seconds=by.total_seconds()))).now

    async def options(self, pos_id: UUID | None = None, **changes: Any) -> Behaviour:
        """How a point of sale behaves (the first, unless named), changed as given."""
        query = "" if pos_id is None else f"?pos_id={pos_id}"
        if not changes:
            return await self._ask("GET", f"/options{query}", Behaviour)
        answer = await self._send("PATCH", f"/options{query}", to_json(changes).decode())
        return Behaviour.model_validate_json(answer)

    async def calls(self) -> list[Call]:
        """The newest calls to the gateway's own paths, oldest first; payer's pages among them."""
        return (await self._ask("GET", "/calls", views.TakenCalls)).calls

    async def reset(self) -> None:
        """Forget everything."""
        await self._send("POST", "/reset")

    async def _act(self, order_id: str, act: str, ask: views.Ask | None = None) -> PaymentView:
        return await self._ask("POST", f"/payments/{quote(order_id)}/{act}", PaymentView, ask)

    async def _ask(self, method: str, path: str, answer: type[Answer], ask: BaseModel | None = None) -> Answer:
        content = None if ask is None else ask.model_dump_json()
        return answer.model_validate_json(await self._send(method, path, content))

    async def _send(self, method: str, path: str, content: str | None = None) -> bytes:
        headers = {} if content is None else {"content-type": "application/json"}
        response = await self._http.request(method, self._base + path, content=content, headers=headers)
        if response.is_error:
            body = response.json() if "json" in response.headers.get("content-type", "") else {}
            raise SandboxRefusedError(response.status_code, str(body.get("message") or body.get("detail")))
        return response.content
