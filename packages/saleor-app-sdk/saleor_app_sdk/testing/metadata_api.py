"""Mutations of an app's own private metadata, in which it may keep its settings."""

from collections.abc import Callable, Mapping
from typing import Any

from graphql import GraphQLResolveInfo

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.records import App

Info = GraphQLResolveInfo[Any]


class PrivateMetadataApi:
    """Resolves the mutations. ``own_app`` returns the requesting app, and refuses the id of any other object."""

    def __init__(self, own_app: Callable[[Info, str], App]) -> None:
        self._own_app = own_app

    def resolvers(self) -> Mapping[str, Any]:
        """Return the resolvers by mutation."""
        return {"updatePrivateMetadata": self._update, "deletePrivateMetadata": self._delete}

    def _update(self, info: Info, **arguments: Any) -> payload.Payload:
        app = self._own_app(info, arguments["id"])
        if any(not item["key"].strip() for item in arguments["input"]):
            error = {"field": "input", "code": "REQUIRED", "message": "Metadata key cannot be empty."}
            return {"item": None, "errors": [error]}
        app.private_metadata.update({item["key"]: item["value"] for item in arguments["input"]})
        return {"item": payload.app(app), "errors": []}

    def _delete(self, info: Info, **arguments: Any) -> payload.Payload:
        app = self._own_app(info, arguments["id"])
        for key in arguments["keys"]:
            app.private_metadata.pop(key, None)
        return {"item": payload.app(app), "errors": []}
