"""What the storefront is told before a shopper chooses to pay with us (PAYMENT_GATEWAY_INITIALIZE_SESSION)."""

from typing import Any

from app.db.installations import OpenInstallation
from app.payments.cards.keys import ALG, ENC, offered_key
from app.payments.core.answers import error_data
from app.payments.core.refusal import RefusalError
from app.payments.requests.payment import check_account
from app.payments.services import Services
from app.saleor.answers import GatewayConfigAnswer
from app.saleor.events import PaymentGatewayInitializeSession


async def offer(
    services: Services, event: PaymentGatewayInitializeSession, installation: OpenInstallation
) -> GatewayConfigAnswer:
    """Answer how a checkout can be paid; what is wrong stands in ``data.errors``, where the storefront reads it."""
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
        }
        if account.pci_dss_confirmed_at is not None:
            key = await offered_key(services.card_keys.of(installation.id), services.now())
            data |= {"modes": ["hosted", "direct"], "card": {"jwk": key.public_jwk, "alg": ALG, "enc": ENC}}
    return GatewayConfigAnswer(data=data)
