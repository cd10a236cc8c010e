"""Mutations by which an app manages its own webhooks: ``webhookCreate``, ``webhookUpdate``, ``webhookDelete``.

An app needs no permission for its own webhooks, and has none for those of others (Saleor's
``WebhookCreate.Meta.permissions``: MANAGE_APPS or AUTHENTICATED_APP). An update changes only the fields that it
contains, and the events only if it brings some.
"""

from collections.abc import Callable, Mapping
from typing import Any

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.manifest_rules import MAX_URL_LENGTH, QueryRefusedError, check_query, is_absolute
from saleor_app_sdk.testing.records import App, AppWebhook
from saleor_app_sdk.testing.saleor_state import SaleorState
from saleor_app_sdk.testing.selection import event_types
from saleor_app_sdk.testing.vocabulary import WebhookEvent

Errors = list[dict[str, Any]]
_BY_TYPENAME = {event.typename: event for event in WebhookEvent}
_BY_ENUM_NAME = {event.enum_name: event for event in WebhookEvent}


class WebhooksApi:
    """Resolves the three mutations; ``authenticated_app`` returns the requesting app, or raises."""

    def __init__(self, state: SaleorState, authenticated_app: Callable[[Any], App]) -> None:
        self._state = state
        self._authenticated_app = authenticated_app

    def resolvers(self) -> dict[str, Any]:
        """Return the resolvers by the name of their mutation."""
        return {"webhookCreate": self._create, "webhookUpdate": self._update, "webhookDelete": self._delete}

    def _create(self, info: Any, **arguments: Any) -> payload.Payload:
        app, fields = self._authenticated_app(info), arguments["input"]
        errors = [] if fields.get("targetUrl") else [_error("targetUrl", "REQUIRED", "This field cannot be blank.")]
        errors += self._validation_errors(fields)
        if errors:
            return {"webhook": None, "errors": errors}
        hook = AppWebhook(self._state.new_webhook_id(), "", "", "", ())
        _apply_input(hook, fields)
        app.hooks.append(hook)
        return {"webhook": payload.webhook(hook), "errors": []}

    def _update(self, info: Any, **arguments: Any) -> payload.Payload:
        hook, fields = self._own_webhook(info, arguments["id"]), arguments["input"]
        errors = self._validation_errors(fields) if hook else [_not_found_error(arguments["id"], "NOT_FOUND")]
        if errors or hook is None:
            return {"webhook": None, "errors": errors}
        _apply_input(hook, fields)
        return {"webhook": payload.webhook(hook), "errors": []}

    def _delete(self, info: Any, **arguments: Any) -> payload.Payload:
        app, hook = self._authenticated_app(info), self._own_webhook(info, arguments["id"])
        if hook is None:
            exists = any(arguments["id"] == hook.id for other in self._state.apps.values() for hook in other.hooks)
            code = "GRAPHQL_ERROR" if exists else "NOT_FOUND"
            return {"webhook": None, "errors": [_not_found_error(arguments["id"], code)]}
        if self._state.faults.webhook_in_use:
            hook.active = False
            message = "Webhook couldn't be deleted at this time due to running task."
            return {"webhook": None, "errors": [_error(None, "DELETE_FAILED", message)]}
        app.hooks.remove(hook)
        return {"webhook": payload.webhook(hook), "errors": []}

    def _own_webhook(self, info: Any, webhook_id: str) -> AppWebhook | None:
        app = self._authenticated_app(info)
        return next((hook for hook in app.hooks if hook.id == webhook_id), None)

    def _validation_errors(self, fields: Mapping[str, Any]) -> Errors:
        url, query = fields.get("targetUrl"), fields.get("query")
        if query:
            try:
                check_query(query, self._state.settings)
            except QueryRefusedError as refused:
                return [_error("query", refused.code, str(refused))]
        if url and (not is_absolute(url) or len(url) > MAX_URL_LENGTH):
            return [_error("targetUrl", "INVALID", "Enter a valid URL.")]
        return []


def _apply_input(hook: AppWebhook, fields: Mapping[str, Any]) -> None:
    hook.name = fields.get("name") or hook.name
    hook.target_url = fields.get("targetUrl") or hook.target_url
    hook.query = fields.get("query") or hook.query
    hook.active = fields.get("isActive", hook.active)
    named = [*(fields.get("asyncEvents") or ()), *(fields.get("syncEvents") or ())]
    if named:
        hook.events = tuple(_BY_ENUM_NAME[name] for name in named if name in _BY_ENUM_NAME)
    elif fields.get("query"):
        hook.events = tuple(
            _BY_TYPENAME[event_type] for event_type in sorted(event_types(hook.query)) if event_type in _BY_TYPENAME
        )


def _not_found_error(webhook_id: str, code: str) -> dict[str, Any]:
    return _error("id" if code == "NOT_FOUND" else None, code, f"Couldn't resolve to a node: {webhook_id}")


def _error(field: str | None, code: str, message: str) -> dict[str, Any]:
    return {"field": field, "code": code, "message": message}
