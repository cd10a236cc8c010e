"""The sandbox as an application: the gateway interface, the payer's pages, the overview, the control endpoints."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx2
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from gateway_client.sandbox.api import balances, lookups, operations, payments, registers, subscriptions
from gateway_client.sandbox.api.responses import add_error_handlers
from gateway_client.sandbox.calls import CallRecorder
from gateway_client.sandbox.connections import Connections
from gateway_client.sandbox.control import routes as control
from gateway_client.sandbox.deliveries import WebhookSender
from gateway_client.sandbox.faults import FaultMiddleware
from gateway_client.sandbox.pages import checkout, overview, receipts
from gateway_client.sandbox.pages.rendering import STATIC, template_environment
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.settings import SandboxSettings
from gateway_client.sandbox.tls import shared_ssl_context

ROUTERS = (
    payments.router,
    operations.router,
    lookups.router,
    registers.router,
    balances.router,
    subscriptions.router,
)
OWN_ROUTERS = (control.router, checkout.router, receipts.router, overview.router)


def create_sandbox(settings: SandboxSettings, connections: Connections | None = None) -> FastAPI:
    """Return a sandbox gateway. `server.serve` passes the server's `connections`, so that faults can drop calls."""
    sandbox = Sandbox(settings)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        # Webhooks to this machine must not go through a proxy from the environment, and redirects are not followed:
        # the merchant names one address.
        async with httpx2.AsyncClient(
            verify=shared_ssl_context(),
            timeout=settings.webhook_timeout,
            trust_env=False,
            follow_redirects=False,
        ) as http:
            webhook_sender = WebhookSender(
                http,
                sandbox.now,
                retries=settings.webhook_retries,
                allow_remote=settings.allow_remote_webhooks,
                on_change=sandbox.save,
            )
            sandbox.start_sending(webhook_sender)
            timers = asyncio.create_task(_run_timers(sandbox))
            yield
            timers.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await timers
            await webhook_sender.stop()
            sandbox.webhook_sender = None
            sandbox.save()

    app = FastAPI(title="Sandbox gateway", lifespan=lifespan, openapi_url=None, redirect_slashes=False)
    app.state.sandbox = sandbox
    app.state.templates = template_environment()
    app.mount("/sandbox-static", StaticFiles(directory=STATIC))
    for router in (*ROUTERS, *OWN_ROUTERS):
        app.router.routes.extend(router.routes)  # read once, however many sandboxes there are
    add_error_handlers(app)
    app.add_middleware(FaultMiddleware, sandbox=sandbox, connections=connections or Connections())
    app.add_middleware(CallRecorder, log=sandbox.calls, clock=settings.clock)
    return app


async def _run_timers(sandbox: Sandbox) -> None:
    while True:
        await asyncio.sleep(sandbox.settings.tick)
        sandbox.catch_up()
