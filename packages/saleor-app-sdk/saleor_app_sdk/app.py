"""A Saleor app: its manifest, the Saleors that may install it, and the routes that Saleor calls."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import structlog
from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from integration_base.outbound import Deadline, is_private
from saleor_app_sdk.addresses import AllowList
from saleor_app_sdk.dashboard_token import DashboardTokens, DashboardUser
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.errors import RegistrationRefusedError, RequestRefusedError
from saleor_app_sdk.extension import Extension, Widget
from saleor_app_sdk.generic_events import complete_subscription, is_query
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import InstallationStore
from saleor_app_sdk.keyring import Keyring
from saleor_app_sdk.manifest import Addresses, AppInfo, build_manifest
from saleor_app_sdk.recipient import RecipientCheck
from saleor_app_sdk.registration import Registrar
from saleor_app_sdk.request_limits import read_at_most
from saleor_app_sdk.selection_check import check_selection
from saleor_app_sdk.signature import MAX_BODY_BYTES
from saleor_app_sdk.versions import Version, parse_version
from saleor_app_sdk.webhook_definition import (
    ErrorHandler,
    Handler,
    RefusalHandler,
    WebhookContext,
    WebhookDefinition,
    build_definition,
)
from saleor_app_sdk.webhooks import BUDGET, MAX_EVENT_AGE, WebhookReceiver

__all__ = ["AppInfo", "SaleorApp", "WebhookContext"]

H = TypeVar("H", bound=Handler)

MAX_REGISTRATION_BYTES = 16 * 1024

logger = structlog.get_logger(__name__)


class _OwnClient(httpx2.AsyncClient):
    """An app's own HTTP client, which can be used after it was closed: an app may be served again, as by tests."""

    async def aclose(self) -> None:
        """Close the connections."""
        for transport in (self._transport, *self._mounts.values()):
            if transport is not None:
                await transport.aclose()


def _documents(folder: Path | None, kind: str) -> Documents:
    return Documents(folder / kind if folder else None)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SaleorApp:
    """A Saleor app: its manifest, registration and webhooks.

    ``manifest_folder``, if given, holds the documents that are named instead of written out: ``subscriptions/`` and
    ``operations/``. ``api_base_url`` is where Saleor's servers reach the app, ``iframe_base_url`` where browsers do
    (the same when None). ``allowed_saleor_urls`` are allow-list entries (``AllowList``); without any, only a Saleor at
    a loopback address may install an app at private addresses, and none may install one with a public address.
    ``http`` is shared and long-lived, and is closed by its creator; if None, the app has one of its own, and closes its
    connections when the server stops. ``max_event_age`` is how old an event may be, ``budget`` how long a response to
    one may take.
    """

    def __init__(
        self,
        *,
        info: AppInfo,
        manifest_folder: Path | None = None,
        api_base_url: str,
        iframe_base_url: str | None = None,
        allowed_saleor_urls: Iterable[str] = (),
        store: InstallationStore,
        http: httpx2.AsyncClient | None = None,
        client: SaleorClient | None = None,
        now: Callable[[], datetime] = _utc_now,
        max_event_age: timedelta = MAX_EVENT_AGE,
        budget: timedelta = BUDGET,
    ) -> None:
        self.info = info
        self._closes_http = http is None
        self._http = http = http or _OwnClient()
        self.client = client or SaleorClient(http, _documents(manifest_folder, "operations"))
        self._subscriptions = _documents(manifest_folder, "subscriptions")
        self._addresses = Addresses(api=api_base_url.rstrip("/"), iframe=(iframe_base_url or api_base_url).rstrip("/"))
        self._webhooks: dict[str, WebhookDefinition] = {}
        self._extensions: list[Extension | Widget] = []
        hosts = [urlsplit(address).hostname or "" for address in (api_base_url, iframe_base_url or api_base_url)]
        self._allowed = AllowList(allowed_saleor_urls, is_public=not all(map(is_private, hosts)))
        self._registrar = Registrar(
            identifier=info.id, allowed=self._allowed, store=store, client=self.client, http=http
        )
        keyring = Keyring(store, http, now)
        self.dashboard_tokens = DashboardTokens(store, keyring, now)
        self._receiver = WebhookReceiver(
            store=store,
            keyring=keyring,
            recipients=RecipientCheck(info.id, store, self.client),
            now=now,
            max_event_age=max_event_age,
        )
        self._budget = budget.total_seconds()

    def webhook(
        self,
        event_type: str,
        *,
        query: str,
        on_error: ErrorHandler | None = None,
        on_refusal: RefusalHandler | None = None,
    ) -> Callable[[H], H]:
        """Define a webhook: the decorated handler takes the event as its first parameter and returns the response.

        ``query`` is the subscription, or the name of its document in ``subscriptions/``. A payment event has a class
        (``saleor_app_sdk.events``); the body of any other is read as the parameter's annotation, a pydantic model or
        ``Mapping[str, Any]``. ``on_error`` takes the event, the context and the error, and returns the response when
        the handler raises, or takes too long; without it Saleor receives a payment event's well-formed failure, or an
        error status. ``on_refusal`` is told of each request that Saleor has signed and that never reaches the handler
        (too old, unreadable, ...): it takes the installation and the error. Raises TypeError for a handler that does
        not match the event, or reads a field that the subscription does not select; KeyError for an unknown document,
        ValueError for an unknown event, an unreadable subscription, or a second definition of the same event.
        """
        name = query
        if is_query(query):
            self._subscriptions.add(event_type, complete_subscription(query))
            name = event_type

        def register(handler: H) -> H:
            webhook = replace(build_definition(event_type, name, handler, on_error), on_refusal=on_refusal)
            versions = self._subscriptions.versions(webhook.query)
            documents = tuple(self._subscriptions.text(webhook.query, version) for version in versions)
            check_selection(event_type, webhook.body_type, documents)
            if event_type in self._webhooks:
                msg = f"{event_type} is defined already"
                raise ValueError(msg)
            self._webhooks[event_type] = webhook
            return handler

        return register

    def add_widget(self, widget: Widget) -> None:
        """Add a widget; the caller defines its route. Raises ValueError if it needs permissions that the app lacks."""
        self._add_extension(widget)

    def add_extension(self, extension: Extension) -> None:
        """Add an entry of a menu, or a button; the caller defines the route that it opens.

        Raises ValueError if it needs permissions that the app lacks.
        """
        self._add_extension(extension)

    def _add_extension(self, extension: Extension | Widget) -> None:
        if missing := set(extension.permissions) - set(self.info.permissions):
            msg = f"{extension.path} needs permissions that the app does not ask for: {', '.join(sorted(missing))}"
            raise ValueError(msg)
        self._extensions.append(extension)

    def dashboard_user(self, *permissions: str) -> Callable[[Request], Awaitable[DashboardUser]]:
        """Return a FastAPI dependency for routes that the app's page calls: it returns the signed-in member of staff.

        The page sends the Dashboard's token as ``Authorization: Bearer`` and its ``saleorApiUrl`` as
        ``Saleor-Api-Url``. Without a valid token the answer is 401, without all ``permissions`` 403; ``detail`` holds
        ``code`` and ``message``.
        """

        async def authenticate(request: Request) -> DashboardUser:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            address = request.headers.get("saleor-api-url", "")
            try:
                return await self.dashboard_tokens.check(
                    address, token if scheme.lower() == "bearer" else "", *permissions
                )
            except RequestRefusedError as refusal:
                raise HTTPException(refusal.status, {"code": refusal.code, "message": refusal.message}) from refusal

        return authenticate

    def router(self) -> APIRouter:
        """Return the routes for everything defined so far: manifest, registration, and one for each webhook."""
        if self._allowed.is_empty:
            who = "no Saleor" if self._allowed.allows_nobody else "only a Saleor on this machine"
            logger.warning(
                "allow_list.left_empty", detail=f"{who} can install the app; list the Saleor API addresses it serves"
            )
        router = APIRouter(lifespan=self._lifespan)
        for path in ("/api/manifest", "/api/manifest/"):  # as some paste it
            router.add_api_route(path, self._manifest, methods=["GET", "HEAD"], include_in_schema=False)
        router.add_api_route("/api/register", self._register, methods=["POST"], include_in_schema=False)
        for webhook in self._webhooks.values():
            router.add_api_route(webhook.path, self._build_endpoint(webhook), methods=["POST"], include_in_schema=False)
        return router

    def manifest(self, version: Version) -> dict[str, Any]:
        """Return the manifest of everything defined so far, for a Saleor of that version."""
        return build_manifest(
            self.info,
            webhooks=self._webhooks.values(),
            extensions=self._extensions,
            subscriptions=self._subscriptions,
            addresses=self._addresses,
            version=version,
        )

    @asynccontextmanager
    async def _lifespan(self, _app: object) -> AsyncIterator[None]:
        yield
        if self._closes_http:
            await self._http.aclose()

    async def _manifest(self, request: Request) -> JSONResponse:
        version = parse_version(request.headers.get("saleor-schema-version"))
        return JSONResponse(self.manifest(version), headers={"Vary": "Saleor-Schema-Version"})

    async def _register(self, request: Request) -> JSONResponse:
        body = await read_at_most(MAX_REGISTRATION_BYTES, request)
        try:
            # A body that is too long is refused like any other invalid body.
            await self._registrar.register(request.headers, body or b"")
        except RegistrationRefusedError as refusal:
            logger.warning("registration.refused", code=refusal.code)
            error = {"code": refusal.code, "message": refusal.message}
            return JSONResponse({"success": False, "error": error}, refusal.status)
        except Exception:  # Saleor shows staff the message of a JSON error, and nothing of any other response
            logger.exception("registration.failed")
            error = {"code": "APP_ERROR", "message": "The app could not save the installation. Try again later."}
            return JSONResponse({"success": False, "error": error}, 500)
        return JSONResponse({"success": True})

    def _build_endpoint(self, webhook: WebhookDefinition) -> Callable[[Request], Awaitable[Response]]:
        async def receive(request: Request) -> Response:
            deadline = Deadline(self._budget)
            try:
                async with asyncio.timeout(deadline.left):
                    body = await read_at_most(MAX_BODY_BYTES, request)
            except TimeoutError:
                return Response(status_code=408)  # the sender is not verified yet
            reply = await self._receiver.receive(webhook, request.headers, body, deadline)
            return Response(reply.body, reply.status, media_type="application/json")

        return receive
