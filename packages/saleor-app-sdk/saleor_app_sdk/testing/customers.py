"""Deletion of customers, by staff or by themselves. Saleor notifies apps in the background.

Their checkouts are deleted too, and their orders lose the reference to them (the foreign keys of Saleor's ``Checkout``
and ``Order``).
"""

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.notifications import Notifications
from saleor_app_sdk.testing.saleor_state import SaleorState
from saleor_app_sdk.testing.vocabulary import MANAGE_USERS, WebhookEvent


class Customers:
    """Deletes customers. They are recorded only in the baskets: this Saleor has no list of customers."""

    def __init__(self, state: SaleorState, notifications: Notifications) -> None:
        self._state = state
        self._notifications = notifications

    def delete(self, user_id: str, *, themselves: bool = False) -> None:
        """``customerDelete`` by staff, or ``accountDelete`` by the customer of that global id."""
        state = self._state
        event = WebhookEvent.ACCOUNT_DELETED if themselves else WebhookEvent.CUSTOMER_DELETED
        checkouts = [
            checkout for checkout in state.checkouts.values() if (checkout.basket.user or {}).get("id") == user_id
        ]
        for checkout in checkouts:
            del state.checkouts[checkout.id]
        for order in state.orders.values():
            if (order.basket.user or {}).get("id") == user_id:
                order.basket.user = None
        # The body is built before the mutation returns, and names the customer.
        self._notifications.notify(event.enum_name, payload.customer(user_id), MANAGE_USERS)
