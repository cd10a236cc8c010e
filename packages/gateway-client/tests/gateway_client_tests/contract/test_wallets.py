"""Tokens of wallets (provisional: publicly documented, not in the interface)."""

from json import dumps

import pytest

from gateway_client import RefusedError, Status
from gateway_client.wallets import Wallet, encode_wallet_token
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import a_card
from gateway_client_tests.examples import APPLE_TOKEN, GOOGLE_TOKEN

pytestmark = [pytest.mark.public_only("no call for wallets"), pytest.mark.sandbox_only("only a phone's wallet has one")]

APPLES = "https://apple-pay-gateway.apple.com/paymentservices/startSession"
GIVEN = {Wallet.APPLE_PAY: dumps(APPLE_TOKEN), Wallet.GOOGLE_PAY: GOOGLE_TOKEN}


async def test_a_wallets_token_is_exchanged_and_pays(harness: Harness) -> None:
    for number, (wallet, given) in enumerate(GIVEN.items()):
        token = await harness.client.wallets.tokenize(wallet, encode_wallet_token(given), timeout=harness.timeout)
        paying = a_card(harness, f"wallet{number}", cc_token=token)
        paid = await harness.client.create_direct(paying, timeout=harness.timeout)
        assert paid.status is Status.SUCCESS


async def test_a_wallets_token_that_is_none_is_refused(harness: Harness) -> None:
    with pytest.raises(RefusedError) as caught:
        await harness.client.wallets.tokenize(Wallet.APPLE_PAY, encode_wallet_token("{}"), timeout=harness.timeout)
    assert [violation.field for violation in caught.value.violations] == ["token"]


async def test_a_session_for_the_payment_sheet(harness: Harness) -> None:
    session = await harness.client.wallets.apple_pay_session(APPLES, timeout=harness.timeout)
    assert session["displayName"]
