"""Before a shopper pays: what there is to choose, and what a wallet needs to open its sheet.

Answers PAYMENT_GATEWAY_INITIALIZE_SESSION.
"""

from typing import Any

from app.db.installations import OpenInstallation
from app.db.tables import MerchantAccount
from app.outbound import Deadline
from app.payments.cards.keys import ALG, ENC, offered_key
from app.payments.core.answers import error_data
from app.payments.core.refusal import RefusalError
from app.payments.operations.wallet_payment import merchant_session
from app.payments.requests.payment import check_account
from app.payments.requests.wallets import asked_session, wallets_of
from app.payments.services import Services
from app.saleor.answers import GatewayConfigAnswer
from app.saleor.events import PaymentGatewayInitializeSession


async def offer(
    services: Services,
    event: PaymentGatewayInitializeSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> GatewayConfigAnswer:
    """Answer how a checkout can be paid; what is wrong stands in ``data.errors``, where the storefront reads it.

    ``deadline`` is the request's; None: it begins now.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    source = event.source
    account = await services.accounts.for_channel(installation.id, source.channel.slug)
    data: dict[str, Any]
    try:
        account = check_account(account, source.channel.slug, source.channel.currency_code)
    except RefusalError as refusal:
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
            data |= {"modes": ["hosted", "direct"], "card": await _key(services, installation)}
        data |= await _wallets(services, installation, account, event.data, deadline)
    return GatewayConfigAnswer(data=data)


async def _key(services: Services, installation: OpenInstallation) -> dict[str, Any]:
    """Return what storefronts encrypt with what a shopper pays with."""
    key = await offered_key(services.card_keys.of(installation.id), services.now())
    return {"jwk": key.public_jwk, "alg": ALG, "enc": ENC}


async def _wallets(
    services: Services, installation: OpenInstallation, account: MerchantAccount, asked: Any, deadline: Deadline
) -> dict[str, Any]:
    """Return what there is of wallets: those of the account, and Apple's merchant session where one is asked for."""
    told: dict[str, Any] = {}
    if wallets := wallets_of(account):
        told["wallets"] = wallets | {"key": await _key(services, installation)}
    try:
        url = asked_session(account, asked)
        if url is not None:
            told["applePay"] = {"merchantSession": await merchant_session(services, account, url, deadline)}
    except RefusalError as refusal:
        told["errors"] = [error_data(refusal.code.value, refusal.message, refusal.field)]
    return told
