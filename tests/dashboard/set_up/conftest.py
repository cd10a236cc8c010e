"""A store that is being set up, by somebody who may. Whatever a test does, no answer may hold a secret."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx2
import pytest

from app.ledger.accounts import AccountKeys
from app.ledger.tables import MerchantAccount
from app.payments.desk import Addresses
from tests.commands.conftest import KEYS, NEW_KEYS, POS_ID, Gateway, gateway
from tests.dashboard.office import Office, open_office
from tests.payments.shop import SECRET, Shop

__all__ = ["gateway"]

LONG_KEYS = {
    "GATEWAY_API_KEY": "3f9c1d5a-7b2e-4c55-api-key-XKEY",
    "GATEWAY_API_SECRET": "aBcD0123456789-the-secret-XSEC",
    "GATEWAY_ENDPOINTS_KEY": "77aa-0123456789-endpoints-XEND",
}


@pytest.fixture
async def office(shop: Shop) -> AsyncIterator[Office]:
    """The office of a store with one account, whose app is on the machine of whoever sets it up."""
    shop.desk = replace(shop.desk, addresses=Addresses("http://127.0.0.1:8100"))
    answers: list[str] = []

    async def overhear(answer: httpx2.Response) -> None:
        answers.append((await answer.aread()).decode() + str(answer.headers))

    async with open_office(shop) as office:
        office.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
        office.http.event_hooks = {"response": [overhear]}
        yield office
    secrets = [*KEYS.values(), *NEW_KEYS.values(), *LONG_KEYS.values(), SECRET, "the-api-key", "the-endpoints-key"]
    for secret in secrets:
        assert not any(secret in answer for answer in answers)


@pytest.fixture
async def nothing(office: Office) -> Office:
    """The office of a store that has just installed the app."""
    await office.desk.accounts.remove(office.shop.account.id)
    return office


@pytest.fixture
async def account(office: Office, gateway: Gateway) -> MerchantAccount:
    """The store's account, at a gateway that looks at keys."""
    await office.desk.accounts.change(office.shop.account.id, base_url=gateway.url, pos_id=POS_ID)
    keys = AccountKeys(*KEYS.values())
    return await office.desk.accounts.change_keys(
        office.shop.account.id,
        api_key=keys.api_key,
        api_secret=keys.api_secret,
        endpoints_key=keys.endpoints_key,
        columns={"previous_api_secret_sealed": None},
    )


def new_account(here: Gateway, /, **different: str) -> dict[str, str]:
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
