"""Asks the gateway with an account's keys what it has of a payment: one read of the whole order (gateway interface, 8).

That it has answered ends what was wrong with the keys, or with the address.
"""

from datetime import datetime

import structlog

from app.db.aggregates import PaymentAggregate, payment_of
from app.db.problems import payments_of_account_with
from app.db.tables import MerchantAccount, Payment
from app.db.vault import VaultError
from app.gateway.client import GatewayClient
from app.gateway.errors import GatewayError, KeysNotOpenedError
from app.outbound import Deadline
from app.payments.core.observation import Shown
from app.payments.core.problems import ADDRESS, KEYS, OF_ACCOUNT, clear, open_problems
from app.payments.services import Services

log = structlog.get_logger(__name__)


def opened(services: Services, account: MerchantAccount) -> GatewayClient:
    """Return the account's client.

    Raises KeysNotOpenedError, so that it is known before anything is written or sent.
    """
    try:
        return services.gateways.client(account)
    except VaultError as error:
        log.error("the account's keys cannot be opened", account=account.id, error=str(error))  # noqa: TRY400 - the words suffice
    # Outside of the handler: what was sealed is in the frames of the vault's error.
    raise KeysNotOpenedError("the account's keys cannot be opened with the secret keys of this machine")


async def shown_at_gateway(
    services: Services, account: MerchantAccount, payment: Payment, deadline: Deadline
) -> Shown | GatewayError:
    """Return what the gateway shows of a payment, or why it does not. Empty: it says that it knows no such order."""
    try:
        found = await opened(services, account).order(payment.order_id, timeout=deadline.left)
    except GatewayError as error:
        log.warning("look-up failed", payment=payment.order_id, error=str(error))
        return error
    if found.unreadable:
        log.error("unreadable records of an order", payment=payment.order_id, error=found.unreadable)
    return Shown.of(found, payment.language)


async def keys_accepted(services: Services, aggregate: PaymentAggregate) -> None:
    """End the problems of an account's keys and address: the gateway has just answered with them, for ``aggregate``.

    It, too, has them no more when this returns. The others are looked for now and then only, because this happens at
    every call.
    """
    account_id, store, now = aggregate.payment.account_id, aggregate.payment.installation_id, services.now()
    here = any(each.kind in OF_ACCOUNT for each in open_problems(aggregate.payment))
    if not here and not services.gateways.time_to_compare(account_id, now):
        return
    async with services.database.transaction() as session:
        found = await payments_of_account_with(session, store, account_id, OF_ACCOUNT)
    for payment_id in found:  # each under its own lock and for itself: two locks at once can wait for each other
        async with services.database.transaction() as session:
            _clear(await payment_of(session, payment_id), now)
    _clear(aggregate.payment, now)


def _clear(payment: Payment, now: datetime) -> None:
    for cause in (KEYS, ADDRESS):
        clear(payment, cause, now)
