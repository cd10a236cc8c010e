"""A store that is being set up, by somebody who may. Whatever a test does, no answer may hold a secret."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest

from app.rules.addresses import Addresses
from app.store.accounts import AccountKeys
from app.store.tables import MerchantAccount
from tests.commands.conftest import KEYS, NEW_KEYS, POS_ID, PointOfSale, pos
from tests.dashboard.dashboard_app import StaffClient, open_staff_client
from tests.payments.shop import SECRET, Shop

__all__ = ["pos"]

LONG_KEYS = {
    "GATEWAY_API_KEY": "3f9c1d5a-7b2e-4c55-api-key-XKEY",
    "GATEWAY_API_SECRET": "aBcD0123456789-the-secret-XSEC",
    "GATEWAY_ENDPOINTS_KEY": "77aa-0123456789-endpoints-XEND",
}


@pytest.fixture
async def staff_client(shop: Shop) -> AsyncIterator[StaffClient]:
    """The office of a store with one account, whose app is on the machine of whoever sets it up."""
    shop.services = replace(shop.services, addresses=Addresses("http://127.0.0.1:8100"))
    answers: list[str] = []

    async def overhear(answer: httpx2.Response) -> None:
        answers.append((await answer.aread()).decode() + str(answer.headers))

    async with open_staff_client(shop) as staff_client:
        staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
        staff_client.http.event_hooks = {"response": [overhear]}
        yield staff_client
    secrets = [*KEYS.values(), *NEW_KEYS.values(), *LONG_KEYS.values(), SECRET, "the-api-key", "the-endpoints-key"]
    for secret in secrets:
        assert not any(secret in answer for answer in answers)


@pytest.fixture
async def nothing(staff_client: StaffClient) -> StaffClient:
    """The office of a store that has just installed the app."""
    await staff_client.services.accounts.remove(staff_client.shop.account.id)
    return staff_client


@pytest.fixture
async def account(staff_client: StaffClient, pos: PointOfSale) -> MerchantAccount:
    """The store's account, at a gateway that looks at keys."""
    await staff_client.services.accounts.change(staff_client.shop.account.id, base_url=pos.url, pos_id=POS_ID)
    keys = AccountKeys(*KEYS.values())
    return await staff_client.services.accounts.change_keys(
        staff_client.shop.account.id,
        api_key=keys.api_key,
        api_secret=keys.api_secret,
        endpoints_key=keys.endpoints_key,
        grace=timedelta(0),
    )


def new_account(here: PointOfSale, /, **different: str) -> dict[str, str]:
    """Return the form of a new account, filled in for a gateway on loopback."""
    usual = {
        "kind": "test",
        "gateway": "",
        "base_url": here.url,
        "scheme_word": "",
        "pos_id": POS_ID,
        "api_key": KEYS["GATEWAY_API_KEY"],
        "api_secret": KEYS["GATEWAY_API_SECRET"],
        "endpoints_key": KEYS["GATEWAY_ENDPOINTS_KEY"],
        "name": "",
        "currencies": "UAH",
        "storefront_origins": "https://shop.example.com",
    }
    return usual | different
