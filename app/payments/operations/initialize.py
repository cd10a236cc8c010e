"""A shopper begins to pay: Saleor's session becomes a payment at the gateway, on its page unless a card is passed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.db.installations import OpenInstallation
from app.db.tables import MerchantAccount
from app.gateway.client import GatewayClient
from app.gateway.models.payments import DirectPayment, HostedPayment
from app.payments.core.answers import refused_session, session_answer
from app.payments.core.refusal import RefusalError
from app.payments.operations.card_payment import direct_request
from app.payments.operations.execute import Call, execute
from app.payments.operations.intent import debt_of, record_intent
from app.payments.operations.replay import as_recorded, recorded_answer
from app.payments.requests.payment import Terms, plan_hosted
from app.payments.requests.storefront import passes_card
from app.payments.services import Services
from app.saleor.answers import SessionAnswer
from app.saleor.deadline import Deadline
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession


async def initialize(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> SessionAnswer:
    """Answer a session webhook about a transaction that may or may not be known.

    A transaction that is known is not asked for again, however often Saleor repeats itself: it is answered from what
    is recorded (laws of money, 4). That it is known shows when the intent cannot be recorded a second time.

    ``deadline`` is the request's, which has begun when it arrived (11); None: it begins now.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    account = await services.accounts.for_channel(installation.id, event.source.channel.slug)
    try:
        asked = await _asked(services, event, installation, account)
        journaled = await record_intent(
            services, event, installation, asked.terms, asked.request, expires_at=asked.expires_at, deadline=deadline
        )
    except RefusalError as refusal:
        # What was taken once stays taken, whatever the store has changed since.
        known = await recorded_answer(services, installation, event.transaction.id)
        return known or refused_session(event.action.action_type, refusal)
    if journaled is None:
        return await as_recorded(services, installation, event.transaction.id)
    debt = debt_of(installation, event)
    aggregate = await execute(services, journaled, journaled.create, asked.call, deadline, answering=True, debt=debt)
    return session_answer(
        aggregate, services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the gateway is asked, how, and until when its answer can be paid; None: it cannot, or is over at once."""

    terms: Terms
    request: HostedPayment | DirectPayment
    call: Call
    expires_at: datetime | None


async def _asked(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> _Asked:
    """Return what the gateway is to be asked. Raises RefusalError, VaultError: while nothing is recorded yet."""
    if passes_card(event.data):
        direct = await direct_request(services, event, installation, account)
        client = services.gateways.client(direct.terms.account)
        return _Asked(direct.terms, direct.request, _pay_directly(client, direct.request), expires_at=None)
    hosted = plan_hosted(event, account, services.addresses, installation.saleor_api_url)
    client = services.gateways.client(hosted.terms.account)
    # Known before the link is, and also when the link gets lost: after that nobody can pay any more.
    expires_at = services.now() + timedelta(seconds=hosted.terms.account.order_timeout)
    return _Asked(hosted.terms, hosted.request, open_page(client, hosted.request, qr=hosted.terms.data.qr), expires_at)


def open_page(client: GatewayClient, request: HostedPayment, *, qr: bool) -> Call:
    """Return the call that opens a payment page (gateway interface, 1b)."""
    return lambda seconds: client.create_hosted(request, qr=qr, timeout=seconds)


def _pay_directly(client: GatewayClient, request: DirectPayment) -> Call:
    """Return the call that pays with a card, which lives in memory for this one call (gateway interface, 1a)."""
    return lambda seconds: client.create_direct(request, timeout=seconds)
