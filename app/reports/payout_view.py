"""Payouts for staff, scripts and accountants: each with its terms, requester and outcome."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.core.payment import returned_of_payout
from app.i18n.messages import StoredMessage, gettext_noop
from app.reports.sheet import Row, SheetStyle, project
from app.reports.status import standing, standings
from app.rules.problems import problem_text
from app.services import Services
from app.store.payouts import PayoutRecord, payouts_page
from app.store.tables import MerchantAccount
from app.store.vault import VaultError
from gateway_client.models.payout import Recipient

_MOMENTS = (gettext_noop("Confirmed"), gettext_noop("Requested"))
_HEADINGS = (
    gettext_noop("Gateway order ID"), gettext_noop("Merchant account"), gettext_noop("Project"),
    gettext_noop("Amount"), gettext_noop("Currency"), gettext_noop("Status"), gettext_noop("Card"),
    gettext_noop("Recipient"), gettext_noop("Description"), gettext_noop("Reason"), gettext_noop("Requested by"),
    gettext_noop("Requested from"), gettext_noop("Confirmed by"), gettext_noop("Confirmed from"),
    gettext_noop("Gateway payment ID"), gettext_noop("Fee"), gettext_noop("Returned"),
)  # fmt: skip

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
        "description": create.requested.description,
        "message": create.message or "",
        "status_code": create.status_code,
        "asked_by": payout.asked_by,
        "asked_at": _format_moment(payout.asked_at),
        "asked_from": payout.asked_from,
        "confirmed_by": payout.confirmed_by,
        "confirmed_from": payout.confirmed_from,
        "payment_id": create.operation_id,
        "fee": create.fee,
        "returned": _returned(record),
        "problem": problem_text(payment) or "",
    }


async def payout_rows(
    services: Services, installation_id: int | None, style: SheetStyle
) -> AsyncIterator[Sequence[Row]]:
    """Yield the rows of all payouts of a store (None: of all stores), the newest first; the first has the headings."""
    accounts = {account.id: account for account in await services.accounts.all()}
    headings = map(style.language.gettext, _HEADINGS)
    yield [[*map(style.in_zone, _MOMENTS), *headings, *style.offset_headings(*_MOMENTS)]]
    last = None
    while True:
        async with services.database.transaction() as session:
            found = await payouts_page(session, installation_id, most=_BATCH_SIZE, after=last)
        if not found:
            return
        yield [_row(services, record, accounts[record.aggregate.payment.account_id], style) for record in found]
        last = found[-1].payout


def _row(services: Services, record: PayoutRecord, account: MerchantAccount, style: SheetStyle) -> Row:
    payment, create, payout = record.aggregate.payment, record.aggregate.create, record.payout
    language = style.language
    return (
        payout.confirmed_at,
        payout.asked_at,
        payment.order_id,
        account.name,
        language.gettext(project(account.test_project)),
        payment.amount,
        payment.currency,
        ", ".join(language.gettext(standing.value) for standing in standings(record.aggregate)),
        payout.card_mask,
        recipient_name(recipient_of(services, record)),
        create.requested.description,
        language.plain_text(StoredMessage(create.message or "")),
        payout.asked_by,
        payout.asked_from,
        payout.confirmed_by,
        payout.confirmed_from,
        create.operation_id,
        create.fee,
        _returned(record),
        *style.offsets(payout.confirmed_at, payout.asked_at),
    )


def _returned(record: PayoutRecord) -> Decimal:
    return returned_of_payout(record.aggregate.operations)


def _format_moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
