"""Tokens of wallets (provisional: publicly documented, not in the interface)."""

import pytest
from pydantic import SecretStr

from app.gateway.models import Status
from tests.gateway_contract.harness import Harness
from tests.gateway_contract.requests import a_card

pytestmark = pytest.mark.sandbox_only("only a wallet on a phone has a token, only Apple's domain a session")


async def test_a_wallets_token_is_exchanged_and_pays(harness: Harness) -> None:
    token = await harness.client.wallets.tokenize("gpay", SecretStr("made-up"), timeout=harness.timeout)
    paid = await harness.client.create_direct(a_card(harness, "wallet", cc_token=token), timeout=harness.timeout)
    assert paid.status is Status.SUCCESS


async def test_a_session_for_the_payment_sheet(harness: Harness) -> None:
    session = await harness.client.wallets.apple_pay_session("https://wallet.example/start", timeout=harness.timeout)
    assert session["displayName"]
