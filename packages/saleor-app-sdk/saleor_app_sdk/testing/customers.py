"""Deletion of customers, by staff or by themselves. Saleor notifies apps in the background.

Their checkouts are deleted too, and their orders lose the reference to them (the foreign keys of Saleor's ``Checkout``
and ``Order``). The webhook of an asynchronous event goes to apps that have the event's permission; it is retried after
a 5xx, but not after a 3xx or 4xx (``handle_webhook_retry``).
"""

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.app_client import AppClient
from saleor_app_sdk.testing.records import Webhook
from saleor_app_sdk.testing.saleor_state import SaleorState
from saleor_app_sdk.testing.vocabulary import MANAGE_USERS, WebhookEvent


class Customers:
    """Deletes customers. They are recorded only in the baskets: this Saleor has no list of customers."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client

    def delete(self, user_id: str, *, themselves: bool = False) -> None:
        """``customerDelete`` by staff, or ``accountDelete`` by the customer of that global id."""
        state = self._state
        event = WebhookEvent.ACCOUNT_DELETED if themselves else WebhookEvent.CUSTOMER_DELETED
        checkouts = [each for each in state.checkouts.values() if (each.basket.user or {}).get("id") == user_id]
        for checkout in checkouts:
            del state.checkouts[checkout.id]
        for order in state.orders.values():
            if (order.basket.user or {}).get("id") == user_id:
                order.basket.user = None
        # The body is built before the mutation returns, and names the customer.
        for app in state.apps.values():
            for hook in app.webhooks:
                if hook.event is event and app.active and MANAGE_USERS in app.permissions:
                    body, unplayed = self._app_client.build_body(app, hook, payload.customer(user_id))
                    state.run_in_background(self._deliver(hook, body, unplayed))

    async def _deliver(self, webhook: Webhook, body: bytes, unplayed: list[str]) -> None:
        for _ in range(2 if self._state.faults.webhooks_twice else 1):
            delivery = await self._app_client.post_event(webhook, body, unplayed=unplayed)
            await self._app_client.retry_event(webhook, delivery)
