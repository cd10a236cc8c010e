"""Paying with Apple Pay or Google Pay: the gateway exchanges the wallet's token for one of its own, which pays.

Both the exchange and the payment need the account's secret, so the storefront can do neither. The exchange moves no
money: it is made within the call of a committed intent, and no payment is requested before it has succeeded.
"""

from typing import Any

import structlog

from app.flows.execute import Call
from app.flows.look_up import client_of
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.wallets import VALIDATION_URL
from app.services import Services
from app.store.tables import MerchantAccount
from gateway_client.client import GatewayClient
from gateway_client.errors import GatewayError, NotSentError, OutcomeUnknownError
from gateway_client.models.payments import DirectPayment
from gateway_client.wallets import Wallet
from integration_base.outbound import Deadline

log = structlog.get_logger(__name__)


def wallet_payment_call(client: GatewayClient, request: DirectPayment, wallet: Wallet) -> Call:
    """Return the call that exchanges the token of ``wallet`` for the gateway's own, and pays with that.

    ``request`` holds the wallet's token where the gateway's belongs. A payment that provably was not sent is retried
    with the exchanged token, because a wallet's token can be used only once.
    """
    exchanged: DirectPayment | None = None

    async def call(seconds: float) -> Any:
        nonlocal exchanged
        deadline = Deadline(seconds)
        if exchanged is None:
            exchanged = await _exchange_token(client, request, wallet, deadline.left)
        return await client.create_direct(exchanged, timeout=deadline.left)

    return call


async def _exchange_token(
    client: GatewayClient, request: DirectPayment, wallet: Wallet, seconds: float
) -> DirectPayment:
    if request.cc_token is None:
        raise ValueError("there is no wallet token")
    try:
        token = await client.wallets.tokenize(wallet, request.cc_token, timeout=seconds)
    except OutcomeUnknownError as error:
        # It is unknown whether a token was created, which does no harm: the payment itself has not been sent.
        message = f"the wallet's token was not exchanged ({error.message})"
        lost = NotSentError(message, method=error.method, path=error.path, http_status=error.http_status)
    else:
        return request.model_copy(update={"cc_token": token})
    raise lost


async def merchant_session(
    services: Services, account: MerchantAccount, url: str, deadline: Deadline
) -> dict[str, Any]:
    """Return the session that opens Apple's payment sheet, for the address that Apple named. Raises RefusalError."""
    try:
        return await client_of(services, account).wallets.apple_pay_session(url, timeout=deadline.left)
    except GatewayError as error:
        log.warning("apple_pay_session.not_opened", account=account.id, error=str(error))
        message = "The gateway provides no session for Apple Pay at the moment: offer another payment method."
        raise RefusalError(RefusalCode.WALLET_UNAVAILABLE, message, VALIDATION_URL) from error
