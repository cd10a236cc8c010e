"""A customer's access to the payment methods that apps store: list them, and request the deletion of one.

The real Saleor caches an app's list for five minutes per customer and channel, and invalidates it when it has asked the
app to delete one of them (``trigger_webhook_sync_if_not_cached``); a response that is not a 2xx is not cached.
"""

from datetime import datetime, timedelta
from typing import Any

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.app_client import AppClient
from saleor_app_sdk.testing.records import App, Webhook
from saleor_app_sdk.testing.rules.stored_methods import parse_deletion, parse_method_id, parse_methods
from saleor_app_sdk.testing.saleor_state import Delivery, SaleorState
from saleor_app_sdk.testing.views import ErrorView, MethodDeletionView, StoredMethodView
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, WebhookEvent

CACHE_LIFETIME = timedelta(minutes=5)
_UNDELIVERED = "Payment method request delete failed to deliver."


class StoredMethods:
    """Actions of a signed-in customer; not available to guests (Saleor requires AUTHENTICATED_USER)."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client
        self._cache: dict[tuple[str, str, str], tuple[datetime, Any]] = {}

    async def list_methods(self, user_id: str, channel_slug: str, currency: str) -> list[StoredMethodView]:
        """``me { storedPaymentMethods(channel:) }``: the methods that all apps store for the customer."""
        shown = []
        for app, webhook in self._subscribers(WebhookEvent.LIST_STORED_PAYMENT_METHODS):
            cache_key, now = (app.id, user_id, channel_slug), self._state.event_clock.now()
            cached = self._cache.get(cache_key)
            if cached is None or cached[0] + CACHE_LIFETIME <= now:
                fields = payload.stored_methods(user_id, channel_slug, currency)
                response = _successful_json((await self._app_client.deliver(app, webhook, fields))[0])
                if response is None:
                    continue
                cached = self._cache[cache_key] = (now, response)
            shown += [StoredMethodView.model_validate(method) for method in parse_methods(cached[1], app.identifier)]
        return shown

    async def delete(self, user_id: str, method_id: str, channel_slug: str, currency: str) -> MethodDeletionView:
        """``storedPaymentMethodRequestDelete``: ask the app that stores it; ``method_id`` is Saleor's id."""
        app_and_id = parse_method_id(method_id)
        event = WebhookEvent.STORED_PAYMENT_METHOD_DELETE_REQUESTED
        owners = [
            subscriber
            for subscriber in self._subscribers(event)
            if app_and_id and subscriber[0].identifier == app_and_id[0]
        ]
        if app_and_id is None or not owners:
            return _deletion_view("FAILED_TO_DELIVER", _UNDELIVERED)
        app, webhook = owners[0]
        fields = payload.stored_methods(user_id, channel_slug, currency) | {"paymentMethodId": app_and_id[1]}
        response = _successful_json((await self._app_client.deliver(app, webhook, fields))[0])
        if response:
            self._cache.pop((app.id, user_id, channel_slug), None)
        return _deletion_view(*parse_deletion(response))

    def _subscribers(self, event: WebhookEvent) -> list[tuple[App, Webhook]]:
        return [
            (app, hook)
            for app in self._state.apps.values()
            for hook in app.webhooks
            if app.active and HANDLE_PAYMENTS in app.permissions and hook.event is event
        ]


def _successful_json(delivery: Delivery) -> Any:
    """Return the JSON of a 2xx response; None otherwise, because no other is read."""
    return delivery.json if delivery.status is not None and 200 <= delivery.status < 300 else None


def _deletion_view(result: str, error: str | None) -> MethodDeletionView:
    failed = result != "SUCCESSFULLY_DELETED"
    errors = [ErrorView(field=None, code="GATEWAY_ERROR", message=error or "")] if failed else []
    return MethodDeletionView(result=result, errors=errors)
