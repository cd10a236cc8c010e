"""Installation and removal of apps: the install handshake (Saleor contract, A.1)."""

import secrets
import string
from collections.abc import Mapping, Sequence
from typing import Any

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.app_client import AppClient
from saleor_app_sdk.testing.ids import global_id
from saleor_app_sdk.testing.manifest_rules import ManifestRefusedError, check_manifest, check_version
from saleor_app_sdk.testing.records import App, Webhook
from saleor_app_sdk.testing.saleor_state import Delivery, SaleorState
from saleor_app_sdk.testing.views import AppView, ErrorView, InstallationView
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, WebhookEvent

_TOKEN_LENGTH = 30
_APP_EVENTS_SINCE = (3, 23, 5)
_NO_CONNECTION = "Failed to connect to app. Try later or contact with app support."


class InstallationFailedError(Exception):
    """The installation is FAILED; the text is the message for staff."""


class Apps:
    """Installs, activates and uninstalls apps."""

    def __init__(self, state: SaleorState, app_client: AppClient) -> None:
        self._state = state
        self._app_client = app_client

    async def install(
        self, manifest_url: str, permissions: Sequence[str] = (HANDLE_PAYMENTS,), *, activate: bool = True
    ) -> InstallationView:
        """Install an app as the Dashboard does: preview its manifest, then install it with these permissions.

        ``activate`` False is ``activateAfterInstallation: false``: the token is refused until ``activate``.
        """
        fetch_errors = await self._preview(manifest_url)
        try:
            app = await self._install(manifest_url, permissions, activate=activate)
        except (InstallationFailedError, ManifestRefusedError) as exc:
            return InstallationView(status="FAILED", message=str(exc), fetch_errors=fetch_errors)
        return InstallationView(status="INSTALLED", fetch_errors=fetch_errors, app_id=app.id, token=app.token)

    def uninstall(self, identifier: str | None = None) -> None:
        """Delete an app; its token is invalid at once. Its transactions stay, and refer to it by its identifier."""
        app = self._state.app(identifier)
        del self._state.apps[app.identifier]
        self._notify_app(app, WebhookEvent.APP_DELETED)

    def activate(self, identifier: str | None = None) -> None:
        """Activate an app."""
        self._set_active(identifier, active=True)

    def deactivate(self, identifier: str | None = None) -> None:
        """Deactivate an app: its token is rejected, and the only webhook it still gets is the one that reports this."""
        self._set_active(identifier, active=False)

    def _set_active(self, identifier: str | None, *, active: bool) -> None:
        app = self._state.app(identifier)
        app.active = active
        self._notify_app(app, WebhookEvent.APP_STATUS_CHANGED)

    def _notify_app(self, app: App, event: WebhookEvent) -> None:
        """Notify an app of its own status change or deletion, in the background; from 3.23.5 on."""
        if self._state.settings.release < _APP_EVENTS_SINCE:
            return
        for hook in app.webhooks:
            if hook.event is event:
                body, unplayed = self._app_client.build_body(app, hook, payload.app_event(app))
                self._state.run_in_background(self._deliver(hook, body, unplayed))

    async def _deliver(self, webhook: Webhook, body: bytes, unplayed: list[str]) -> None:
        for _ in range(2 if self._state.faults.webhooks_twice else 1):
            delivery = await self._app_client.post_event(webhook, body, unplayed=unplayed)
            await self._app_client.retry_event(webhook, delivery)

    def installed_apps(self) -> list[AppView]:
        """Return the installed apps."""
        return [AppView.model_validate(app) for app in self._state.apps.values()]

    async def _preview(self, manifest_url: str) -> list[ErrorView]:
        """``appFetchManifest``: return its errors; they do not prevent the installation."""
        fetched = await self._app_client.fetch_manifest(manifest_url)
        if not _is_manifest(fetched):
            message = "Unable to fetch manifest data."
            return [ErrorView(field="manifestUrl", code="MANIFEST_URL_CANT_CONNECT", message=message)]
        try:
            check_manifest(fetched.json, self._state.settings)
            self._check_unique(fetched.json)
        except ManifestRefusedError as exc:
            return [ErrorView(field=field, code=code, message=message) for field, code, message in exc.errors]
        return []

    async def _install(self, manifest_url: str, permissions: Sequence[str], *, activate: bool) -> App:
        fetched = await self._app_client.fetch_manifest(manifest_url)
        _raise_for_status(fetched)
        if not _is_manifest(fetched):
            message = "The app's manifest is no JSON."
            raise InstallationFailedError(message)
        manifest = fetched.json
        hooks = check_manifest(manifest, self._state.settings)
        check_version(manifest, self._state.settings)
        self._check_unique(manifest)
        alphabet = string.ascii_letters + string.digits
        app = App(
            id=global_id("App", next(self._state.app_numbers)),
            identifier=manifest["id"],
            name=manifest["name"],
            version=manifest["version"],
            token="".join(secrets.choice(alphabet) for _ in range(_TOKEN_LENGTH)),
            permissions=tuple(permissions),
            active=activate,
            hooks=hooks,
            manifest={**manifest, "manifestUrl": manifest_url},
        )
        for hook in hooks:
            hook.id = self._state.new_webhook_id()
        self._state.apps[app.identifier] = app
        try:
            await self._send_token(app)
        except InstallationFailedError:
            del self._state.apps[app.identifier]
            raise
        return app

    async def _send_token(self, app: App) -> None:
        target = app.manifest.get("tokenTargetUrl")
        if target:
            # A redirect is not an error here: the app is installed, but never gets its token.
            _raise_for_status(await self._app_client.post_token(target, app.token))

    def _check_unique(self, manifest: Mapping[str, Any]) -> None:
        if existing := self._state.apps.get(manifest["id"]):
            message = f"App with the same identifier is already installed: {existing.name}"
            raise ManifestRefusedError(("identifier", "UNIQUE", message))


def _is_manifest(fetched: Delivery) -> bool:
    # A redirect is not followed; its own body is taken as the manifest (and lacks all fields).
    return fetched.status is not None and fetched.status < 400 and isinstance(fetched.json or {}, Mapping)


def _raise_for_status(delivery: Delivery) -> None:
    if delivery.status is None:
        raise InstallationFailedError(_NO_CONNECTION)
    if delivery.status < 400:
        return
    body = delivery.json
    error = body.get("error") if isinstance(body, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else None
    generic = f"App internal error ({delivery.status}). Try later or contact with app support."
    raise InstallationFailedError(message or generic)
