"""Tokens of wallets (provisional: publicly documented, not in the interface)."""

import pytest
from pydantic import SecretStr

from app.gateway.models import Status
from tests.gateway_contract.requests import a_card
from tests.gateway_contract.stage import Stage

pytestmark = pytest.mark.sandbox_only("only a wallet on a phone has a token, only Apple's domain a session")


async def test_a_wallets_token_is_exchanged_and_pays(stage: Stage) -> None:
    token = await stage.client.wallets.tokenize("gpay", SecretStr("made-up"), timeout=stage.timeout)
    paid = await stage.client.create_direct(a_card(stage, "wallet", cc_token=token), timeout=stage.timeout)
    assert paid.status is Status.SUCCESS


async def test_a_session_for_the_payment_sheet(stage: Stage) -> None:
    session = await stage.client.wallets.apple_pay_session("https://wallet.example/start", timeout=stage.timeout)
    assert session["displayName"]
