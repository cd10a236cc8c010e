"""A payout as staff, scripts and accountants read it: what it was, who wanted it, and what became of it."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from app.db.payouts import PayoutRecord, payouts_page
from app.db.vault import VaultError
from app.gateway.models.payout import Recipient
from app.payments.core.problems import problem_words
from app.payments.services import Services
from app.payments.staff.csv_export import harmless, lines
from app.payments.staff.status import standing

COLUMNS = (
    *("order_id", "confirmed_at", "account", "amount", "currency", "standing", "card", "recipient", "description"),
    *("message", "asked_by", "asked_at", "asked_from", "confirmed_by", "confirmed_from", "payment_id", "fee"),
)
"""The columns of the file, which are members of the JSON too."""

_AT_ONCE = 100


def recipient_of(services: Services, record: PayoutRecord) -> Mapping[str, str]:
    """Return the members of ``properties`` that are known; nothing when no key opens them."""
    payment, create = record.aggregate.payment, record.aggregate.create
    try:
        asked = services.personal.opened(payment.transaction_id, create)
    except VaultError:
        return {}
    properties = asked.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {name: str(known[name]) for name in Recipient.model_fields if known.get(name)}


def recipient_name(recipient: Mapping[str, str]) -> str:
    """Return the name of who is paid, as people read it; empty when it is not known."""
    names = ("recipient_first_name", "recipient_middle_name", "recipient_last_name")
    return " ".join(recipient[name] for name in names if name in recipient)


def facts_of(services: Services, record: PayoutRecord) -> dict[str, Any]:
    """Return a payout for scripts: moments in UTC, of the recipient the name alone."""
    payment, create, payout = record.aggregate.payment, record.aggregate.create, record.payout
    return {
        "order_id": payment.order_id,
        "confirmed_at": _moment(payout.confirmed_at),
        "account": payment.account_id,
        "amount": payment.amount,
        "currency": payment.currency,
        "standing": standing(record.aggregate),
        "state": create.state.value,
        "card": payout.card_mask,
        "recipient": recipient_name(recipient_of(services, record)),
        "description": str(create.request.get("description") or ""),
        "message": create.message or "",
        "status_code": create.status_code,
        "asked_by": payout.asked_by,
        "asked_at": _moment(payout.asked_at),
        "asked_from": payout.asked_from,
        "confirmed_by": payout.confirmed_by,
        "confirmed_from": payout.confirmed_from,
        "payment_id": create.operation_id,
        "fee": create.fee,
        "problem": problem_words(payment) or "",
    }


async def payouts_csv(services: Services, installation_id: int | None) -> AsyncIterator[str]:
    """Give all payouts of a store (None: of all stores) as lines of a file, the newest first."""
    yield lines([COLUMNS])
    last = None
    while True:
        async with services.database.transaction() as session:
            found = await payouts_page(session, installation_id, most=_AT_ONCE, after=last)
        if not found:
            return
        told = (facts_of(services, each) for each in found)
        yield lines([[_written(each[name]) for name in COLUMNS] for each in told])
        last = found[-1].payout


def _written(value: object) -> str:
    return "" if value is None else harmless(str(value))


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
