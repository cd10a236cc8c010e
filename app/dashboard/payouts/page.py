"""What the pages about payouts show: the list, and the form with the cards that can be paid."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.db.aggregates import ByOrder, PaymentAggregate
from app.db.payouts import PayoutRecord, payout_of, payouts_page
from app.db.tables import Flow, MerchantAccount, Payment, Payout, SavedCard
from app.i18n.messages import LazyMessage
from app.payments.cards.keys import ALG, ENC, offered_key
from app.payments.core.problems import problem_messages
from app.payments.requests.payout import TAXABLE, currency_of
from app.payments.services import Services
from app.payments.staff.customers import customers_of, opened
from app.payments.staff.payout_view import recipient_name, recipient_of
from app.payments.staff.payouts import accounts_of
from app.payments.staff.status import standings

A_PAGE = 25
_MOST_CARDS = 50

LABELS: Mapping[str, LazyMessage] = {
    "recipient_first_name": LazyMessage("First name"),
    "recipient_middle_name": LazyMessage("Middle name"),
    "recipient_last_name": LazyMessage("Last name"),
    "recipient_phone": LazyMessage("Phone number"),
    "recipient_birth_date": LazyMessage("Date of birth"),
    "recipient_birth_place": LazyMessage("Place of birth"),
    "recipient_country": LazyMessage("Citizenship"),
    "recipient_city": LazyMessage("City"),
    "recipient_address": LazyMessage("Address"),
    "recipient_postcode": LazyMessage("Postcode"),
    "recipient_doc_number": LazyMessage("Document number"),
    "recipient_doc_issue_date": LazyMessage("Document issued on"),
    "recipient_doc_issued_by": LazyMessage("Document issued by"),
    "wallet_number": LazyMessage("Wallet number"),
    TAXABLE: LazyMessage("Taxable winnings"),
}
"""What the form calls the members of ``properties``, in its order."""

NAMES = ("recipient_first_name", "recipient_middle_name", "recipient_last_name")


@dataclass(frozen=True, slots=True)
class PayoutRow:
    """A payout of the list. ``recipient`` is empty when no key opens it."""

    record: PayoutRecord
    recipient: str

    @property
    def standings(self) -> Sequence[Any]:
        """Where it stands."""
        return standings(self.record.aggregate)

    @property
    def problems(self) -> Sequence[str]:
        """What somebody must look at, in words."""
        return problem_messages(self.record.aggregate.payment)


@dataclass(frozen=True)
class PayoutList:
    """A page of the list. ``older``: the order after which the next one begins. ``accounts``: with which the reader
    may pay out; ``any_on``: whether anybody may with any.
    """

    rows: Sequence[PayoutRow]
    older: str | None
    accounts: Sequence[MerchantAccount]
    any_on: bool


@dataclass(frozen=True)
class PayoutForm:
    """The form of a new payout. ``cards`` can be chosen; ``jwk`` is what a typed one is encrypted for, None: it cannot
    be typed. ``about`` is the payment that it is about; ``known`` fills fields in.
    """

    account: MerchantAccount
    currency: str
    key: str
    cards: Sequence[SavedCard]
    jwk: dict[str, Any] | None
    about: Payment | None
    known: Mapping[str, str]
    looked_for: bool = False
    alg: str = ALG
    enc: str = ENC


async def read_list(services: Services, installation_id: int, email: str, after: str | None) -> PayoutList:
    """Return a page of the payouts of that store, and of no other."""
    last: Payout | None = None
    if after:
        found = await services.payments.find(ByOrder(after, installation_id=installation_id))
        if found is not None:
            async with services.database.transaction() as session:
                last = await payout_of(session, found.payment.id or 0)
    async with services.database.transaction() as session:
        records = await payouts_page(session, installation_id, most=A_PAGE + 1, after=last)
    shown = records[:A_PAGE]
    return PayoutList(
        rows=[PayoutRow(each, recipient_name(recipient_of(services, each))) for each in shown],
        older=shown[-1].aggregate.payment.order_id if len(records) > A_PAGE else None,
        accounts=await accounts_of(services, installation_id, email),
        any_on=any(each.payouts for each in await services.accounts.all(installation_id)),
    )


async def read_form(
    services: Services, account: MerchantAccount, about: PaymentAggregate | None, customer_email: str = ""
) -> PayoutForm:
    """Return a new form: with the cards of whoever has made the payment that it is about, or has that address."""
    known: dict[str, str] = {}
    customers: set[str] = set()
    if about is not None:
        asked = opened(services, about.payment, about.create)
        customers |= {str(asked["customer_id"])} if asked.get("customer_id") else set()
        known = {
            "recipient_first_name": str(asked.get("customer_fname") or ""),
            "recipient_last_name": str(asked.get("customer_lname") or ""),
        }
    if customer_email:
        customers |= await customers_of(services, account.installation_id, customer_email)
    cards: list[SavedCard] = []
    for customer in sorted(customers):
        cards += await services.saved_cards.usable(account.installation_id, account.id, customer, services.now())
    jwk = None
    if account.pci_dss_confirmed_at is not None:
        jwk = (await offered_key(services.card_keys.of(account.installation_id), services.now())).public_jwk
    return PayoutForm(
        account=account,
        currency=currency_of(account),
        key=uuid.uuid4().hex,
        cards=cards[:_MOST_CARDS],
        jwk=jwk,
        about=None if about is None else about.payment,
        known=known,
        looked_for=bool(customer_email),
    )


async def payment_about(services: Services, installation_id: int, order_id: str) -> PaymentAggregate | None:
    """Return the payment of a store that a payout can be about; None for a payout, and for what is not there."""
    found = await services.payments.find(ByOrder(order_id, installation_id=installation_id)) if order_id else None
    return None if found is None or found.payment.flow is Flow.PAYOUT else found
