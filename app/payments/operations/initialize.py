"""A shopper begins to pay: Saleor's session becomes a payment at the gateway, on its page unless a card is passed.

Before that, the storefront is told what there is to choose (``gateway_initialize``).

A card typed into the storefront, or the token of a saved one or of a wallet, lives in memory for this one call. The
intent that is committed before it holds everything but the card, so a call whose outcome is not known is looked up, and
never sent again (laws of money, 1 and 2).

A transaction may be one that another store has begun to pay: the same Saleor before its address changed, or one that is
a copy. Its page may be open and can be paid, so nothing is begun anew, and nothing of it is told: whose it is, the
operator says (``installations move``). For Saleor it has not failed, which would be final.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from app.db.aggregates import ByTransaction, PaymentAggregate, SameDebt, row_id_of
from app.db.installations import OpenInstallation
from app.db.repository import BegunElsewhereError, NewPayment, PaymentNotFoundError
from app.db.tables import Kind, MerchantAccount, Mode, Operation, Payment, SavedCard, State
from app.gateway.client import GatewayClient
from app.gateway.models.payments import Creation, DirectPayment, HostedPayment
from app.gateway.wallets import Wallet
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.outbound import Deadline
from app.payments.cards.card_form import PaymentInstrument
from app.payments.cards.encrypted_card import open_sealed
from app.payments.cards.keys import opening_keys
from app.payments.cards.saved import card_of
from app.payments.core.answers import error_data, refused_session, session_answer
from app.payments.core.references import keep_reference
from app.payments.core.refusal import RefusalError
from app.payments.operations.competing_attempts import join
from app.payments.operations.execute import Call, execute
from app.payments.operations.wallet_payment import pay_with_wallet
from app.payments.requests.direct import (
    DirectPlan,
    browser_of,
    check_instrument_taken,
    check_names,
    check_one_card,
    check_sealed_taken,
    plan_direct,
)
from app.payments.requests.payment import Terms, keeper_of, plan_hosted, terms_of
from app.payments.requests.storefront import pays_directly
from app.payments.services import Services
from app.payments.split.planning import shares_said
from app.saleor.answers import SessionAnswer, TransactionFlow
from app.saleor.events import (
    SessionEvent,
    TransactionInitializeSession,
    TransactionProcessSession,
)

STORE_MOVED = "STORE_MOVED"
_STORE_MOVED_MESSAGE = (
    "This payment was begun when this Saleor had another address: the operator of the app moves it with "
    "`saleor-gateway installations move`. Until then nothing is known of it here."
)
_STORE_MOVED_WORDS = gettext_noop("The store is being moved. Please do not pay again, and look again in a while.")


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
        journaled = await _record_intent(
            services,
            event,
            installation,
            asked,
            deadline=deadline,
        )
    except BegunElsewhereError:
        return _not_ours(event)
    except RefusalError as refusal:
        # What was taken once stays taken, whatever the store has changed since, and wherever it was then.
        if await services.payments.begun_elsewhere(installation.id, event.transaction.id):
            return _not_ours(event)
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
    saved_card: SavedCard | None = None
    wallet: Wallet | None = None


async def _asked(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> _Asked:
    """Return what the gateway is to be asked. Raises RefusalError, VaultError: while nothing is recorded yet."""
    if pays_directly(event.data):
        direct = await direct_request(services, event, installation, account)
        client = services.gateways.client(direct.terms.account)
        call = _pay_directly(client, direct)
        return _Asked(direct.terms, direct.request, call, None, direct.saved_card, direct.wallet)
    hosted = plan_hosted(event, account, services.addresses, installation.saleor_api_url)
    client = services.gateways.client(hosted.terms.account)
    # Known before the link is, and also when the link gets lost: after that nobody can pay any more.
    expires_at = services.now() + timedelta(seconds=hosted.terms.account.order_timeout)
    return _Asked(hosted.terms, hosted.request, open_page(client, hosted.request, qr=hosted.terms.data.qr), expires_at)


def open_page(client: GatewayClient, request: HostedPayment, *, qr: bool) -> Call:
    """Return the call that opens a payment page (gateway interface, 1b)."""
    return lambda seconds: client.create_hosted(request, qr=qr, timeout=seconds)


def _pay_directly(client: GatewayClient, plan: DirectPlan) -> Call:
    """Return the call that pays with a card or a token, in memory for this one call (gateway interface, 1a)."""
    if plan.wallet is not None:
        return pay_with_wallet(client, plan.request, plan.wallet)
    return lambda seconds: client.create_direct(plan.request, timeout=seconds)


async def _record_intent(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    asked: _Asked,
    *,
    deadline: Deadline,
) -> PaymentAggregate | None:
    """Commit what is about to be asked (laws of money, 1); return the payment.

    None when another delivery of the same webhook was faster (4). Raises RefusalError when another attempt to pay the
    same covers it (12), which is decided under the locks of all attempts, and BegunElsewhereError. Raises TimeoutError:
    what is not recorded in time is not asked for, as it was answered otherwise meanwhile (11).
    """
    now, terms, request, saved_card = services.now(), asked.terms, asked.request, asked.saved_card
    payment = partial(
        Payment,
        installation_id=installation.id,
        account_id=terms.account.id,
        transaction_id=event.transaction.id,
        order_id=request.order_id,
        flow=terms.flow,
        mode=Mode(request.mode.value),
        amount=request.amount,
        currency=request.currency,
        channel=event.source.channel.slug,
        source_id=event.source.id,
        order_number=terms.order_number,
        email_digest=services.emails.kept(installation.id, request.customer_email),
        language=terms.language,
        return_url_sealed=services.personal.seal_return_url(event.transaction.id, terms.return_url),
        expires_at=asked.expires_at,
        card_owner=keeper_of(terms, event),
        saved_card_id=None if saved_card is None else saved_card.id,
        saved_card_mask=None if saved_card is None else saved_card.mask,
        wallet=None if asked.wallet is None else asked.wallet.value,
        created_at=now,
        updated_at=now,
    )

    def objection(newest: Payment, others: Sequence[PaymentAggregate]) -> RefusalError | None:
        return join(newest, others, event.source)

    creation = partial(creation_of, services, request)
    debt = debt_of(installation, event)
    async with asyncio.timeout(deadline.left):
        return await services.payments.begin(
            NewPayment(payment, creation, shares_said, debt, objection, only_here=True)
        )


def debt_of(installation: OpenInstallation, event: SessionEvent) -> SameDebt:
    """Return what shows that another payment is an attempt to pay what the session is about.

    Saleor's list of transactions follows a checkout into its order; where there is none, the id of the checkout or
    order must do.
    """
    listed = [each.id for each in event.source.transactions]
    return SameDebt(installation.id, event.source.id, [event.transaction.id, *listed])


def creation_of(services: Services, request: Creation, payment: Payment, *, by: str | None = None) -> Operation:
    """Return the intent to create a stored payment at the gateway; ``by``: who of the staff wants it."""
    now = services.now()
    told, personal_sealed = services.personal.sealed(payment.transaction_id, request.kept())
    return Operation(
        payment_id=row_id_of(payment),
        kind=Kind.CREATE,
        idempotency_key="create",
        state=State.INTENT,
        amount=request.amount,
        currency=request.currency,
        request=told,
        personal_sealed=personal_sealed,
        asked_by=by,
        next_poll_at=services.schedule.after_intent(now),
        created_at=now,
        updated_at=now,
    )


async def direct_request(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> DirectPlan:
    """Return what the gateway is to be asked.

    Everything else is checked before the card is opened. Raises RefusalError, and VaultError for a saved card whose
    token does not open.
    """
    terms = terms_of(event, account, services.addresses, installation.saleor_api_url)
    check_one_card(terms.data)
    saved_card_id = terms.data.saved_card_id
    if saved_card_id is None:
        check_sealed_taken(terms.account)
    check_names(terms)
    browser = browser_of(terms, event.customer_ip_address)
    if saved_card_id is not None:
        card = await card_of(services, terms.account, event.customer_id, saved_card_id, terms.language)
        token = PaymentInstrument({"cc_token": services.saved_cards.token(card)})
        return plan_direct(terms, browser, token, card)
    instrument = await _opened(services, terms, installation, event.source.id)
    check_instrument_taken(terms.account, instrument)
    return plan_direct(terms, browser, instrument)


async def _opened(
    services: Services, terms: Terms, installation: OpenInstallation, source_id: str
) -> PaymentInstrument:
    now, book = services.now(), services.card_keys.of(installation.id)
    keys = {key.kid: key for key in await opening_keys(book, now)}

    def private_jwk(kid: str) -> str | None:
        return book.private_jwk(keys[kid]) if kid in keys else None

    sealed = terms.data.card or ""
    # Reading the key and opening with it takes the processor a moment, in which others are served.
    return await asyncio.to_thread(
        open_sealed, sealed, private_jwk, paid_for=source_id, language=terms.language, now=now
    )


async def as_recorded(services: Services, installation: OpenInstallation, transaction_id: str) -> SessionAnswer:
    """Return where the payment of a Saleor transaction stands. Raises PaymentNotFoundError.

    The reference that the answer names is kept before it is given (laws of money, 9). While Saleor reads that it has
    failed, nothing else is told of it: should it have succeeded after all, that comes after the failure (5).
    """

    def answer(aggregate: PaymentAggregate) -> SessionAnswer:
        keep_reference(aggregate.payment, aggregate.create)
        if aggregate.create.state is State.FAILURE:
            aggregate.create.answer_awaited_until = services.now() + services.schedule.answer_window
        page = services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)
        return session_answer(aggregate, page)

    return await services.payments.update(ByTransaction(installation.id, transaction_id), answer)


async def recorded_answer(
    services: Services, installation: OpenInstallation, transaction_id: str
) -> SessionAnswer | None:
    """Return the same; None when nothing is recorded of the transaction."""
    try:
        return await as_recorded(services, installation, transaction_id)
    except PaymentNotFoundError:
        return None


def _not_ours(event: TransactionInitializeSession | TransactionProcessSession) -> SessionAnswer:
    """Return the answer to a session of such a transaction: it counts neither as paid nor as failed."""
    words = translation_for(event.source.language_code or "").gettext(_STORE_MOVED_WORDS)
    return SessionAnswer.action_required(
        TransactionFlow(event.action.action_type.value),
        psp_reference=None,
        amount=event.action.amount,
        message=_STORE_MOVED_MESSAGE,
        data={"errors": [error_data(STORE_MOVED, words)]},
    )
