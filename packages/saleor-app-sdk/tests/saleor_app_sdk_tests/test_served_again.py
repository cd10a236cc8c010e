"""An app that is made once, and served once for each test, as FastAPI's applications are."""

import asyncio
from datetime import timedelta

import pytest
from fastapi import FastAPI

from saleor_app_sdk import AppInfo, InMemoryInstallationStore, SaleorApp
from saleor_app_sdk.errors import SaleorNotAuthorisedError


def test_an_app_that_is_served_again_reaches_saleor(saleor_url: str) -> None:
    """Each time in an event loop of its own. It said that Saleor could not be reached, and to check its address."""
    info = AppInfo("example.again", "Again", "1.0.0", "You", "")
    saleor_app = SaleorApp(info=info, api_base_url="http://127.0.0.1:8001", store=InMemoryInstallationStore())
    app = FastAPI()
    app.include_router(saleor_app.router())

    async def serve() -> None:
        async with app.router.lifespan_context(app):
            with pytest.raises(SaleorNotAuthorisedError):
                await saleor_app.client.who_am_i(f"{saleor_url}/graphql/", "no-token", timeout=timedelta(seconds=20))

    for _ in range(2):
        asyncio.run(serve())
