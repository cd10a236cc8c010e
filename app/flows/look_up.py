"""Looks a payment up at the gateway with the account's keys: one read of the whole order (gateway interface, 8).

An answer of the gateway clears the problems of the account's keys and address.
"""

import structlog

from app.core.payment import Payment, PaymentAggregate
from app.rules.call_errors import KEYS_NOT_OPENED, KeysNotOpenedError
from app.rules.decisions.look_up import GatewayAnswered
from app.rules.observation import Observations
from app.rules.problems import ACCOUNT_KINDS, open_problems
from app.rules.refusal import RefusalCode, RefusalError, shopper_message_of
from app.services import Services
from app.store.aggregates import ById, account_of
from app.store.problems import payment_ids_with_problem
from app.store.tables import MerchantAccount
from app.store.vault import VaultError
from gateway_client.client import GatewayClient
from gateway_client.errors import GatewayError, InvalidRequestError
from integration_base.outbound import Deadline

log = structlog.get_logger(__name__)


def client_of(services: Services, account: MerchantAccount) -> GatewayClient:
    """Return the account's client.

    Raises KeysNotOpenedError here, before anything is written or sent.
    """
    try:
        return services.gateways.client(account)
    except VaultError as error:
        log.error("account_keys.not_opened", account=account.id, error=str(error))  # noqa: TRY400 - the message suffices
    # Raised outside the handler, because the frames of the vault's error hold the sealed values.
    raise KeysNotOpenedError("the account's keys cannot be decrypted with the secret keys of this machine")


def client_for_new_payment(services: Services, account: MerchantAccount, language: str) -> GatewayClient:
    """Return the account's client. Raises RefusalError if its keys do not open, or are none: no shopper can pay."""
    try:
        return client_of(services, account)
    except KeysNotOpenedError:
        message = f"{KEYS_NOT_OPENED}."
    except InvalidRequestError as error:  # stored by a version that did not look at it
        message = error.message
    raise RefusalError(
        RefusalCode.STORE_UNAVAILABLE,
        message,
        shopper_message=shopper_message_of(RefusalCode.STORE_UNAVAILABLE, language),
    )


def opens_keys(services: Services, payment: Payment) -> bool:
    """Return whether the keys of a payment's account open, so that its gateway can be called."""
    try:
        client_of(services, account_of(payment))
    except KeysNotOpenedError:
        return False
    except InvalidRequestError:
        return True  # they do, and the call says why it cannot be made
    return True


async def look_up_order(
    services: Services, account: MerchantAccount, payment: Payment, deadline: Deadline
) -> Observations | GatewayError:
    """Return the gateway's records of a payment, or the error. Empty: the gateway reports that it has no such order."""
    try:
        found = await client_of(services, account).get_order(payment.order_id, timeout=deadline.left)
    except GatewayError as error:
        services.gateways.remember_pause(account.id, error, services.now())
        log.warning("look_up.failed", payment=payment.order_id, error=str(error))
        return error
    if found.unreadable:
        log.error("records.not_read", payment=payment.order_id, error=found.unreadable)
    return Observations.from_records(found, payment.language)


async def clear_account_problems(services: Services, aggregate: PaymentAggregate) -> None:
    """Clear the problems of an account's keys and address, since the gateway has just answered for ``aggregate``.

    Also clears them on ``aggregate`` itself. Other payments are searched only now and then, because this runs after
    every call.
    """
    account_id, store, now = aggregate.payment.account_id, aggregate.payment.installation_id, services.now()
    here = any(problem.kind in ACCOUNT_KINDS for problem in open_problems(aggregate.payment))
    if not here and not services.gateways.is_comparison_due(account_id, now):
        return
    async with services.database.transaction() as session:
        found = await payment_ids_with_problem(session, store, account_id, ACCOUNT_KINDS)
    for payment_id in found:
        await services.payments.record(ById(payment_id), GatewayAnswered(now))
    GatewayAnswered(now).decide(aggregate)
