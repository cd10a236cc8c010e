"""Payouts for staff, scripts and accountants: each with its terms, requester and outcome."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from app.db.payouts import PayoutRecord, payouts_page
from app.db.vault import VaultError
from app.gateway.models.payout import Recipient
from app.payments.core.problems import problem_text
from app.payments.services import Services
from app.payments.staff.csv_export import csv_lines, escape_formula
from app.payments.staff.status import standing

COLUMNS = (
    *("order_id", "confirmed_at", "account", "amount", "currency", "standing", "card", "recipient", "description"),
    *("message", "asked_by", "asked_at", "asked_from", "confirmed_by", "confirmed_from", "payment_id", "fee"),
)
"""The columns of the CSV file, which are members of the JSON too."""

_BATCH_SIZE = 100


def recipient_of(services: Services, record: PayoutRecord) -> Mapping[str, str]:
    """Return the known members of ``properties``; an empty mapping when no key opens them."""
    payment, create = record.aggregate.payment, record.aggregate.create
    try:
        request = services.personal.open_request(payment.transaction_id, create)
    except VaultError:
        return {}
    properties = request.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {name: str(known[name]) for name in Recipient.model_fields if known.get(name)}


def recipient_name(recipient: Mapping[str, str]) -> str:
    """Return the recipient's full name; empty when it is not known."""
    names = ("recipient_first_name", "recipient_middle_name", "recipient_last_name")
    return " ".join(recipient[name] for name in names if name in recipient)


def payout_facts(services: Services, record: PayoutRecord) -> dict[str, Any]:
    """Return a payout for scripts: moments in UTC, and of the recipient only the name."""
    payment, create, payout = record.aggregate.payment, record.aggregate.create, record.payout
    return {
        "order_id": payment.order_id,
        "confirmed_at": _format_moment(payout.confirmed_at),
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
        "asked_at": _format_moment(payout.asked_at),
        "asked_from": payout.asked_from,
        "confirmed_by": payout.confirmed_by,
        "confirmed_from": payout.confirmed_from,
        "payment_id": create.operation_id,
        "fee": create.fee,
        "problem": problem_text(payment) or "",
    }


async def payouts_csv(services: Services, installation_id: int | None) -> AsyncIterator[str]:
    """Yield all payouts of a store (None: of all stores) as lines of CSV, the newest first."""
    yield csv_lines([COLUMNS])
    last = None
    while True:
        async with services.database.transaction() as session:
            found = await payouts_page(session, installation_id, most=_BATCH_SIZE, after=last)
        if not found:
            return
        facts = (payout_facts(services, each) for each in found)
        yield csv_lines([[_cell(each[name]) for name in COLUMNS] for each in facts])
        last = found[-1].payout


def _cell(value: object) -> str:
    return "" if value is None else escape_formula(str(value))


def _format_moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
