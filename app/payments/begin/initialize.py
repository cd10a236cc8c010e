"""A shopper begins to pay: Saleor's session becomes a payment at the gateway, on its page unless a card is passed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.gateway.client import GatewayClient
from app.gateway.models.payments import DirectPayment, HostedPayment
from app.ledger.installations import OpenInstallation
from app.ledger.tables import MerchantAccount
from app.payments.begin.direct import direct_request
from app.payments.begin.intent import debt_of, record_intent
from app.payments.begin.recorded import as_recorded, recorded_answer
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.operations.execute import Call, execute
from app.payments.outcome.answers import refused_session, session_answer
from app.payments.plan.storefront import passes_card
from app.payments.plan.terms import Terms, plan_hosted
from app.payments.refusal import Refusal
from app.saleor.answers import SessionAnswer
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession


async def initialize(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> SessionAnswer:
    """Answer a session webhook about a transaction that may or may not be known.

    A transaction that is known is not asked for again, however often Saleor repeats itself: it is answered from what
    is recorded (laws of money, 4). That it is known shows when the intent cannot be recorded a second time.

    ``deadline`` is the request's, which has begun when it arrived (11); None: it begins now.
    """
    deadline = deadline or Deadline(desk.schedule.budget.total_seconds())
    account = await desk.accounts.for_channel(installation.id, event.source.channel.slug)
    try:
        asked = await _asked(desk, event, installation, account)
        journaled = await record_intent(
            desk, event, installation, asked.terms, asked.request, expires_at=asked.expires_at, deadline=deadline
        )
    except Refusal as refusal:
        # What was taken once stays taken, whatever the store has changed since.
        known = await recorded_answer(desk, installation, event.transaction.id)
        return known or refused_session(event.action.action_type, refusal)
    if journaled is None:
        return await as_recorded(desk, installation, event.transaction.id)
    debt = debt_of(installation, event)
    sheet = await execute(desk, journaled, journaled.create, asked.call, deadline, answering=True, debt=debt)
    return session_answer(sheet, desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the gateway is asked, how, and until when its answer can be paid; None: it cannot, or is over at once."""

    terms: Terms
    request: HostedPayment | DirectPayment
    call: Call
    expires_at: datetime | None


async def _asked(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> _Asked:
    """Return what the gateway is to be asked. Raises Refusal, VaultError: while nothing is recorded yet."""
    if passes_card(event.data):
        direct = await direct_request(desk, event, installation, account)
        client = desk.gateways.client(direct.terms.account)
        return _Asked(direct.terms, direct.request, _pay_directly(client, direct.request), expires_at=None)
    hosted = plan_hosted(event, account, desk.addresses, installation.saleor_api_url)
    client = desk.gateways.client(hosted.terms.account)
    # Known before the link is, and also when the link gets lost: after that nobody can pay any more.
    expires_at = desk.now() + timedelta(seconds=hosted.terms.account.order_timeout)
    return _Asked(hosted.terms, hosted.request, open_page(client, hosted.request, qr=hosted.terms.data.qr), expires_at)


def open_page(client: GatewayClient, request: HostedPayment, *, qr: bool) -> Call:
    """Return the call that opens a payment page (gateway interface, 1b)."""
    return lambda seconds: client.create_hosted(request, qr=qr, timeout=seconds)


def _pay_directly(client: GatewayClient, request: DirectPayment) -> Call:
    """Return the call that pays with a card, which lives in memory for this one call (gateway interface, 1a)."""
    return lambda seconds: client.create_direct(request, timeout=seconds)
