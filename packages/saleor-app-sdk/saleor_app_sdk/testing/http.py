"""Saleor's HTTP interface: GraphQL, JWKS, the Dashboard, and the control API, as an ASGI app."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

import httpx2
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from integration_base.exact_json import loads
from saleor_app_sdk.testing.client import shared_ssl_context
from saleor_app_sdk.testing.control import control_routes
from saleor_app_sdk.testing.dashboard.pages import dashboard_routes
from saleor_app_sdk.testing.engine import Saleor
from saleor_app_sdk.testing.saleor_state import NotFoundError, SaleorState
from saleor_app_sdk.testing.settings import SaleorSettings

_ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}


class BrokenResponse(Response):
    """Announces a body but never completes it: the connection breaks after the work is done."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Send the start of the response, then return."""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b'{"data": {', "more_body": True})


def create_saleor(settings: SaleorSettings | None = None, clock: Callable[[], datetime] | None = None) -> FastAPI:
    """Return a Saleor as an ASGI app; while it runs, ``app.state.saleor`` is its ``Saleor`` object."""
    chosen = settings or SaleorSettings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # One client for all requests to apps; this machine's proxy settings do not apply to Saleor.
        async with httpx2.AsyncClient(verify=shared_ssl_context(), trust_env=False) as http:
            saleor = Saleor(chosen, http, clock)
            app.state.saleor = saleor
            yield
            await saleor.state.stop()

    app = FastAPI(title="Saleor", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    for router in (control_routes(), dashboard_routes()):
        app.router.routes.extend(router.routes)  # the routers are cached and shared by all Saleors
    app.add_exception_handler(NotFoundError, _not_found)
    # Saleor's ALLOWED_GRAPHQL_ORIGINS is "*" unless it is set: browsers may send requests from any storefront.
    app.add_api_route("/graphql/", _preflight, methods=["OPTIONS"])
    app.add_api_route("/graphql/", _graphql, methods=["POST"])
    app.add_api_route("/.well-known/jwks.json", _jwks, methods=["GET"])
    return app


async def _not_found(_request: Request, exc: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(exc)}, status_code=404)


def _state(request: Request) -> SaleorState:
    saleor: Saleor = request.app.state.saleor
    return saleor.state


async def _jwks(request: Request) -> Response:
    state = _state(request)
    if state.faults.jwks_status:
        return Response(status_code=state.faults.jwks_status)
    if state.faults.jwks_body is not None:
        return Response(state.faults.jwks_body, media_type="application/json")
    return JSONResponse(state.key.jwks())


async def _preflight() -> Response:
    headers = {
        "Access-Control-Allow-Methods": "POST, OPTIONS",
        "Access-Control-Allow-Headers": "content-type, authorization",
    }
    return Response(headers=headers | _ANY_ORIGIN)


async def _graphql(request: Request) -> Response:
    response = await _graphql_response(request)
    response.headers.update(_ANY_ORIGIN)
    return response


async def _graphql_response(request: Request) -> Response:
    state = _state(request)
    faults = state.faults
    state.faults = faults.remaining_after_one("graphql")
    if faults.graphql_status:
        return Response("Saleor is not at home.", status_code=faults.graphql_status, media_type="text/plain")
    if faults.graphql_body is not None:
        return Response(faults.graphql_body, media_type="application/json")
    try:
        graphql_request = loads(await request.body(), any_number=True)
    except ValueError:
        graphql_request = None
    saleor: Saleor = request.app.state.saleor
    status, body = await saleor.api.handle(graphql_request, _token(request), faults)
    if faults.graphql_answer_lost:
        return BrokenResponse()
    return JSONResponse(body, status_code=status)


def _token(request: Request) -> str | None:
    header = request.headers.get("authorization-bearer") or request.headers.get("authorization", "")
    return header.removeprefix("Bearer ").strip() or None
