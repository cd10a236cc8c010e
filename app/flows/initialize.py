"""A shopper begins to pay: Saleor's session becomes a payment at the gateway, on its page unless a card is passed.

Before that, the storefront learns how the shopper can pay (``gateway_initialize``).

A card typed into the storefront, or the token of a saved card or a wallet, is held in memory for this one call. The
intent committed before the call holds everything but the card, so a call with an unknown outcome is looked up, and
never sent again (laws of money, 1 and 2).

The payment of a transaction may have been begun under another store: the same Saleor before its address changed, or a
Saleor that is a copy. Its page may be open and payable, so no new payment is begun, and nothing of the old one is
disclosed: the operator decides which store it belongs to (``installations move``). It is not reported to Saleor as
failed, because a failure is final.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from app.core.ids import OrderId
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Kind, Mode, Origin, State
from app.flows.card_keys import private_jwks
from app.flows.execute import Call, execute
from app.flows.look_up import client_for_new_payment
from app.flows.saved_cards import get_saved_card
from app.flows.turned_away import count_failed_creation, count_refused
from app.flows.wallet_payment import wallet_payment_call
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.rules.addresses import PaymentPage
from app.rules.cards.card_form import PaymentInstrument
from app.rules.cards.encrypted_card import open_sealed
from app.rules.decisions.competing_attempts import AttemptBegun, is_above_debt
from app.rules.decisions.session import SessionAsked
from app.rules.refusal import RefusalError
from app.rules.requests.direct import (
    DirectPlan,
    browser_of,
    check_instrument_accepted,
    check_one_card,
    check_sealed_accepted,
    plan_direct,
)
from app.rules.requests.payment import Terms, card_owner_of, no_account_refusal, plan_hosted, terms_of, with_both_names
from app.rules.requests.storefront import is_direct_payment, unread_fields
from app.rules.responses import error_data, session_refusal_response, session_response
from app.rules.split.planning import requested_shares
from app.services import Services
from app.store.aggregates import ByTransaction, Payable
from app.store.installations import OpenInstallation
from app.store.repository import AccountGoneError, NewPayment, PaymentInOtherStoreError, PaymentNotFoundError
from app.store.tables import MerchantAccount, SavedCard
from gateway_client.client import GatewayClient
from gateway_client.models.payments import Creation, DirectPayment, HostedPayment
from gateway_client.wallets import Wallet
from integration_base.outbound import Deadline
from saleor_app_sdk.events import SessionEvent, TransactionInitializeSession, TransactionProcessSession
from saleor_app_sdk.responses import SessionResponse, TransactionFlow

STORE_MOVED = "STORE_MOVED"
log = structlog.get_logger(__name__)

_STORE_MOVED_MESSAGE = (
    "This payment was started when this Saleor had another address: the operator of the app moves it with "
    "`saleor-gateway installations move`. Until then, its state is not known here."
)
_STORE_MOVED_SHOPPER_MESSAGE = gettext_noop("The store is moving. Please do not pay again, and check back in a while.")


async def initialize(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> SessionResponse:
    """Answer a session webhook about a transaction that may or may not be known.

    A known transaction is answered from the record, however often Saleor repeats the webhook; the gateway is not called
    again (laws of money, 4). A transaction is known if its intent cannot be recorded a second time.

    ``deadline`` is that of the request, running since the request arrived (11); None: it begins now.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    channel = event.source.channel
    account = await services.accounts.for_channel(installation.id, channel.slug, channel.id)
    try:
        plan = await _plan_creation(services, event, installation, account)
        _log_unread_fields(event, plan)
        journaled = await _record_intent(services, event, installation, plan, deadline=deadline)
    except PaymentInOtherStoreError:
        return _store_moved_response(event)
    except RefusalError as refusal:
        # A payment that was accepted once stays accepted, whatever the store has changed since, its address included.
        if await services.payments.exists_only_elsewhere(installation.id, event.transaction.id):
            return _store_moved_response(event)
        known = await find_recorded_response(services, installation, event)
        if known is None:
            await count_refused(services, installation.id, channel.slug, refusal)
        return known or session_refusal_response(event.action.action_type, refusal)
    if journaled is None:
        return await recorded_response(services, installation, event)
    payable = payable_of(installation, event)
    aggregate = await execute(
        services, journaled, journaled.create, plan.call, deadline, answering=True, payable=payable
    )
    await count_failed_creation(services, installation.id, aggregate.payment.channel, aggregate.create)
    return session_response(
        aggregate, services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)
    )


@dataclass(frozen=True, slots=True)
class _CreationPlan:
    """The request that creates a payment, and the call that sends it.

    ``expires_at`` is when the page stops accepting the payment; None for a direct payment, which has no page.
    """

    terms: Terms
    request: HostedPayment | DirectPayment
    call: Call
    expires_at: datetime | None
    saved_card: SavedCard | None = None
    wallet: Wallet | None = None


async def _plan_creation(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> _CreationPlan:
    """Return the request and the call that create the payment. Raises RefusalError; then nothing is recorded."""
    if is_direct_payment(event.data):
        direct = await build_direct_plan(services, event, installation, account)
        client = client_for_new_payment(services, direct.terms.account, direct.terms.language)
        call = _direct_payment_call(client, direct)
        return _CreationPlan(direct.terms, direct.request, call, None, direct.saved_card, direct.wallet)
    hosted = plan_hosted(event, account, services.addresses, installation.saleor_api_url)
    client = client_for_new_payment(services, hosted.terms.account, hosted.terms.language)
    # Known before the link, and even if the link gets lost: after this time no one can pay any more.
    expires_at = services.now() + timedelta(seconds=hosted.terms.account.order_timeout)
    return _CreationPlan(
        hosted.terms,
        hosted.request,
        hosted_payment_call(client, hosted.request, qr=bool(hosted.terms.data.qr)),
        expires_at,
    )


def _log_unread_fields(event: TransactionInitializeSession | TransactionProcessSession, plan: _CreationPlan) -> None:
    """Say which of the storefront's data was replaced by Saleor's, or left out: its developer may ask why."""
    if unread := unread_fields(event.data, plan.terms.data.customer):
        log.info("storefront_data.not_read", payment=plan.request.order_id, detail=", ".join(unread))


def hosted_payment_call(client: GatewayClient, request: HostedPayment, *, qr: bool) -> Call:
    """Return the call that opens a payment page (gateway interface, 1b)."""
    return lambda seconds: client.create_hosted(request, qr=qr, timeout=seconds)


def _direct_payment_call(client: GatewayClient, plan: DirectPlan) -> Call:
    """Return the call that pays with a card or a token held in memory for this one call (gateway interface, 1a)."""
    if plan.wallet is not None:
        return wallet_payment_call(client, plan.request, plan.wallet)
    return lambda seconds: client.create_direct(plan.request, timeout=seconds)


async def _record_intent(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    plan: _CreationPlan,
    *,
    deadline: Deadline,
) -> PaymentAggregate | None:
    """Commit the intent before the gateway is called (laws of money, 1); return the payment.

    None when another delivery of the same webhook was faster (4). Raises RefusalError when the account is gone, or
    another attempt covers the same debt (12), decided with all attempts locked; and PaymentInOtherStoreError. Raises
    TimeoutError: an intent that is not recorded in time is not sent, because the webhook has been answered otherwise by
    then (11).
    """
    now, terms, request, saved_card = services.now(), plan.terms, plan.request, plan.saved_card
    payment = Payment(
        installation_id=installation.id,
        account_id=terms.account.id,
        transaction_id=event.transaction.id,
        order_id=OrderId(request.order_id),
        flow=terms.flow,
        mode=Mode(request.mode.value),
        amount=request.amount,
        currency=request.currency,
        channel=event.source.channel.slug,
        source_id=event.source.id,
        order_number=terms.order_number,
        email_digest=services.emails.digest_to_store(installation.id, request.customer_email),
        language=terms.language,
        return_url_sealed=services.personal.seal_return_url(event.transaction.id, terms.return_url),
        expires_at=plan.expires_at,
        card_owner=card_owner_of(terms, event),
        saved_card_id=None if saved_card is None else saved_card.id,
        saved_card_mask=None if saved_card is None else saved_card.mask,
        wallet=None if plan.wallet is None else plan.wallet.value,
        created_at=now,
        updated_at=now,
    )

    creation, payable = creation_intent(services, request, payment), payable_of(installation, event)
    new = NewPayment(payment, creation, payable, AttemptBegun(event.source), reject_if_elsewhere=True)
    try:
        async with asyncio.timeout(deadline.left):
            return await services.payments.begin(new)
    except AccountGoneError:  # deleted by another process, while this one still knew it
        raise no_account_refusal(payment.channel) from None


def payable_of(installation: OpenInstallation, event: SessionEvent) -> Payable:
    """Return the criteria by which another payment is an attempt to pay the same checkout or order as the session.

    Saleor's list of transactions follows a checkout into its order; without such a list, the id of the checkout or
    order must do.
    """
    listed = [transaction.id for transaction in event.source.transactions]
    return Payable(installation.id, event.source.id, [event.transaction.id, *listed])


def creation_intent(services: Services, request: Creation, payment: Payment, *, by: str | None = None) -> Operation:
    """Return the intent to create a payment at the gateway; ``by`` is the member of staff who requested it."""
    now = services.now()
    request_fields, personal_sealed = services.personal.seal_request(payment.transaction_id, request.to_journal())
    operation = Operation(
        kind=Kind.CREATE,
        idempotency_key="create",
        state=State.INTENT,
        amount=request.amount,
        currency=request.currency,
        request=request_fields,
        personal_sealed=personal_sealed,
        origin=Origin.SALEOR if by is None else Origin.STAFF,
        asked_by=by,
        next_poll_at=services.schedule.intent_deadline(now),
        created_at=now,
        updated_at=now,
    )
    operation.shares = requested_shares(operation)
    return operation


async def build_direct_plan(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> DirectPlan:
    """Return the request of a direct payment.

    Everything else is checked before the card is decrypted. Raises RefusalError.
    """
    terms = terms_of(event, account, services.addresses, installation.saleor_api_url)
    check_one_card(terms.data)
    saved_card_id = terms.data.saved_card_id
    if saved_card_id is None:
        check_sealed_accepted(terms.account)
    terms = with_both_names(terms)
    browser = browser_of(terms, event.customer_ip_address)
    if saved_card_id is not None:
        card, token = await get_saved_card(services, terms.account, event.customer_id, saved_card_id, terms.language)
        return plan_direct(terms, browser, PaymentInstrument({"cc_token": token}), card)
    instrument = await _open_card(services, terms, installation, event.source.id)
    check_instrument_accepted(terms.account, instrument)
    return plan_direct(terms, browser, instrument)


async def _open_card(
    services: Services, terms: Terms, installation: OpenInstallation, source_id: str
) -> PaymentInstrument:
    now, sealed = services.now(), terms.data.card or ""
    keys = await private_jwks(services.card_keys.for_store(installation.id), now)
    # Reading the key and decrypting with it is CPU-bound: a thread leaves the event loop free for other requests.
    return await asyncio.to_thread(open_sealed, sealed, keys, paid_for=source_id, language=terms.language, now=now)


async def recorded_response(services: Services, installation: OpenInstallation, event: SessionEvent) -> SessionResponse:
    """Return the response that states where the payment of a transaction stands. Raises PaymentNotFoundError.

    What has to be stored before the response is sent is stored (``SessionAsked``).
    """
    too_high = is_above_debt(event)
    page = PaymentPage(services.addresses, installation.saleor_api_url)
    asked = SessionAsked(page, services.decision_context(), event.source if too_high else None)
    which = ByTransaction(installation.id, event.transaction.id)
    payable = payable_of(installation, event) if too_high else None
    return await services.payments.record_of_attempt(which, payable, asked)


async def find_recorded_response(
    services: Services, installation: OpenInstallation, event: SessionEvent
) -> SessionResponse | None:
    """Return ``recorded_response``; None when nothing is recorded of the transaction."""
    try:
        return await recorded_response(services, installation, event)
    except PaymentNotFoundError:
        return None


def _store_moved_response(event: TransactionInitializeSession | TransactionProcessSession) -> SessionResponse:
    """Return the response for a payment begun under another store: it counts neither as paid nor as failed."""
    shopper_message = translation_for(event.source.language_code or "").gettext(_STORE_MOVED_SHOPPER_MESSAGE)
    return SessionResponse.action_required(
        TransactionFlow(event.action.action_type.value),
        psp_reference=None,
        amount=event.action.amount,
        message=_STORE_MOVED_MESSAGE,
        data={"errors": [error_data(STORE_MOVED, shopper_message)]},
    )
