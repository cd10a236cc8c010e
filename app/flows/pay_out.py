"""Pays money out to a card, after staff have requested and confirmed it (gateway interface, 1c).

It is an order at the gateway like any other: intent first, sent once, looked up and notified of under the same laws
(``execute``). Saleor has no transaction for it, so nothing is reported there.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from app.core.ids import OrderId
from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import Flow, Mode
from app.flows.execute import execute
from app.flows.initialize import creation_intent
from app.i18n.messages import LazyMessage
from app.rules.cards.card_form import PaymentInstrument
from app.rules.references import order_id_of
from app.rules.requests.payout import (
    NO_ACCOUNT,
    PayoutBegun,
    PayoutRefusedError,
    PayoutTerms,
    currency_of,
    payout_request,
)
from app.services import Services
from app.store.aggregates import ByTransaction
from app.store.payouts import total_paid_out_since
from app.store.repository import AccountGoneError, NewPayment
from app.store.tables import MerchantAccount, Payout, SavedCard
from gateway_client.errors import InvalidRequestError
from gateway_client.models.payout import Payout as Request
from integration_base.outbound import Deadline

A_DAY = timedelta(hours=24)
"""The period of the daily limit: any 24 hours, so that midnight does not double it."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Who requested or confirmed something, when, and from which address."""

    by: str
    at: datetime
    address: str


@dataclass(frozen=True, slots=True)
class PayoutCard:
    """The card that is paid: ``instrument`` is sent to the gateway, and held in memory only; people see ``mask``.

    ``saved`` is the customer's saved card, None if it is not one.
    """

    instrument: PaymentInstrument
    mask: str
    saved: SavedCard | None = None


@dataclass(frozen=True, slots=True)
class ConfirmedPayout:
    """A payout to be sent. ``key`` identifies it; ``for_payment_id`` is the payment that it is about.

    Its 24 hours begin when it is ``confirmed``.
    """

    key: str
    terms: PayoutTerms
    card: PayoutCard
    requested: Signature
    confirmed: Signature
    for_payment_id: int | None = None

    @property
    def transaction_id(self) -> str:
        """The transaction id, where other payments have Saleor's; no id of Saleor's looks like it."""
        return _transaction_id(self.key)


async def pay_out(services: Services, account: MerchantAccount, payout: ConfirmedPayout) -> PaymentAggregate:
    """Pay out to a card, once, and return its payment, whatever the outcome.

    Idempotent: the same payout sent twice, even concurrently, is made once. Raises PayoutRefusedError and
    VaultError; then nothing was sent and nothing is recorded.

    Concurrent payouts cannot exceed the daily limit: what the others take of it is read, and this one committed, while
    the account's row is locked. So of two that together exceed it, exactly one is made.
    """
    deadline = Deadline(services.schedule.budget.total_seconds())
    store = await services.installations.get(account.installation_id)
    order_id = order_id_of(payout.transaction_id, store.saleor_api_url)
    try:
        request = payout_request(
            account,
            payout.terms,
            payout.card.instrument,
            order_id=order_id,
            ip=payout.confirmed.address,
            server_url=services.addresses.notifications(account.id),
            customer_id=None if payout.card.saved is None else payout.card.saved.user_id,
        )
    except InvalidRequestError as exc:
        message = LazyMessage("The gateway does not accept this: %(why)s.", why=exc.message)
        raise PayoutRefusedError({"": message}) from None  # the rejected value may be the card's number
    client = services.gateways.client(account)  # fails here if the keys do not open, before anything is recorded
    try:
        journaled = await services.payments.begin(_new_payment(services, account, payout, request))
    except AccountGoneError:  # deleted by somebody else, while this request still knew it
        raise PayoutRefusedError({"": NO_ACCOUNT}) from None
    if journaled is None:
        known = await find_payout(services, account.installation_id, payout.key)
        assert known is not None  # noqa: S101 - `begin` returns None only if it exists
        return known
    return await execute(
        services,
        journaled,
        journaled.create,
        lambda seconds: client.pay_out(request, timeout=seconds),
        deadline,
        answering=False,
    )


async def find_payout(services: Services, installation_id: int, key: str) -> PaymentAggregate | None:
    """Return the payment of the payout with that key; None when it has not been confirmed yet."""
    return await services.payments.find(ByTransaction(installation_id, _transaction_id(key)))


async def paid_out_last_day(services: Services, account: MerchantAccount) -> Decimal:
    """Return the amount that an account has paid out in the last 24 hours, or may have, in its payouts' currency."""
    async with services.database.transaction() as session:
        return await total_paid_out_since(session, account.id, currency_of(account), services.now() - A_DAY)


def _new_payment(services: Services, account: MerchantAccount, payout: ConfirmedPayout, request: Request) -> NewPayment:
    """Return the payment and intent to be committed before the call (laws of money, 1). No row holds the card."""
    now, saved = services.now(), payout.card.saved
    payment = Payment(
        installation_id=account.installation_id,
        account_id=account.id,
        transaction_id=payout.transaction_id,
        order_id=OrderId(request.order_id),
        flow=Flow.PAYOUT,
        mode=Mode.DIRECT,
        amount=request.amount,
        currency=request.currency,
        channel="",
        source_id=payout.transaction_id,  # unique: a payout never competes to pay an order
        saved_card_id=None if saved is None else saved.id,
        saved_card_mask=payout.card.mask,  # saved or not: the gateway's records are compared with it
        created_at=now,
        updated_at=now,
    )

    record = Payout(
        payment_id=0,  # the payment's, once that is stored
        installation_id=account.installation_id,
        account_id=account.id,
        for_payment_id=payout.for_payment_id,
        card_mask=payout.card.mask,
        asked_by=payout.requested.by[:200],
        asked_at=payout.requested.at,
        asked_from=payout.requested.address,
        confirmed_by=payout.confirmed.by[:200],
        confirmed_at=now,
        confirmed_from=payout.confirmed.address,
    )
    operation = creation_intent(services, request, payment, by=payout.confirmed.by[:200])
    return NewPayment(payment, operation, payout=record, limit=PayoutBegun(request.amount, now - A_DAY))


def _transaction_id(key: str) -> str:
    return f"payout:{key}"
