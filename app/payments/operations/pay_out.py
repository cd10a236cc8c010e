"""Money goes out to a card, because staff have asked for it and confirmed it (gateway interface, 1c).

It is an order at the gateway like any other: intent first, asked once, looked up and notified of under the same laws
(``execute``). Only Saleor has no transaction of it, so nothing is told there.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

from app.db.aggregates import ById, ByTransaction, PaymentAggregate, row_id_of
from app.db.payouts import paid_out_since
from app.db.repository import NewPayment
from app.db.tables import Flow, MerchantAccount, Mode, Operation, Payment, Payout, SavedCard, State
from app.gateway.errors import InvalidRequestError
from app.gateway.models.payout import Payout as Request
from app.i18n.messages import LazyMessage
from app.outbound import Deadline
from app.payments.cards.card_form import PaymentInstrument
from app.payments.core.apply import conclude
from app.payments.core.references import order_id_of
from app.payments.operations.execute import execute
from app.payments.operations.initialize import creation_of
from app.payments.requests.payout import PayoutRefusedError, PayoutTerms, day_limit_words, payout_request
from app.payments.services import Services
from app.payments.split.planning import shares_said

A_DAY = timedelta(hours=24)
"""Of which the day's limit is: any 24 hours, so that no midnight doubles it."""

OVER_THE_LIMIT = "PAYOUT_LIMIT"


@dataclass(frozen=True, slots=True)
class Signature:
    """Who has done something, when, and from which address."""

    by: str
    at: datetime
    address: str


@dataclass(frozen=True, slots=True)
class PayoutCard:
    """The card that is paid: what the gateway is told of it, in memory only; and its ``mask``, which people read.

    ``saved``: the customer's card that it is, if it is one that a customer keeps.
    """

    instrument: PaymentInstrument
    mask: str
    saved: SavedCard | None = None


@dataclass(frozen=True, slots=True)
class ConfirmedPayout:
    """What is to be paid out. ``key`` tells this wish from every other one; ``about`` is the payment that it is about.

    ``confirmed`` is when its 24 hours begin.
    """

    key: str
    terms: PayoutTerms
    card: PayoutCard
    asked: Signature
    confirmed: Signature
    about: int | None = None

    @property
    def transaction_id(self) -> str:
        """Stands where other payments have Saleor's; no id of Saleor's looks like it."""
        return _transaction(self.key)


async def pay_out(services: Services, account: MerchantAccount, wish: ConfirmedPayout) -> PaymentAggregate:
    """Pay out to a card, once, and return its payment, whatever came of it.

    The same wish twice is one payout, whoever else has it. Raises PayoutRefusedError, VaultError: then nothing was
    asked and nothing is recorded.

    The limit of a day is held however many are sent at once: each is committed before it reads what the others take of
    the day, so of two that are too much together the one that reads later sees the other, and is never sent.
    """
    deadline = Deadline(services.schedule.budget.total_seconds())
    store = await services.installations.get(account.installation_id)
    order_id = order_id_of(wish.transaction_id, store.saleor_api_url)
    try:
        request = payout_request(
            account,
            wish.terms,
            wish.card.instrument,
            order_id=order_id,
            ip=wish.confirmed.address,
            server_url=services.addresses.notifications(account.id),
            customer_id=None if wish.card.saved is None else wish.card.saved.user_id,
        )
    except InvalidRequestError as exc:
        words = LazyMessage("The gateway does not take this: %(why)s.", why=exc.message)
        raise PayoutRefusedError({"": words}) from None  # what was given may be the card's number
    client = services.gateways.client(account)  # keys that do not open fail here, while nothing is recorded yet
    journaled = await services.payments.begin(_new_payment(services, account, wish, request))
    if journaled is None:
        known = await known_payout(services, account.installation_id, wish.key)
        assert known is not None  # noqa: S101 - it is there, or it could have been recorded
        return known
    taken = await taken_of_day(services, account, besides=row_id_of(journaled.payment))
    words_of_limit = day_limit_words(account, taken, request.amount)
    if words_of_limit is not None:
        return await _not_sent(services, journaled, words_of_limit)
    return await execute(
        services,
        journaled,
        journaled.create,
        lambda seconds: client.pay_out(request, timeout=seconds),
        deadline,
        answering=False,
    )


async def known_payout(services: Services, installation_id: int, key: str) -> PaymentAggregate | None:
    """Return what became of a wish of that key; None when nobody has confirmed it yet."""
    return await services.payments.find(ByTransaction(installation_id, _transaction(key)))


async def taken_of_day(services: Services, account: MerchantAccount, *, besides: int | None = None) -> Decimal:
    """Return what an account has paid out in the last 24 hours, or may have."""
    async with services.database.transaction() as session:
        return await paid_out_since(session, account.id, services.now() - A_DAY, besides=besides)


async def _not_sent(services: Services, journaled: PaymentAggregate, words: LazyMessage) -> PaymentAggregate:
    posting = services.posting()

    def step(payment: PaymentAggregate) -> PaymentAggregate:
        conclude(payment, payment.create, State.FAILURE, posting, message=words, status_code=OVER_THE_LIMIT)
        return payment

    return await services.payments.update(ById(row_id_of(journaled.payment)), step)


def _new_payment(services: Services, account: MerchantAccount, wish: ConfirmedPayout, request: Request) -> NewPayment:
    """Return what is about to be asked, to be committed before (laws of money, 1). No row holds the card."""
    now, saved = services.now(), wish.card.saved
    payment = partial(
        Payment,
        installation_id=account.installation_id,
        account_id=account.id,
        transaction_id=wish.transaction_id,
        order_id=request.order_id,
        flow=Flow.PAYOUT,
        mode=Mode.DIRECT,
        amount=request.amount,
        currency=request.currency,
        channel="",
        source_id=wish.transaction_id,  # no debt of anybody: never an attempt to pay an order
        saved_card_id=None if saved is None else saved.id,
        saved_card_mask=None if saved is None else saved.mask,
        created_at=now,
        updated_at=now,
    )

    def audit(recorded: Payment) -> Payout:
        return Payout(
            payment_id=row_id_of(recorded),
            installation_id=account.installation_id,
            account_id=account.id,
            for_payment_id=wish.about,
            card_mask=wish.card.mask,
            asked_by=wish.asked.by[:200],
            asked_at=wish.asked.at,
            asked_from=wish.asked.address,
            confirmed_by=wish.confirmed.by[:200],
            confirmed_at=now,
            confirmed_from=wish.confirmed.address,
        )

    def operation(recorded: Payment) -> Operation:
        return creation_of(services, request, recorded, by=wish.confirmed.by[:200])

    return NewPayment(payment, operation, shares_said, beside=audit)


def _transaction(key: str) -> str:
    return f"payout:{key}"
