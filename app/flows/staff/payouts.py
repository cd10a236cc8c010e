"""Payouts by staff: the submitted form becomes a proposal, which is reviewed on a separate page and then confirmed.

A proposal is sealed for its store and held by the browser between the two steps: nothing of it is recorded, and what is
confirmed is exactly what was shown. It contains its key, so that it is one payout however often it is confirmed. A
typed card number stays encrypted in it, as the browser has encrypted it for the app's card key, and is opened in memory
for a moment: once for its mask, and once for the request.
"""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.core.payment import PaymentAggregate
from app.flows.accounts.balances import payout_warning, read_balances
from app.flows.card_keys import private_jwks
from app.flows.pay_out import A_DAY, ConfirmedPayout, PayoutCard, Signature, find_payout, paid_out_last_day, pay_out
from app.flows.saved_cards import open_token
from app.i18n.messages import LazyMessage
from app.rules.accounts.readers import normalize_email
from app.rules.cards.card_form import PaymentInstrument
from app.rules.cards.encrypted_card import open_sealed_number
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.payout import (
    FIELDS,
    NO_ACCOUNT,
    PayoutRefusedError,
    PayoutTerms,
    day_limit_message,
    parse_terms,
)
from app.services import Services
from app.store.accounts import AccountError
from app.store.payouts import PayoutRecord, payout_of, similar_payouts_since
from app.store.tables import MerchantAccount, SavedCard
from app.store.vault import VaultError

PROPOSAL_LIFETIME = timedelta(minutes=30)
"""How long a proposal can be confirmed. An older one must be submitted again."""

NOT_AUTHORIZED = LazyMessage(
    "The store owner has not named you among those who may pay out with this merchant account: its page shows who may."
)
_PROPOSAL_EXPIRED = LazyMessage("This payout was not confirmed in time: nothing was paid out. Request it again.")
_NOT_OURS = LazyMessage("This form cannot be submitted. Reload the page.")
_ONE_CARD = LazyMessage("Choose a saved card or enter a card number: one of the two.")
_NO_SUCH_CARD = LazyMessage("This customer has no such card saved with this merchant account, or it cannot be used.")
_NOT_CERTIFIED = LazyMessage(
    "You can enter a card number only where the store owner has confirmed PCI DSS certification: use a saved card."
)
_NOT_A_CARD = LazyMessage("The card number is not valid. Please check it.")
_CARD_LOST = LazyMessage("The card number could not be read. Please enter it again.")
_CONFIRMED = LazyMessage(
    "This payout was confirmed already: see the list of payouts. For another one, open a new form."
)


@dataclass(frozen=True, slots=True)
class PayoutReview:
    """The review shown before a payout is confirmed. ``sealed`` is the proposal that the confirmation sends back.

    ``warnings`` are for the person who confirms, who decides about them.
    """

    sealed: str
    account: MerchantAccount
    terms: PayoutTerms
    mask: str
    asked: Signature
    warnings: Sequence[LazyMessage]


@dataclass(frozen=True, slots=True)
class Person:
    """A member of staff, by Saleor's ``id`` of the person and by the address that the person has there now."""

    id: str
    email: str


def may_pay_out(account: MerchantAccount, person: Person) -> bool:
    """Return whether a member of staff may pay out with an account. Pure.

    The owner names addresses, and staff may change addresses. So an address is the person's who was the first to pay
    out under it, whatever address that person or somebody else has later.
    """
    if not account.can_pay_out or not person.id:
        return False
    ids = account.payout_staff_ids
    named = normalize_email(person.email)
    is_new = named in account.payout_staff and named not in ids
    return is_new or any(ids.get(email) == person.id for email in account.payout_staff)


async def require_payout_right(services: Services, account: MerchantAccount, person: Person) -> MerchantAccount:
    """Return the account as it is now, if the person may pay out with it; else raise PayoutRefusedError."""
    try:
        current = await services.accounts.pin_payout_staff(account.id, normalize_email(person.email), person.id)
    except AccountError:  # deleted by somebody else, while this request still knew it
        raise PayoutRefusedError({"": NO_ACCOUNT}) from None
    if not may_pay_out(current, person):
        raise PayoutRefusedError({"": NOT_AUTHORIZED})
    return current


async def payout_accounts(services: Services, installation_id: int, person: Person) -> list[MerchantAccount]:
    """Return the accounts of a store with which the member of staff may pay out."""
    return [account for account in await services.accounts.all(installation_id) if may_pay_out(account, person)]


async def propose(
    services: Services,
    account: MerchantAccount,
    form: Mapping[str, str],
    requested: Signature,
    *,
    about: int | None = None,
) -> PayoutReview:
    """Return the review of a submitted form. Raises PayoutRefusedError with all errors; nothing is recorded.

    ``form``: the fields of ``requests.payout``; ``key``; and either ``saved_card`` with ``customer``, or ``card``, the
    card's number as the browser has encrypted it.
    """
    refused: dict[str, LazyMessage] = {}
    terms, card = None, None
    key = _parse_key(form.get("key", ""))
    if await find_payout(services, account.installation_id, key) is not None:
        raise PayoutRefusedError({"": _CONFIRMED})  # else its confirmation would return the other one as made
    try:
        terms = parse_terms(account, form, requested.at.date())
    except PayoutRefusedError as error:
        refused |= error.errors
    try:
        card = await _chosen_card(services, account, key, form)
    except PayoutRefusedError as error:
        refused |= error.errors
    if terms is not None:
        message = day_limit_message(account, await paid_out_last_day(services, account), terms.amount)
        refused |= {"amount": message} if message else {}
    if refused or terms is None or card is None:
        raise PayoutRefusedError(refused)
    proposal: dict[str, Any] = {
        "key": key,
        "account": account.id,
        "currency": terms.currency,
        "said": {name: form.get(name, "") for name in FIELDS},
        "card": form.get("card", ""),
        "saved_card": form.get("saved_card", ""),
        "customer": form.get("customer", ""),
        "mask": card.mask,
        "about": about,
        "asked": {"by": requested.by, "at": requested.at.isoformat(), "address": requested.address},
    }
    return PayoutReview(
        sealed=services.personal.seal_proposal(account.installation_id, proposal),
        account=account,
        terms=terms,
        mask=card.mask,
        asked=requested,
        warnings=await _warnings(services, account, terms, card.mask),
    )


def reopen(services: Services, installation_id: int, sealed: str) -> dict[str, Any]:
    """Return what was proposed, to be changed before it is confirmed. Raises PayoutRefusedError if it is not ours."""
    try:
        return services.personal.open_proposal(installation_id, sealed)
    except VaultError:
        pass
    # Outside of the handler: the frames of the vault's error hold the sealed value.
    raise PayoutRefusedError({"": _NOT_OURS})


async def confirm(
    services: Services, installation_id: int, sealed: str, confirmed: Signature, *, person: Person | None
) -> PaymentAggregate:
    """Execute a proposed payout, once, and return its payment, whatever its outcome.

    ``person``: the member of staff who confirms it; None: an operator does, who need not be named. Raises
    PayoutRefusedError: then nothing was requested from the gateway now.
    """
    proposal = reopen(services, installation_id, sealed)
    known = await find_payout(services, installation_id, proposal["key"])
    if known is not None:  # confirmed before: the request is not repeated
        return known
    requested = Signature(
        proposal["asked"]["by"], datetime.fromisoformat(proposal["asked"]["at"]), proposal["asked"]["address"]
    )
    # Not from the cache: it may hold people and limits that the store owner has just changed.
    accounts = await services.accounts.all(installation_id)
    account = next((account for account in accounts if account.id == proposal["account"]), None)
    if account is None:
        raise PayoutRefusedError({"": NO_ACCOUNT})
    if person is not None:
        account = await require_payout_right(services, account, person)
    if confirmed.at > requested.at + PROPOSAL_LIFETIME:
        raise PayoutRefusedError({"": _PROPOSAL_EXPIRED})
    terms = parse_terms(account, proposal["said"], requested.at.date())  # limits may have changed
    shown = proposal.get("currency", terms.currency)  # the version before stored none
    if shown != terms.currency:
        raise PayoutRefusedError({"": _other_currency(shown, terms.currency)})
    card = await _chosen_card(services, account, proposal["key"], proposal)
    payout = ConfirmedPayout(proposal["key"], terms, card, requested, confirmed, proposal["about"])
    return await pay_out(services, account, payout)


async def is_another_version(services: Services, installation_id: int, sealed: str, made: PaymentAggregate) -> bool:
    """Return True when ``made`` was paid out of the same proposal before it was changed into this one, or after."""
    requested = reopen(services, installation_id, sealed)["asked"]["at"]
    async with services.database.transaction() as session:
        record = await payout_of(session, made.payment.id or 0)
    return record is not None and record.asked_at != datetime.fromisoformat(requested)


def _other_currency(shown: str, now: str) -> LazyMessage:
    return LazyMessage(
        "This account pays out in %(now)s now, and the payout was requested in %(shown)s: nothing was paid out. "
        "Request it again.",
        now=now,
        shown=shown,
    )


async def _chosen_card(services: Services, account: MerchantAccount, key: str, form: Mapping[str, Any]) -> PayoutCard:
    sealed, saved = form.get("card") or "", form.get("saved_card") or ""
    if bool(sealed) == bool(saved):
        raise PayoutRefusedError({"card": _ONE_CARD})
    if saved:
        return await _saved_card(services, account, form.get("customer") or "", saved)
    if account.pci_dss_confirmed_at is None:
        raise PayoutRefusedError({"card": _NOT_CERTIFIED})
    instrument = await _typed_card(services, account, key, sealed)
    number = instrument.members["cc_number"]
    return PayoutCard(instrument, f"{number[:6]}******{number[-4:]}")


async def _saved_card(services: Services, account: MerchantAccount, customer: str, card_id: str) -> PayoutCard:
    card: SavedCard | None = await services.saved_cards.find(
        account.installation_id, account.id, customer, card_id, services.now()
    )
    token = None if card is None else open_token(services, card)
    if card is None or token is None:
        raise PayoutRefusedError({"card": _NO_SUCH_CARD})
    return PayoutCard(PaymentInstrument({"cc_token": token}), card.mask, card)


async def _typed_card(services: Services, account: MerchantAccount, key: str, sealed: str) -> PaymentInstrument:
    now = services.now()
    keys = await private_jwks(services.card_keys.for_store(account.installation_id), now)
    try:
        return await asyncio.to_thread(open_sealed_number, sealed, keys, paid_for=f"payout:{key}", now=now)
    except RefusalError as error:
        refusal = error.code
    raise PayoutRefusedError({"card": _NOT_A_CARD if refusal is RefusalCode.INVALID_CARD else _CARD_LOST})


async def _warnings(
    services: Services, account: MerchantAccount, terms: PayoutTerms, mask: str
) -> Sequence[LazyMessage]:
    balances = await read_balances(services, account)
    message = payout_warning(terms.amount, terms.currency, balances)
    found = [] if message is None else [message]
    if balances.available(terms.currency) is None:
        found.append(LazyMessage("The account's balance at the gateway is not known at the moment."))
    async with services.database.transaction() as session:
        alike: list[PayoutRecord] = await similar_payouts_since(
            session, account.id, mask=mask, amount=terms.amount, currency=terms.currency, since=services.now() - A_DAY
        )
    if alike:
        found.append(
            LazyMessage(
                "The same amount was already paid out to a card with these digits at %(time)s.",
                time=alike[-1].payout.confirmed_at,
            )
        )
    return found


def _parse_key(text: str) -> str:
    try:
        return uuid.UUID(text).hex
    except ValueError:
        raise PayoutRefusedError({"": _NOT_OURS}) from None
