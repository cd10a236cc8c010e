"""Builds the pages about payouts: the list, and the form with the cards that can be paid."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import Flow
from app.flows.card_keys import offered_key
from app.flows.staff.payouts import Person, payout_accounts
from app.i18n.messages import LazyMessage
from app.reports.customers import customer_ids_of, open_request
from app.reports.payout_view import recipient_name, recipient_of
from app.reports.status import standings
from app.rules.cards.key_pair import ALG, ENC
from app.rules.problems import problem_messages
from app.rules.requests.payout import EMAIL, REFERENCE, TAX_ID, TAXABLE, currency_of
from app.services import Services
from app.store.aggregates import ById, ByOrder
from app.store.payouts import PayoutRecord, payout_of, payouts_page
from app.store.tables import MerchantAccount, Payout, SavedCard
from app.web.dashboard.projects import test_ids
from integration_base.typed_text import typed_email

PAGE_SIZE = 25
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
    EMAIL: LazyMessage("E-mail address"),
    TAX_ID: LazyMessage("Tax ID"),
    REFERENCE: LazyMessage("Your reference"),
}
"""The form's labels of the fields about the recipient, in its order."""

NAMES = ("recipient_first_name", "recipient_middle_name", "recipient_last_name")


@dataclass(frozen=True, slots=True)
class PayoutRow:
    """A payout of the list. ``recipient`` is empty when no key can open it."""

    record: PayoutRecord
    recipient: str

    @property
    def standings(self) -> Sequence[Any]:
        """The standings of the payout."""
        return standings(self.record.aggregate)

    @property
    def problems(self) -> Sequence[str]:
        """The texts of the problems that a person must look at."""
        return problem_messages(self.record.aggregate.payment)


@dataclass(frozen=True)
class PayoutList:
    """A page of the list. ``older``: the order after which the next page begins.

    ``accounts``: those with which this user may pay out; ``any_on``: whether payouts are enabled for any account;
    ``tests`` are the accounts whose money is not real.
    """

    rows: Sequence[PayoutRow]
    older: str | None
    accounts: Sequence[MerchantAccount]
    any_on: bool
    tests: Collection[str]


@dataclass(frozen=True)
class PayoutForm:
    """The form of a new payout. ``cards`` are the ones to choose from; ``about`` is the payment that it relates to.

    ``jwk`` is the key for which a typed card is encrypted, None: no card can be typed. ``known`` prefills fields, and
    ``chosen`` is the saved card that is selected. ``kept``: the sealed proposal whose typed card (people see
    ``kept_mask``) is used unless another is chosen.
    """

    account: MerchantAccount
    currency: str
    key: str
    cards: Sequence[SavedCard]
    jwk: dict[str, Any] | None
    about: Payment | None
    known: Mapping[str, str]
    looked_for: bool = False
    chosen: str = ""
    kept: str = ""
    kept_mask: str = ""
    alg: str = ALG
    enc: str = ENC


async def read_list(services: Services, installation_id: int, person: Person, after: str | None) -> PayoutList:
    """Return a page of the payouts of that store only."""
    last: Payout | None = None
    if after:
        found = await services.payments.find(ByOrder(after, installation_id=installation_id))
        if found is not None:
            async with services.database.transaction() as session:
                last = await payout_of(session, found.payment.id or 0)
    async with services.database.transaction() as session:
        records = await payouts_page(session, installation_id, most=PAGE_SIZE + 1, after=last)
    all_accounts = await services.accounts.all(installation_id)
    page_records = records[:PAGE_SIZE]
    return PayoutList(
        rows=[PayoutRow(record, recipient_name(recipient_of(services, record))) for record in page_records],
        older=page_records[-1].aggregate.payment.order_id if len(records) > PAGE_SIZE else None,
        accounts=await payout_accounts(services, installation_id, person),
        any_on=any(account.payouts for account in all_accounts),
        tests=test_ids(all_accounts),
    )


async def read_form(
    services: Services,
    account: MerchantAccount,
    about: PaymentAggregate | None,
    *,
    customer_email: str = "",
    customer_id: str = "",
) -> PayoutForm:
    """Return a new form, with the cards of the customer who made the payment in question, or who is named."""
    known: dict[str, str] = {}
    customers = {customer_id} if customer_id else set[str]()
    if about is not None:
        request_data = open_request(services, about.payment, about.create)
        customers |= {str(request_data["customer_id"])} if request_data.get("customer_id") else set()
        known = {
            "recipient_first_name": str(request_data.get("customer_fname") or ""),
            "recipient_last_name": str(request_data.get("customer_lname") or ""),
        }
    if customer_email:
        customers |= await customer_ids_of(services, account.installation_id, typed_email(customer_email))
    cards: list[SavedCard] = []
    for customer in sorted(customers):
        cards += await services.saved_cards.usable_cards(account.installation_id, account.id, customer, services.now())
    jwk = None
    if account.pci_dss_confirmed_at is not None:
        jwk = (await offered_key(services.card_keys.for_store(account.installation_id), services.now())).public_jwk
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


async def read_changed_form(
    services: Services, account: MerchantAccount, proposal: Mapping[str, Any], sealed: str
) -> PayoutForm:
    """Return the form with what was proposed, of the same payout: so it is made once, however often it is changed."""
    about = None if proposal["about"] is None else await services.payments.find(ById(proposal["about"]))
    form = await read_form(services, account, about, customer_id=proposal["customer"])
    return replace(
        form,
        key=proposal["key"],
        known=proposal["said"],
        chosen=proposal["saved_card"],
        kept=sealed if proposal["card"] else "",
        kept_mask=proposal.get("mask", ""),  # the version before stored none
    )


async def find_payment_for_payout(services: Services, installation_id: int, order_id: str) -> PaymentAggregate | None:
    """Return the payment of a store to which a payout can relate; None for a payout or an unknown order."""
    found = await services.payments.find(ByOrder(order_id, installation_id=installation_id)) if order_id else None
    return None if found is None or found.payment.flow is Flow.PAYOUT else found
