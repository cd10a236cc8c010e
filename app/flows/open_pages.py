"""Closes open payment pages on which nothing is owed any more: Saleor is asked before a shopper is led to one.

The worker asks as well, whenever it looks an open page up. Saleor tells an app of cancelled and expired orders only if
the app may manage orders, which a payment app need not (docs/decisions/0035).
"""

import asyncio
from datetime import timedelta

import structlog

from app.core.ids import OperationRowId
from app.core.payment import Payment, row_id_of
from app.core.vocabulary import State
from app.rules.decisions.placed_order import AppRemoved, ChannelWentLive, PayableSeen
from app.rules.order_standing import closing_reason
from app.services import Services
from app.store.aggregates import ById, ByOperation, ByOrder
from saleor_app_sdk.errors import SaleorError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.orders import fetch_source
from saleor_app_sdk.request_limits import AttemptLimiter

log = structlog.get_logger(__name__)

CHECK_INTERVAL = timedelta(seconds=5)
MAX_CONCURRENT = 8
"""Checks of one process that shoppers wait for. At the limit, further pages lead on unchecked."""

MAX_PER_INTERVAL = 50
_TIMEOUT = 3.0  # seconds: a person waits for the page


class OpenPageChecks:
    """Checks for shoppers whether their page is still owed, at a limited rate however often the pages are opened."""

    def __init__(self, services: Services, saleor: SaleorClient) -> None:
        self._services = services
        self._saleor = saleor
        self._recent = AttemptLimiter(per_name=1, in_total=MAX_PER_INTERVAL, now=services.now, within=CHECK_INTERVAL)
        self._places = asyncio.Semaphore(MAX_CONCURRENT)

    async def close_if_not_owed(self, order_id: str) -> bool:
        """Ask Saleor about an open page, unless that was done recently; return True if the page is being closed.

        A Saleor that does not answer stops nobody from paying.
        """
        if self._places.locked() or not self._recent.try_acquire(order_id):
            return False
        async with self._places:
            payment = await _find_open_page(self._services, ByOrder(order_id))
            if payment is None:
                return False
            try:
                async with asyncio.timeout(_TIMEOUT):
                    return await _close_if_not_owed(self._services, self._saleor, payment)
            except TimeoutError:
                log.info("order.not_read", payment=order_id, error="timeout")
                return False


async def check_polled_page(services: Services, saleor: SaleorClient, operation_id: OperationRowId) -> None:
    """Ask Saleor about the page that an operation has opened, if it is still open."""
    payment = await _find_open_page(services, ByOperation(operation_id))
    if payment is not None:
        await _close_if_not_owed(services, saleor, payment)


async def _find_open_page(services: Services, which: ByOrder | ByOperation) -> Payment | None:
    """Return the payment of an open page of which Saleor has a transaction; None for any other."""
    found = await services.payments.find(which)
    if found is None or not found.payment.is_known_to_saleor or found.create.state is not State.INIT:
        return None
    if isinstance(which, ByOperation) and found.create.id != which.operation_id:
        return None  # the page was opened by another operation, which is looked up itself
    return found.payment


async def _close_if_not_owed(services: Services, saleor: SaleorClient, payment: Payment) -> bool:
    installation = await services.installations.get(payment.installation_id)
    if payment.account.test_project and await _takes_real_money(services, payment):
        return await services.payments.record(ById(row_id_of(payment)), ChannelWentLive(services.now()))
    if not (installation.token or installation.pending_tokens):
        return await services.payments.record(ById(row_id_of(payment)), AppRemoved(services.now()))
    if installation.is_shut_out or not installation.token:
        return False
    try:
        source = await fetch_source(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        log.info("order.not_read", payment=payment.order_id, error=str(error))
        return False
    if source is None or closing_reason(payment, source) is None:
        return False
    closing = await services.payments.record(ById(row_id_of(payment)), PayableSeen(source, services.now()))
    if closing:
        log.info("page.close_requested", payment=payment.order_id)
    return closing


async def _takes_real_money(services: Services, payment: Payment) -> bool:
    account = await services.accounts.for_channel(payment.installation_id, payment.channel)
    return account is not None and not account.test_project
