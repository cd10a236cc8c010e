"""Asks the gateway what it has of a payment: one read of the whole order (gateway interface, 8)."""

import structlog

from app.db.tables import MerchantAccount, Payment
from app.db.vault import VaultError
from app.gateway.client import GatewayClient
from app.gateway.errors import GatewayError, KeysNotOpenedError
from app.payments.core.observation import Shown
from app.payments.services import Services
from app.saleor.deadline import Deadline

log = structlog.get_logger(__name__)


def opened(services: Services, account: MerchantAccount) -> GatewayClient:
    """Return the account's client.

    Raises KeysNotOpenedError, so that it is known before anything is written or sent.
    """
    try:
        return services.gateways.client(account)
    except VaultError as error:
        log.error("the account's keys cannot be opened", account=account.id, why=str(error))  # noqa: TRY400 - the words suffice
    # Outside of the handler: what was sealed is in the frames of the vault's error.
    raise KeysNotOpenedError("the account's keys cannot be opened with the secret keys of this machine")


async def shown_at_gateway(
    services: Services, account: MerchantAccount, payment: Payment, deadline: Deadline
) -> Shown | GatewayError:
    """Return what the gateway shows of a payment, or why it does not. Empty: it says that it knows no such order."""
    try:
        found = await opened(services, account).order(payment.order_id, timeout=deadline.left)
    except GatewayError as error:
        log.warning("look-up failed", order_id=payment.order_id, error=str(error))
        return error
    if found.unreadable:
        log.error("unreadable records of an order", order_id=payment.order_id, why=found.unreadable)
    return Shown.of(found, payment.language)
