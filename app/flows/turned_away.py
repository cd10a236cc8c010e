"""Counts the shoppers who are turned away. Counting never delays or breaks the answer that they get."""

import asyncio

import structlog

from app.core.payment import Operation
from app.core.vocabulary import State
from app.rules.refusal import DETAILS_NOT_ACCEPTED, GATEWAY_REFUSALS, RefusalCode, RefusalError
from app.services import Services
from app.store.errors import DatabaseError
from app.store.turned_away import Refusal, count_refusals
from integration_base.telemetry import TelemetryEvent, emit

log = structlog.get_logger(__name__)

_TIMEOUT_SECONDS = 1.0
# What these say is about the store, never about the shopper; others may quote what somebody typed.
_CODES_WITH_DETAIL = (GATEWAY_REFUSALS - {DETAILS_NOT_ACCEPTED}) | {
    RefusalCode.CHANNEL_NOT_MAPPED,
    RefusalCode.ACCOUNT_DISABLED,
    RefusalCode.CURRENCY_NOT_SUPPORTED,
    RefusalCode.PRODUCTS_DO_NOT_SUM,
    RefusalCode.SPLIT_NOT_POSSIBLE,
}


async def count_refused(services: Services, installation_id: int, channel: str, refusal: RefusalError) -> None:
    """Count a request that is refused before anything is recorded, once for each of its codes."""
    reasons = {reason.code.value: reason.message for reason in refusal.reasons or (refusal,)}
    for code, message in reasons.items():
        await _count(services, installation_id, channel, code, message)


async def count_failed_creation(services: Services, installation_id: int, channel: str, create: Operation) -> None:
    """Count a payment that the gateway did not create, because it refused the request or could not be reached."""
    if create.state is State.FAILURE and create.status_code in GATEWAY_REFUSALS:
        await _count(services, installation_id, channel, create.status_code, create.message or "")


async def _count(services: Services, installation_id: int, channel: str, code: str, message: str) -> None:
    emit(TelemetryEvent.SHOPPER_TURNED_AWAY, code=code)
    detail = str(message) if code in _CODES_WITH_DETAIL else ""
    refusal = Refusal(installation_id, channel, code, detail, services.now())
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await services.database.group_commit(count_refusals, refusal)
    except (DatabaseError, TimeoutError) as error:
        log.warning("refusal not counted", code=code, error=type(error).__name__)
