"""Asks the gateway what it has of a payment: one read of the whole order (gateway interface, 8)."""

import structlog

from app.gateway.client import GatewayClient
from app.gateway.errors import GatewayError, KeysNotOpened
from app.ledger.tables import MerchantAccount, Payment
from app.ledger.vault import VaultError
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.outcome.seen import Shown

log = structlog.get_logger(__name__)


def opened(desk: Desk, account: MerchantAccount) -> GatewayClient:
    """Return the account's client. Raises KeysNotOpened, so that it is known before anything is written or sent."""
    try:
        return desk.gateways.client(account)
    except VaultError as error:
        log.error("the account's keys cannot be opened", account=account.id, why=str(error))  # noqa: TRY400 - the words suffice
    # Outside of the handler: what was sealed is in the frames of the vault's error.
    raise KeysNotOpened("the account's keys cannot be opened with the secret keys of this machine")


async def shown_at_gateway(
    desk: Desk, account: MerchantAccount, payment: Payment, deadline: Deadline
) -> Shown | GatewayError:
    """Return what the gateway shows of a payment, or why it does not. Empty: it says that it knows no such order."""
    try:
        found = await opened(desk, account).order(payment.order_id, timeout=deadline.left)
    except GatewayError as error:
        log.warning("look-up failed", order_id=payment.order_id, error=str(error))
        return error
    if found.unreadable:
        log.error("unreadable records of an order", order_id=payment.order_id, why=found.unreadable)
    return Shown.of(found, payment.language)
