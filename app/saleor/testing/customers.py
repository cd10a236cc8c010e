"""Customers who are deleted: by staff, or by themselves. Saleor tells apps of it in the background.

Their checkouts go with them, and of their orders nobody knows any more whose they were (the foreign keys of Saleor's
``Checkout`` and ``Order``). A webhook of an event without an answer is sent to apps that have the permission of the
event; it is sent again after a 5xx, and after no 3xx or 4xx (``handle_webhook_retry``).
"""

from app.saleor.testing import payload
from app.saleor.testing.app_client import AppClient
from app.saleor.testing.records import Webhook
from app.saleor.testing.saleor_state import SaleorState
from app.saleor.testing.vocabulary import MANAGE_USERS, WebhookEvent


class Customers:
    """Ends customers. Who they are stands in the baskets alone: this Saleor keeps no list of them."""

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
        # The body is made before the mutation is answered, and says who it was.
        for app in state.apps.values():
            for hook in app.webhooks:
                if hook.event is event and app.active and MANAGE_USERS in app.permissions:
                    body, unplayed = self._app_client.body(app, hook, payload.customer(user_id))
                    state.in_background(self._tell(hook, body, unplayed))

    async def _tell(self, webhook: Webhook, body: bytes, unplayed: list[str]) -> None:
        for _ in range(2 if self._state.faults.webhooks_twice else 1):
            delivery = await self._app_client.post_event(webhook, body, unplayed=unplayed)
            await self._app_client.post_again(webhook, delivery)
