"""Counts the shoppers who are turned away. Counting never delays or breaks the answer that they get."""

import asyncio

import structlog

from app.core.payment import Operation
from app.core.vocabulary import State
from app.rules.refusal import DETAILS_NOT_ACCEPTED, GATEWAY_REFUSALS, RefusalCode, RefusalError
from app.services import Services
from app.store.errors import DatabaseError
from app.store.turned_away import ALL_CHANNELS, Refusal, count_refusals
from integration_base.telemetry import TelemetryEvent, emit
from saleor_app_sdk.errors import NotUsableError

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
    told = [reason for reason in refusal.reasons or (refusal,) if not _is_typed_card_number(reason)]
    reasons = {reason.code.value: reason.message for reason in told}
    for code, message in reasons.items():
        detail = str(message) if code in _CODES_WITH_DETAIL else ""
        await _count(services, Refusal(installation_id, channel, code, detail, services.now()))


async def count_unusable(services: Services, installation_id: int, refusal: NotUsableError) -> None:
    """Count a request of Saleor's that is refused unread, because of its time, its form or its sender."""
    await _count(services, Refusal(installation_id, ALL_CHANNELS, refusal.code, refusal.message, services.now()))


async def count_failed_creation(services: Services, installation_id: int, channel: str, create: Operation) -> None:
    """Count a payment that the gateway did not create, because it refused the request or could not be reached."""
    if create.state is State.FAILURE and create.status_code in GATEWAY_REFUSALS:
        code = create.status_code
        detail = create.message or "" if code in _CODES_WITH_DETAIL else ""
        await _count(services, Refusal(installation_id, channel, code, detail, services.now()))


def _is_typed_card_number(refusal: RefusalError) -> bool:
    """Return True where a shopper has typed a card number: one who tries again and again is no fault of the store's."""
    return refusal.code is RefusalCode.CARD_DATA_REFUSED and refusal.shopper_message is not None


async def _count(services: Services, refusal: Refusal) -> None:
    emit(TelemetryEvent.SHOPPER_TURNED_AWAY, code=refusal.code)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await services.database.group_commit(count_refusals, refusal)
    except (DatabaseError, TimeoutError) as error:
        log.warning("refusal.not_counted", code=refusal.code, error=type(error).__name__)
