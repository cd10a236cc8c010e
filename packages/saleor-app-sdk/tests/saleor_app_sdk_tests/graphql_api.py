"""A Saleor whose GraphQL API a test answers itself, over a real connection."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from integration_base_tests.loopback import serve_app
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk_tests.fake_saleor import Row
from saleor_app_sdk_tests.served_app import MANIFEST

DOCUMENTS = Documents(MANIFEST / "operations")


@asynccontextmanager
async def serve_graphql(answer: Callable[[Request], Awaitable[Response]]) -> AsyncIterator[Row]:
    """Serve ``/graphql/``; yields the installation at that Saleor."""
    async with serve_app(Starlette(routes=[Route("/graphql/", answer, methods=["POST"])])) as address:
        yield Row(f"{address}/graphql/", schema_version="3.23", app_id="QXBwOjE=", token="the-token")


@asynccontextmanager
async def saleor_client() -> AsyncIterator[SaleorClient]:
    """Open a client of Saleor that would follow redirects, if it were let."""
    async with httpx2.AsyncClient(follow_redirects=True) as http:
        yield SaleorClient(http, DOCUMENTS, deadline=timedelta(seconds=30))
