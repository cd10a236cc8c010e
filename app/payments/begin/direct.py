"""A shopper pays with a card typed into the storefront: Saleor's session becomes a direct payment at the gateway.

The card lives in memory for this one call. The intent that is committed before it holds everything but the card, so
a call whose outcome is not known is looked up, and never sent again (laws of money, 1 and 2).
"""

import asyncio
from collections.abc import Sequence

from app.gateway.client import GatewayClient
from app.gateway.errors import GatewayError
from app.gateway.models import PaymentRecord
from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet
from app.ledger.tables import MerchantAccount, State
from app.payments.begin.attempts import compare
from app.payments.begin.intent import record_intent
from app.payments.begin.outcome import post_outcome
from app.payments.begin.recorded import as_recorded
from app.payments.cards.keys import opening_keys
from app.payments.cards.means import Means
from app.payments.cards.sealed_card import open_sealed
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.insist import outcome_of
from app.payments.outcome.answers import session_answer
from app.payments.outcome.apply import Posting, apply, conclude
from app.payments.outcome.errors import post_error
from app.payments.outcome.problems import keys_accepted
from app.payments.outcome.references import keep_reference
from app.payments.outcome.seen import gateway_id_of, seen_in
from app.payments.plan.direct import DirectPlan, browser_of, check_cards_taken, check_names, plan_direct
from app.payments.plan.terms import Terms, terms_of
from app.saleor.answers import SessionAnswer
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession

_DOES_NOT_FIT = "The gateway's answer does not fit what was asked: nothing is booked before a person has looked"


async def pay_directly(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
    deadline: Deadline,
) -> SessionAnswer:
    """Pay with the card in ``data.card``, and answer how it went. Raises Refusal before anything is recorded."""
    plan = await _plan(desk, event, installation, account)
    client = desk.gateways.client(plan.terms.account)  # keys that do not open fail here, while nothing is recorded yet
    written = await record_intent(
        desk, event, installation, plan.terms, plan.request, expires_at=None, deadline=deadline
    )
    if written is None:
        return await as_recorded(desk, installation, event.transaction.id)
    sheet = await _pay(desk, client, plan, written, event, deadline=deadline)
    return session_answer(sheet, desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id))


async def _plan(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> DirectPlan:
    """Check everything else before the card is opened."""
    terms = terms_of(event, account, desk.addresses, installation.saleor_api_url)
    check_cards_taken(terms.account)
    check_names(terms)
    browser = browser_of(terms, event.customer_ip_address)
    return plan_direct(terms, browser, await _opened(desk, terms, installation, event.source.id))


async def _opened(desk: Desk, terms: Terms, installation: OpenInstallation, source_id: str) -> Means:
    now, book = desk.now(), desk.card_keys.of(installation.id)
    keys = {key.kid: key for key in await opening_keys(book, now)}

    def private_jwk(kid: str) -> str | None:
        return book.private_jwk(keys[kid]) if kid in keys else None

    sealed = terms.data.card or ""
    # Reading the key and opening with it takes the processor a moment, in which others are served.
    return await asyncio.to_thread(
        open_sealed, sealed, private_jwk, paid_for=source_id, language=terms.language, now=now
    )


async def _pay(
    desk: Desk,
    client: GatewayClient,
    plan: DirectPlan,
    written: Sheet,
    event: TransactionInitializeSession | TransactionProcessSession,
    *,
    deadline: Deadline,
) -> Sheet:
    """Ask the gateway, then commit what came of it."""
    outcome = await outcome_of(
        lambda seconds: client.create_direct(plan.request, timeout=seconds), deadline, desk.schedule
    )
    posting = Posting(now=desk.now(), schedule=desk.schedule, answering=written.create.id)
    account = plan.terms.account

    def post(sheet: Sheet, attempts: Sequence[Sheet]) -> None:
        create = sheet.create
        if isinstance(outcome, GatewayError):
            post_error(sheet, create, outcome, posting)
        else:
            create.operation_id = create.operation_id or gateway_id_of(outcome)
            seen = seen_in(outcome, sheet.payment.language)
            apply(sheet, account.pos_id, [seen] if seen else [], posting)
            conclude(sheet, create, State.UNKNOWN, posting, message=_DOES_NOT_FIT)
            compare(attempts, sheet.payment, posting, replacing=account.cancel_older)
        keep_reference(sheet.payment, sheet.create)

    sheet = await post_outcome(desk, written, post, among=event if isinstance(outcome, PaymentRecord) else None)
    if not isinstance(outcome, GatewayError):
        await keys_accepted(desk, account.id, sheet)
    return sheet
