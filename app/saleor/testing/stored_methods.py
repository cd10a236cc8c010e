"""What a customer does with the payment methods that apps keep: looks at them, and has one deleted.

The real Saleor keeps an app's list for five minutes, for each customer and channel, and forgets it when it has asked
the app to delete one of them (``trigger_webhook_sync_if_not_cached``); an answer that is not a 2xx is kept by nobody.
"""

from datetime import datetime, timedelta
from typing import Any

from app.saleor.testing import payload
from app.saleor.testing.app_client import AppClient
from app.saleor.testing.records import App, Webhook
from app.saleor.testing.rules.stored_methods import own_id, read_deletion, read_methods
from app.saleor.testing.saleor_state import Delivery, SaleorState
from app.saleor.testing.views import ErrorView, MethodDeletionView, StoredMethodView
from app.saleor.testing.vocabulary import HANDLE_PAYMENTS, WebhookEvent

KEPT_FOR = timedelta(minutes=5)
_UNDELIVERED = "Payment method request delete failed to deliver."


class StoredMethods:
    """What a customer does who has signed in; a guest cannot ask (Saleor wants AUTHENTICATED_USER)."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client
        self._kept: dict[tuple[str, str, str], tuple[datetime, Any]] = {}

    async def listed(self, user_id: str, channel_slug: str, currency: str) -> list[StoredMethodView]:
        """``me { storedPaymentMethods(channel:) }``: what all apps keep for the customer."""
        shown = []
        for app, webhook in self._listening(WebhookEvent.LIST_STORED_PAYMENT_METHODS):
            name, now = (app.id, user_id, channel_slug), self._state.event_clock.now()
            kept = self._kept.get(name)
            if kept is None or kept[0] + KEPT_FOR <= now:
                fields = payload.stored_methods(user_id, channel_slug, currency)
                answer = _json((await self._app_client.deliver(app, webhook, fields))[0])
                if answer is None:
                    continue
                kept = self._kept[name] = (now, answer)
            shown += [StoredMethodView.model_validate(each) for each in read_methods(kept[1], app.identifier)]
        return shown

    async def delete(self, user_id: str, method_id: str, channel_slug: str, currency: str) -> MethodDeletionView:
        """``storedPaymentMethodRequestDelete``: the app that keeps it is asked; ``method_id`` is Saleor's of it."""
        named = own_id(method_id)
        event = WebhookEvent.STORED_PAYMENT_METHOD_DELETE_REQUESTED
        asked = [each for each in self._listening(event) if named and each[0].identifier == named[0]]
        if named is None or not asked:
            return _view("FAILED_TO_DELIVER", _UNDELIVERED)
        app, webhook = asked[0]
        fields = payload.stored_methods(user_id, channel_slug, currency) | {"paymentMethodId": named[1]}
        answer = _json((await self._app_client.deliver(app, webhook, fields))[0])
        if answer:
            self._kept.pop((app.id, user_id, channel_slug), None)
        return _view(*read_deletion(answer))

    def _listening(self, event: WebhookEvent) -> list[tuple[App, Webhook]]:
        return [
            (app, hook)
            for app in self._state.apps.values()
            for hook in app.webhooks
            if app.active and HANDLE_PAYMENTS in app.permissions and hook.event is event
        ]


def _json(delivery: Delivery) -> Any:
    """Only a 2xx answer is read."""
    return delivery.json if delivery.status is not None and 200 <= delivery.status < 300 else None


def _view(result: str, error: str | None) -> MethodDeletionView:
    failed = result != "SUCCESSFULLY_DELETED"
    errors = [ErrorView(field=None, code="GATEWAY_ERROR", message=error or "")] if failed else []
    return MethodDeletionView(result=result, errors=errors)
