"""Sends requests to apps as Saleor does: same headers in the same order, same timeouts, no redirects."""

import base64
import json
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2

from saleor_app_sdk.testing.payload import Payload, envelope
from saleor_app_sdk.testing.records import App, Webhook
from saleor_app_sdk.testing.saleor_state import Delivery, SaleorState
from saleor_app_sdk.testing.selection import select
from saleor_app_sdk.testing.vocabulary import OtherEvent, WebhookEvent

Headers = list[tuple[str, str]]


class AppClient:
    """Sends requests, and records every request and response."""

    def __init__(self, state: SaleorState, http: httpx2.AsyncClient) -> None:
        self._state = state
        self._http = http

    async def fetch_manifest(self, url: str) -> Delivery:
        """GET a manifest."""
        settings = self._state.settings
        headers = [*self._common_headers(url), ("Saleor-Schema-Version", settings.schema_version)]
        return await self._send("GET", url, headers, b"", what="manifest")

    async def post_token(self, url: str, token: str) -> Delivery:
        """POST the token to an app that is being installed. This request is not signed."""
        settings = self._state.settings
        body = json.dumps({"auth_token": token}).encode()
        headers = [
            *self._common_headers(url),
            ("Content-Type", "application/json"),
            ("X-Saleor-Domain", settings.domain),
            ("Saleor-Domain", settings.domain),
            ("Saleor-Api-Url", settings.api_url),
            ("Saleor-Schema-Version", settings.schema_version),
            ("Content-Length", str(len(body))),
        ]
        return await self._send("POST", url, headers, body, what="token")

    async def deliver(self, app: App, webhook: Webhook, fields: Payload) -> list[Delivery]:
        """Deliver an event; return its deliveries, which are two if ``webhooks_twice`` is set."""
        body, unplayed = self.build_body(app, webhook, fields)
        times = 2 if self._state.faults.webhooks_twice else 1
        return [await self.post_event(webhook, body, unplayed=unplayed) for _ in range(times)]

    def build_body(self, app: App, webhook: Webhook, fields: Payload) -> tuple[bytes, list[str]]:
        """Return the part of an event that the app's subscription selects, as bytes, and the unsupported fields."""
        state = self._state
        event = {**envelope(webhook.event, app, state.event_clock.now(), state.settings.version), **fields}
        selected = select(webhook.query, event, app.permissions)
        return json.dumps(selected.body).encode(), selected.unplayed

    async def post_event(
        self, webhook: Webhook, body: bytes, *, attempt: int = 1, unplayed: list[str] | None = None
    ) -> Delivery:
        """POST a signed body; an empty one, as in retries, is signed as well."""
        headers = self._event_headers(webhook.event, webhook.target_url, body)
        delivery = await self._send(
            "POST", webhook.target_url, headers, body, what=webhook.event.value, attempt=attempt, unplayed=unplayed
        )
        return await self._apply_response_faults(delivery)

    async def _apply_response_faults(self, delivery: Delivery) -> Delivery:
        """Apply the webhook faults to the app's response: delay or lose it."""
        faults = self._state.faults
        self._state.faults = faults.remaining_after_one("webhook")
        if faults.webhook_answer_delay:
            await self._state.sleep(faults.webhook_answer_delay)
        if faults.webhook_answer_lost == "bad_gateway":
            delivery.status, delivery.answer = 502, "<html><h1>502 Bad Gateway</h1></html>"
        elif faults.webhook_answer_lost == "dropped":
            delivery.status, delivery.answer, delivery.error = None, None, "RemoteProtocolError: the answer broke off"
        return delivery

    async def retry_event(self, webhook: Webhook, delivery: Delivery) -> Delivery:
        """Retry after a 5xx with increasing delays and an empty body. Return the last delivery."""
        for attempt, delay in enumerate(self._state.settings.retry_delays, 2):
            if delivery.status is None or delivery.status < 500:
                break
            await self._state.sleep(delay * self._state.settings.delay_factor)
            delivery = await self.post_event(webhook, b"", attempt=attempt)
        return delivery

    def _common_headers(self, url: str) -> Headers:
        return [
            ("Host", urlsplit(url).netloc),
            ("User-Agent", f"Saleor/{self._state.settings.schema_version}"),
            ("Accept-Encoding", "gzip, deflate"),
            ("Accept", "*/*"),
            ("Connection", "keep-alive"),
        ]

    def _event_headers(self, event: WebhookEvent | OtherEvent, url: str, body: bytes) -> Headers:
        settings = self._state.settings
        signature = self._state.key.sign(body)
        if self._state.faults.unsigned:
            signature = f"{signature.partition('..')[0]}..{base64.urlsafe_b64encode(bytes(256)).decode().rstrip('=')}"
        return [
            *self._common_headers(url),
            ("Content-Type", "application/json"),
            ("X-Saleor-Event", event.value),
            ("X-Saleor-Domain", settings.domain),
            ("X-Saleor-Signature", signature),
            ("Saleor-Event", event.value),
            ("Saleor-Domain", settings.domain),
            ("Saleor-Signature", signature),
            ("Saleor-Api-Url", settings.api_url),
            ("Content-Length", str(len(body))),
        ]

    async def _send(self, method: str, url: str, headers: Headers, body: bytes, *, what: str, **about: Any) -> Delivery:
        state = self._state
        delivery = Delivery(
            number=len(state.deliveries) + 1,
            at=state.event_clock.now(),
            event=what,
            url=url,
            headers=headers,
            body=body.decode(),
            attempt=about.get("attempt", 1),
            unplayed=about.get("unplayed") or [],
        )
        state.deliveries.append(delivery)
        read = state.faults.read_timeout or state.settings.read_timeout
        timeout = httpx2.Timeout(read, connect=state.settings.connect_timeout)
        started = time.monotonic()
        try:
            # Built by hand: the client's own headers would come first, and Saleor's order is part of the recording.
            request = httpx2.Request(
                method, url, headers=headers, content=body, extensions={"timeout": timeout.as_dict()}
            )
            response = await self._http.send(request, follow_redirects=False)
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            delivery.error = f"{type(exc).__name__}: {exc}"
        else:
            delivery.status, delivery.answer = response.status_code, response.text
        delivery.seconds = time.monotonic() - started
        return delivery
