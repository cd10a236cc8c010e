"""Confirms that Saleor has read the answer to a charge, refund or cancelation before its events are reported.

The worker reads Saleor's history once for each, so that no webhook response waits for Saleor (laws of money, 5 and 9;
Saleor contract, A.10).
"""

import structlog

from app.rules.decisions.answer_confirmation import AwaitedAnswer, HistoryNotRead, HistoryRead, RefundRerequested
from app.services import Services
from app.store.aggregates import ByEvent
from app.store.installations import OpenInstallation
from app.worker.presence import SHUT_OUT, get_current_installation, record_presence
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.history import fetch_history, request_granted_refund

log = structlog.get_logger(__name__)


async def confirm_answer(services: Services, saleor: SaleorClient, awaited: AwaitedAnswer) -> None:
    """Find out whether Saleor has read an answer; release the operation's events, or postpone the claimed one."""
    installation = await get_current_installation(services, awaited.payment.installation_id)
    if installation.is_shut_out:
        await _retry_later(services, installation, awaited, SaleorNotAuthorisedError(SHUT_OUT))
        return
    try:
        history = await fetch_history(saleor, installation, awaited.payment.transaction_id)
    except SaleorRefusedError:
        history = None  # it will refuse the report as well, which becomes a problem for staff
    except SaleorError as error:
        await _retry_later(services, installation, awaited, error)
        return
    read = HistoryRead(awaited, history, services.decision_context())
    found = await services.payments.record(ByEvent(awaited.event_id), read)
    if found.reference is not None:
        payment = awaited.payment.order_id
        log.warning("answer.not_read", payment=payment, reference=found.reference)
    if found.granted is not None:
        await _repeat_request(services, saleor, awaited, found.granted)


async def _repeat_request(services: Services, saleor: SaleorClient, awaited: AwaitedAnswer, granted: str) -> None:
    """Make Saleor request a granted refund again. Its webhook is answered from the record, and no money moves."""
    installation = await services.installations.get(awaited.payment.installation_id)
    refused_with = None
    try:
        await request_granted_refund(saleor, installation, awaited.payment.transaction_id, granted)
    except SaleorRefusedError as refusal:
        refused_with = refusal.code
    except SaleorError as error:
        await _retry_later(services, installation, awaited, error)
        return
    requested = RefundRerequested(awaited, services.decision_context(), refused_with)
    await services.payments.record(ByEvent(awaited.event_id), requested)


async def _retry_later(
    services: Services, installation: OpenInstallation, awaited: AwaitedAnswer, error: SaleorError
) -> None:
    await record_presence(services, installation, error)
    not_read = HistoryNotRead(awaited.event_id, error, services.now())
    await services.payments.record(ByEvent(awaited.event_id), not_read)
