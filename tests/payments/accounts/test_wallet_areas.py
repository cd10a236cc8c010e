"""Trying an account out says whether the gateway lets it use the wallets that it offers, and asks for no others."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import httpx2
import pytest

from app.flows.accounts.gateway_access import Area, check_areas
from app.store.tables import MerchantAccount
from gateway_client import Credentials, GatewayClient
from gateway_client_tests.sandbox.harness import POS, Harness, open_harness
from integration_base_tests.clock import Clock

BOTH = {"apple_pay": True, "google_pay": True}


@pytest.fixture
async def harness(clock: Clock) -> AsyncIterator[Harness]:
    async with open_harness(clock) as harness:
        yield harness


async def tried(harness: Harness, **columns: Any) -> Mapping[Area, bool]:
    account = MerchantAccount(base_url=harness.url, created_at=datetime(2026, 11, 1, tzinfo=UTC), **columns)
    keys: dict[str, Any] = {
        "pos_id": str(POS.pos_id),
        "api_key": POS.api_key,
        "api_secret": POS.api_secret.get_secret_value(),
        "endpoints_key": POS.endpoints_key.get_secret_value(),
        "base_url": harness.url,
    }
    async with httpx2.AsyncClient(trust_env=False) as http:
        return {
            check_area.area: check_area.works
            for check_area in await check_areas(GatewayClient(http, Credentials(**keys)), account)
        }


async def test_wallets_that_are_not_offered_are_not_asked_for(harness: Harness) -> None:
    assert set(await tried(harness)) == {Area.BALANCES, Area.REGISTER}


async def test_wallets_that_the_gateway_allows_work(harness: Harness) -> None:
    found = await tried(harness, **BOTH)
    assert (found[Area.APPLE_PAY], found[Area.GOOGLE_PAY]) == (True, True)
    assert await harness.control.payments() == []


@pytest.mark.parametrize(("allowed", "works"), [("applepay", (True, False)), ("gpay", (False, True))])
async def test_a_wallet_that_the_gateway_does_not_allow_is_told(
    harness: Harness, allowed: Literal["applepay", "gpay"], works: tuple[bool, bool]
) -> None:
    await harness.control.options(wallets=[allowed])
    found = await tried(harness, **BOTH)
    assert (found[Area.APPLE_PAY], found[Area.GOOGLE_PAY]) == works
