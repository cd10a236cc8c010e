"""Apple fetches a file from the storefront's domain, which hands the request on: each domain has its merchant's own."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import FastAPI

from app.web.shopper.apple_pay import ADDRESS, create_association_router, find_association
from app.web.shopper.limits import PageLimits
from integration_base_tests.loopback import serve_app
from tests.payments.shop import Shop
from tests.payments.shop_fixtures import gateway, shop

__all__ = ["gateway", "shop"]

FILE = "7B227073704964223A22..."


@pytest.fixture
async def apple(shop: Shop) -> AsyncIterator[httpx2.AsyncClient]:
    """Apple's server, and a shop that offers Apple Pay at its storefront."""
    await shop.services.accounts.change(
        shop.account.id,
        apple_pay=True,
        apple_pay_association=FILE,
        storefront_origins=["https://shop.example.com", "http://localhost:3000"],
    )

    async def find(domain: str) -> str | None:
        return await find_association(shop.services, domain)

    app = FastAPI()
    app.include_router(create_association_router(find, PageLimits(shop.clock)))
    async with serve_app(app) as address, httpx2.AsyncClient(base_url=address, trust_env=False) as client:
        yield client


async def test_the_file_of_the_domain_that_is_asked_for(apple: httpx2.AsyncClient) -> None:
    answer = await apple.get(ADDRESS, headers={"Host": "shop.example.com"})
    assert (answer.status_code, answer.text) == (200, FILE)
    assert answer.headers["content-type"].startswith("text/plain")
    assert (await apple.get(ADDRESS, params={"domain": "SHOP.example.com"})).text == FILE
    assert (await apple.get(ADDRESS, params={"domain": "localhost:3000"})).text == FILE


@pytest.mark.parametrize(
    "domain", ["other.example.com", "evil-shop.example.com", "shop.example.com:8443", "x" * 300, "%00"]
)
async def test_of_another_domain_there_is_none(apple: httpx2.AsyncClient, domain: str) -> None:
    answer = await apple.get(ADDRESS, params={"domain": domain})
    assert answer.status_code == 404
    assert FILE not in answer.text
    assert (await apple.get(ADDRESS)).status_code == 404


@pytest.mark.parametrize("columns", [{"apple_pay": False}, {"apple_pay_association": None}, {"enabled": False}])
async def test_where_apple_pay_is_not_offered_there_is_none(
    apple: httpx2.AsyncClient, shop: Shop, columns: dict[str, object]
) -> None:
    await shop.services.accounts.change(shop.account.id, **columns)
    assert (await apple.get(ADDRESS, params={"domain": "shop.example.com"})).status_code == 404
