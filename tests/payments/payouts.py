"""A store that pays out to cards, and what its staff want; for the stories about payouts."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

from app.core.payment import PaymentAggregate
from app.flows.pay_out import ConfirmedPayout, PayoutCard, Signature
from app.rules.cards.card_form import PaymentInstrument
from app.rules.references import order_id_of
from app.rules.requests.payout import PayoutTerms
from app.store.aggregates import ByOrder, ByTransaction
from app.store.payouts import payout_of
from app.store.tables import Payout
from gateway_client.models.payout import Recipient
from tests.payments.cards.seals import NUMBER
from tests.payments.fake_gateway import payment
from tests.payments.shop import SALEOR, Shop

STAFF, OTHER = "VXNlcjox", "VXNlcjoy"
MASK = "424242******4242"
NAME = "Соломія"
RECIPIENT = Recipient(recipient_first_name=NAME, recipient_last_name="Павличко", recipient_doc_number="АБ123456")


async def enable_payouts(shop: Shop, most: str = "1000.00", a_day: str = "1500.00", **more: Any) -> None:
    """The owner switches payouts on."""
    shop.account = await shop.services.accounts.change(
        shop.account.id, payouts=True, payout_most=Decimal(most), payout_most_a_day=Decimal(a_day), **more
    )


def a_payout(shop: Shop, amount: str = "100.00", **different: Any) -> ConfirmedPayout:
    """Return what one member of staff has asked for and another has confirmed."""
    moment = datetime(2026, 11, 21, 11, 59, tzinfo=UTC)
    usual = ConfirmedPayout(
        key=uuid4().hex,
        terms=PayoutTerms(Decimal(amount), "UAH", "A prize", RECIPIENT),
        card=PayoutCard(PaymentInstrument({"cc_number": NUMBER}), MASK),
        requested=Signature(STAFF, moment, "203.0.113.7"),
        confirmed=Signature(OTHER, shop.clock.now, "203.0.113.8"),
    )
    return replace(usual, **different)


def order_of(wish: ConfirmedPayout) -> str:
    """Return what the gateway calls a payout."""
    return order_id_of(wish.transaction_id, SALEOR)


def payout_record(wish: ConfirmedPayout, status: str = "success", **more: Any) -> dict[str, Any]:
    """Return the gateway's record of a payout."""
    said = {"mode": "direct", "method": "credit", "amount": wish.terms.amount, "cc_mask": MASK} | more
    return payment(order_of(wish), status, **said)


async def recorded(shop: Shop, wish: ConfirmedPayout) -> PaymentAggregate:
    """Return what is recorded of a payout."""
    found = await shop.services.payments.find(ByOrder(order_of(wish)))
    same = await shop.services.payments.find(ByTransaction(shop.installation.id, wish.transaction_id))
    assert found is not None
    assert same is not None
    assert found.payment.id == same.payment.id
    return found


async def audit_of(shop: Shop, aggregate: PaymentAggregate) -> Payout:
    """Return who wanted a payout."""
    async with shop.services.database.transaction() as session:
        found = await payout_of(session, aggregate.payment.id or 0)
    assert found is not None
    return found
