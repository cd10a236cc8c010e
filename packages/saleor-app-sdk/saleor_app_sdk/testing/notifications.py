"""Events that are sent to every app that subscribes to them, as far as it may.

The webhook of an asynchronous event goes to apps that have the event's permission; it is retried after a 5xx, but not
after a 3xx or 4xx (``handle_webhook_retry``).
"""

from collections.abc import Iterator

from saleor_app_sdk.testing.app_client import AppClient
from saleor_app_sdk.testing.payload import Payload
from saleor_app_sdk.testing.records import App, Webhook
from saleor_app_sdk.testing.saleor_state import Delivery, SaleorState


class Notifications:
    """Sends events to their subscribers."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client

    def notify(self, event: str, fields: Payload, permission: str) -> None:
        """Send an asynchronous event in the background, to apps with that permission."""
        for app, hook in self._subscribers(event):
            if permission in app.permissions:
                body, unplayed = self._app_client.build_body(app, hook, fields)
                self._state.run_in_background(self._deliver(hook, body, unplayed))

    async def send(self, event: str, fields: Payload) -> list[Delivery]:
        """Send an event, whatever its permission; return each delivery with the app's response. No retries."""
        deliveries: list[Delivery] = []
        for app, hook in self._subscribers(event):
            deliveries += await self._app_client.deliver(app, hook, fields)
        return deliveries

    def _subscribers(self, event: str) -> Iterator[tuple[App, Webhook]]:
        for app in list(self._state.apps.values()):
            for hook in app.webhooks:
                if app.active and hook.event.enum_name == event:
                    yield app, hook

    async def _deliver(self, webhook: Webhook, body: bytes, unplayed: list[str]) -> None:
        for _ in range(2 if self._state.faults.webhooks_twice else 1):
            delivery = await self._app_client.post_event(webhook, body, unplayed=unplayed)
            await self._app_client.retry_event(webhook, delivery)
