"""Before a shopper pays: the ways to pay, and what a wallet needs to open its payment sheet.

Answers PAYMENT_GATEWAY_INITIALIZE_SESSION.
"""

from typing import Any

from app.flows.card_keys import offered_key
from app.flows.look_up import client_for_new_payment
from app.flows.turned_away import count_refused
from app.flows.wallet_payment import merchant_session
from app.rules.cards.key_pair import ALG, ENC
from app.rules.refusal import RefusalError
from app.rules.requests.payment import check_account
from app.rules.requests.wallets import requested_session_url, wallets_of
from app.rules.responses import error_data
from app.services import Services
from app.store.installations import OpenInstallation
from app.store.tables import MerchantAccount
from integration_base.outbound import Deadline
from saleor_app_sdk.events import PaymentGatewayInitializeSession
from saleor_app_sdk.responses import GatewayConfigResponse


async def answer_gateway_initialize(
    services: Services,
    event: PaymentGatewayInitializeSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> GatewayConfigResponse:
    """Answer how a checkout can be paid; errors are in ``data.errors``, where the storefront reads them.

    ``deadline`` is that of the request; None: it begins now.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    source = event.source
    account = await services.accounts.for_channel(installation.id, source.channel.slug, source.channel.id)
    data: dict[str, Any]
    try:
        account = check_account(account, source.channel.slug, source.channel.currency_code)
        client_for_new_payment(services, account, source.language_code or "")
    except RefusalError as refusal:
        await count_refused(services, installation.id, source.channel.slug, refusal)
        data = {"available": False, "errors": [error_data(refusal.code.value, refusal.message, refusal.field)]}
    else:
        data = {
            "available": True,
            "mode": "hosted",
            "modes": ["hosted"],
            "flows": ["CHARGE", "AUTHORIZATION"],
            "currencies": account.currencies,
            "expiresInSeconds": account.order_timeout,
            "subscriptions": account.subscriptions,
            "saveCard": account.saved_cards and event.customer_id is not None,
        }
        if account.pci_dss_confirmed_at is not None:
            data |= {"modes": ["hosted", "direct"], "card": await _encryption_key(services, installation)}
        data |= await _wallet_data(services, installation, account, event.data, deadline)
    return GatewayConfigResponse(data=data)


async def _encryption_key(services: Services, installation: OpenInstallation) -> dict[str, Any]:
    """Return the public key with which storefronts encrypt a card or a wallet's token."""
    key = await offered_key(services.card_keys.for_store(installation.id), services.now())
    return {"jwk": key.public_jwk, "alg": ALG, "enc": ENC}


async def _wallet_data(
    services: Services, installation: OpenInstallation, account: MerchantAccount, session_data: Any, deadline: Deadline
) -> dict[str, Any]:
    """Return the account's wallets, and Apple's merchant session if ``session_data`` requests one."""
    data: dict[str, Any] = {}
    if wallets := wallets_of(account):
        data["wallets"] = wallets | {"key": await _encryption_key(services, installation)}
    try:
        url = requested_session_url(account, session_data)
        if url is not None:
            data["applePay"] = {"merchantSession": await merchant_session(services, account, url, deadline)}
    except RefusalError as refusal:
        data["errors"] = [error_data(refusal.code.value, refusal.message, refusal.field)]
    return data
