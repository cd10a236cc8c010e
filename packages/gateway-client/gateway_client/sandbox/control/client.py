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

from gateway_client.sandbox.calls import Call
from gateway_client.sandbox.control import views
from gateway_client.sandbox.control.views import PaymentView
from gateway_client.sandbox.core.gateway_state import Script
from gateway_client.sandbox.core.records import Share
from gateway_client.sandbox.deliveries import Delivery
from gateway_client.sandbox.scripting import FaultRule, WebhookRule
from gateway_client.sandbox.settings import Behaviour
from gateway_client.sandbox.tls import shared_ssl_context
from integration_base.exact_json import dumps

ResponseT = TypeVar("ResponseT", bound=BaseModel)

_ANSWERS_WITHIN = 70.0  # seconds, whosever client it is: the sandbox waits for webhooks for a minute


class SandboxRefusedError(Exception):
    """The sandbox refused a request; `http_status` and the message give the reason."""

    def __init__(self, http_status: int, message: str) -> None:
        super().__init__(message)
        self.http_status = http_status

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is copied and pickled, as errors of the client are."""
        return type(self).__new__, (type(self), *self.args), vars(self)


class SandboxControl:
    """Controls a running sandbox. Every method raises SandboxRefusedError when the sandbox refuses.

    Pass a client of your own (it stays open), or let it create one and use `async with` to close it.
    """

    def __init__(self, base_url: str, http: httpx2.AsyncClient | None = None) -> None:
        self._base = f"{base_url.rstrip('/')}/_sandbox"
        self._owns_client = http is None
        self._http = http if http is not None else httpx2.AsyncClient(verify=shared_ssl_context(), trust_env=False)

    async def __aenter__(self) -> Self:
        """Return this object."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client, if this object created it."""
        if self._owns_client:
            await self._http.aclose()

    # The payer -----------------------------------------------------------------------------------------------

    async def payments(self) -> list[PaymentView]:
        """Return all payments, oldest first."""
        return (await self._request("GET", "/payments", views.Payments)).payments

    async def payment(self, order_id: str) -> PaymentView:
        """Return one payment."""
        return await self._request("GET", f"/payments/{quote(order_id)}", PaymentView)

    async def pay(
        self,
        order_id: str,
        *,
        card: str = "4242424242424242",
        challenge: Literal["pass", "fail", "leave"] = "leave",
        processed_amount: Decimal | None = None,
    ) -> PaymentView:
        """Pay on the hosted page. `challenge` answers 3-D Secure at once if the card asks for it."""
        body = views.Pay(card=card, challenge=challenge, processed_amount=processed_amount)
        return await self._act(order_id, "pay", body)

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
        """Settle what is pending: the payment, else its latest pending operation, or the named one."""
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
        """Perform an operation in the merchant portal, without the shop. `silent`: without a webhook."""
        shares = [Share(sub_merchant_id=payee, amount=part) for payee, part in (split or {}).items()]
        body = views.Portal(operation=operation, amount=amount, split=shares, silent=silent)
        return await self._act(order_id, "portal", body)

    async def dispute(
        self, order_id: str, amount: Decimal | None = None, *, status_code: str = "1000", silent: bool = False
    ) -> PaymentView:
        """Let the payer's bank take money back: all that was paid, or an amount."""
        body = views.Dispute(amount=amount, status_code=status_code, silent=silent)
        return await self._act(order_id, "dispute", body)

    async def sub_merchants(self) -> dict[UUID, views.SubMerchantView]:
        """Return what each sub-merchant has received, given back and still has; correct for a single currency only."""
        found = (await self._request("GET", "/sub-merchants", views.SubMerchants)).sub_merchants
        return {account.sub_merchant_id: account for account in found}

    async def outcome(
        self, status_code: str, *, method: str | None = None, order_id: str | None = None, times: int = 1
    ) -> Script:
        """Choose the code that the next matching payment or operation ends with."""
        script = Script(status_code=status_code, method=method, order_id=order_id, times=times)
        return await self._request("POST", "/rules/outcome", Script, script)

    # The network ---------------------------------------------------------------------------------------------

    async def fault(self, rule: FaultRule) -> FaultRule:
        """Add a fault of the next matching calls."""
        return await self._request("POST", "/rules/fault", FaultRule, rule)

    async def webhook_rule(self, rule: WebhookRule) -> WebhookRule:
        """Add a fault of the next matching webhooks."""
        return await self._request("POST", "/rules/webhook", WebhookRule, rule)

    async def clear_rules(self) -> None:
        """Clear all rules and scripted outcomes, and end the delays of earlier rules."""
        await self._send("DELETE", "/rules")

    # Webhooks ------------------------------------------------------------------------------------------------

    async def webhooks(self, order_id: str | None = None) -> list[Delivery]:
        """Return all webhooks, or those of one order, oldest first."""
        query = "" if order_id is None else f"?order_id={quote(order_id)}"
        return (await self._request("GET", f"/webhooks{query}", views.Deliveries)).webhooks

    async def fire_webhook(
        self,
        order_id: str,
        operation: str | None = None,
        *,
        changes: Mapping[str, Any] | None = None,
        secret: str | None = None,
    ) -> Delivery:
        """Send a new webhook of the current state. `changes` overwrite fields; `secret` replaces the signing secret."""
        body = {"operation": operation, "changes": dict(changes or {}), "secret": secret}
        response = await self._send("POST", f"/payments/{quote(order_id)}/webhook", dumps(body))
        return Delivery.model_validate_json(response)

    async def repeat_webhook(self, delivery_id: UUID) -> Delivery:
        """Send an identical webhook once more."""
        return await self._request("POST", f"/webhooks/{delivery_id}/repeat", Delivery)

    async def hold_webhooks(self, order_id: str | None = None) -> None:
        """Hold webhooks until they are released."""
        await self.webhook_rule(WebhookRule(effect="hold", order_id=order_id))

    async def release_webhooks(self, order_id: str | None = None, *, newest_first: bool = False) -> list[Delivery]:
        """Send the held webhooks, oldest or newest first."""
        body = views.Release(order_id=order_id, newest_first=newest_first)
        return (await self._request("POST", "/webhooks/release", views.Deliveries, body)).webhooks

    async def wait_for_webhooks(self, timeout: float = 60.0) -> bool:
        """Wait until no webhook is in flight. Return False after the timeout, in seconds."""
        return (await self._request("POST", f"/webhooks/idle?timeout={timeout}", views.Idle)).idle

    # The sandbox itself --------------------------------------------------------------------------------------

    async def now(self) -> datetime:
        """Return the sandbox's time."""
        return (await self._request("GET", "/clock", views.Clock)).now

    async def advance(self, by: timedelta) -> datetime:
        """Move time forward; changes that become due have been applied when it returns."""
        return (await self._request("POST", "/clock", views.Clock, views.Advance(seconds=by.total_seconds()))).now

    async def options(self, pos_id: UUID | None = None, **changes: Any) -> Behaviour:
        """Return the options of a point of sale (the first by default), after applying the changes."""
        query = "" if pos_id is None else f"?pos_id={pos_id}"
        if not changes:
            return await self._request("GET", f"/options{query}", Behaviour)
        response = await self._send("PATCH", f"/options{query}", to_json(changes).decode())
        return Behaviour.model_validate_json(response)

    async def calls(self) -> list[Call]:
        """Return the newest calls to the gateway's own paths, including the payer's pages, oldest first."""
        return (await self._request("GET", "/calls", views.RecordedCalls)).calls

    async def reset(self) -> None:
        """Clear everything."""
        await self._send("POST", "/reset")

    async def _act(self, order_id: str, action: str, body: views.ControlRequest | None = None) -> PaymentView:
        return await self._request("POST", f"/payments/{quote(order_id)}/{action}", PaymentView, body)

    async def _request(
        self, method: str, path: str, model: type[ResponseT], body: BaseModel | None = None
    ) -> ResponseT:
        content = None if body is None else body.model_dump_json()
        return model.model_validate_json(await self._send(method, path, content))

    async def _send(self, method: str, path: str, content: str | None = None) -> bytes:
        headers = {} if content is None else {"content-type": "application/json"}
        response = await self._http.request(
            method, self._base + path, content=content, headers=headers, timeout=_ANSWERS_WITHIN
        )
        if response.is_error:
            body = response.json() if "json" in response.headers.get("content-type", "") else {}
            raise SandboxRefusedError(response.status_code, str(body.get("message") or body.get("detail")))
        return response.content
