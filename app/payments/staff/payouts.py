"""The door for payouts: what staff type becomes a proposal, which is read on a page of its own and then confirmed.

A proposal is sealed for its store and lies in the browser between the two steps: nothing of it is recorded, and what is
confirmed is what was shown, to the letter. It names its key, so that it is one payout however often it is confirmed. A
card that was typed stays encrypted in it, as the browser has encrypted it for the app's card key, and is opened in
memory for a moment: once for its mask, and once for the call.
"""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.db.aggregates import PaymentAggregate
from app.db.payouts import PayoutRecord, alike_since
from app.db.tables import MerchantAccount, SavedCard
from app.db.vault import VaultError
from app.i18n.messages import LazyMessage
from app.payments.accounts.balances import payout_warning, read_balances
from app.payments.cards.card_form import PaymentInstrument
from app.payments.cards.encrypted_card import open_sealed_number
from app.payments.cards.keys import opening_keys
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.operations.pay_out import (
    A_DAY,
    ConfirmedPayout,
    PayoutCard,
    Signature,
    known_payout,
    pay_out,
    taken_of_day,
)
from app.payments.requests.payout import (
    RECIPIENT,
    PayoutRefusedError,
    PayoutTerms,
    day_limit_words,
    read_terms,
)
from app.payments.services import Services

PROPOSED_FOR = timedelta(minutes=30)
"""How long a proposal can be confirmed. What is older has to be asked for again."""

NOT_NAMED = LazyMessage(
    "The store owner has not named you among those who may pay out with this merchant account: its page says who may."
)
_OVER = LazyMessage("This payout was not confirmed in time: nothing was paid out. Ask for it again.")
_NOT_OURS = LazyMessage("Reload the page: this form cannot be sent.")
_NO_ACCOUNT = LazyMessage("Choose one of those that are offered.")
_ONE_CARD = LazyMessage("Choose a saved card, or type a card number: one of them.")
_NO_SUCH_CARD = LazyMessage("This customer keeps no such card with this merchant account, or it cannot be used.")
_NOT_CERTIFIED = LazyMessage(
    "A card number can be typed only where the store owner has confirmed PCI DSS certification: use a saved card."
)
_NOT_A_CARD = LazyMessage("The card number is not right. Please check it.")
_CARD_LOST = LazyMessage("The card number could not be read. Please type it again.")


@dataclass(frozen=True, slots=True)
class PayoutReview:
    """What is shown before a payout is confirmed. ``sealed`` is what the confirmation sends back.

    ``warnings``: what whoever confirms must know, and may decide about.
    """

    sealed: str
    account: MerchantAccount
    terms: PayoutTerms
    mask: str
    asked: Signature
    warnings: Sequence[LazyMessage]


def may_pay_out(account: MerchantAccount, email: str) -> bool:
    """Return whether somebody of the staff, whom Saleor knows by that address, may pay out with an account. Pure."""
    return account.pays_out and email.casefold() in account.payout_staff


async def accounts_of(services: Services, installation_id: int, email: str) -> list[MerchantAccount]:
    """Return the accounts of a store with which somebody may pay out."""
    return [each for each in await services.accounts.all(installation_id) if may_pay_out(each, email)]


async def propose(
    services: Services, account: MerchantAccount, said: Mapping[str, str], asked: Signature, *, about: int | None = None
) -> PayoutReview:
    """Return the review of what a form says. Raises PayoutRefusedError, with all that is wrong; nothing is recorded.

    ``said``: the fields of ``requests.payout``; ``key``; and either ``saved_card`` with ``customer``, or ``card``, the
    card's number as the browser has encrypted it.
    """
    refused: dict[str, LazyMessage] = {}
    terms, card = None, None
    key = _key(said.get("key", ""))
    try:
        terms = read_terms(account, said, asked.at.date())
    except PayoutRefusedError as error:
        refused |= error.refused
    try:
        card = await _card(services, account, key, said)
    except PayoutRefusedError as error:
        refused |= error.refused
    if terms is not None:
        words = day_limit_words(account, await taken_of_day(services, account), terms.amount)
        refused |= {"amount": words} if words else {}
    if refused or terms is None or card is None:
        raise PayoutRefusedError(refused)
    proposal: dict[str, Any] = {
        "key": key,
        "account": account.id,
        "said": {name: said.get(name, "") for name in ("amount", "description", *RECIPIENT)},
        "card": said.get("card", ""),
        "saved_card": said.get("saved_card", ""),
        "customer": said.get("customer", ""),
        "about": about,
        "asked": {"by": asked.by, "at": asked.at.isoformat(), "address": asked.address},
    }
    return PayoutReview(
        sealed=services.personal.seal_proposal(account.installation_id, proposal),
        account=account,
        terms=terms,
        mask=card.mask,
        asked=asked,
        warnings=await _warnings(services, account, terms, card.mask),
    )


async def confirm(
    services: Services, installation_id: int, sealed: str, confirmed: Signature, *, email: str | None
) -> PaymentAggregate:
    """Pay out what was proposed, once, and return its payment, whatever came of it.

    ``email``: of whom of the staff confirms it; None: an operator does, who needs not be named. Raises
    PayoutRefusedError: then nothing was asked of the gateway now.
    """
    try:
        proposal = services.personal.proposal(installation_id, sealed)
    except VaultError:
        proposal = None
    if proposal is None:  # outside of the handler: what was sealed is in the frames of the vault's error
        raise PayoutRefusedError({"": _NOT_OURS})
    known = await known_payout(services, installation_id, proposal["key"])
    if known is not None:  # by somebody, somewhere, at some time: nothing is asked once more
        return known
    asked = Signature(
        proposal["asked"]["by"], datetime.fromisoformat(proposal["asked"]["at"]), proposal["asked"]["address"]
    )
    # Read anew: what a process remembers for a moment may name people and limits that its owner has just changed.
    accounts = await services.accounts.all(installation_id)
    account = next((each for each in accounts if each.id == proposal["account"]), None)
    if account is None:
        raise PayoutRefusedError({"": _NO_ACCOUNT})
    if email is not None and not may_pay_out(account, email):
        raise PayoutRefusedError({"": NOT_NAMED})
    if confirmed.at > asked.at + PROPOSED_FOR:
        raise PayoutRefusedError({"": _OVER})
    terms = read_terms(account, proposal["said"], asked.at.date())  # limits may be others by now
    card = await _card(services, account, proposal["key"], proposal)
    wish = ConfirmedPayout(proposal["key"], terms, card, asked, confirmed, proposal["about"])
    return await pay_out(services, account, wish)


async def _card(services: Services, account: MerchantAccount, key: str, said: Mapping[str, Any]) -> PayoutCard:
    sealed, saved = said.get("card") or "", said.get("saved_card") or ""
    if bool(sealed) == bool(saved):
        raise PayoutRefusedError({"card": _ONE_CARD})
    if saved:
        return await _saved(services, account, said.get("customer") or "", saved)
    if account.pci_dss_confirmed_at is None:
        raise PayoutRefusedError({"card": _NOT_CERTIFIED})
    instrument = await _typed(services, account, key, sealed)
    number = instrument.members["cc_number"]
    return PayoutCard(instrument, f"{number[:6]}******{number[-4:]}")


async def _saved(services: Services, account: MerchantAccount, customer: str, card_id: str) -> PayoutCard:
    card: SavedCard | None = await services.saved_cards.find(
        account.installation_id, account.id, customer, card_id, services.now()
    )
    token = None
    if card is not None:
        try:
            token = services.saved_cards.token(card)
        except VaultError:
            token = None
    if card is None or token is None:
        raise PayoutRefusedError({"card": _NO_SUCH_CARD})
    return PayoutCard(PaymentInstrument({"cc_token": token}), card.mask, card)


async def _typed(services: Services, account: MerchantAccount, key: str, sealed: str) -> PaymentInstrument:
    now, book = services.now(), services.card_keys.of(account.installation_id)
    keys = {each.kid: each for each in await opening_keys(book, now)}

    def private_jwk(kid: str) -> str | None:
        return book.private_jwk(keys[kid]) if kid in keys else None

    refusal: RefusalCode | None = None
    try:
        return await asyncio.to_thread(open_sealed_number, sealed, private_jwk, paid_for=f"payout:{key}", now=now)
    except RefusalError as error:
        refusal = error.code
    except VaultError:
        refusal = RefusalCode.CARD_UNREADABLE
    raise PayoutRefusedError({"card": _NOT_A_CARD if refusal is RefusalCode.INVALID_CARD else _CARD_LOST})


async def _warnings(
    services: Services, account: MerchantAccount, terms: PayoutTerms, mask: str
) -> Sequence[LazyMessage]:
    balances = await read_balances(services, account)
    words = payout_warning(terms.amount, terms.currency, balances)
    found = [] if words is None else [words]
    if balances.available(terms.currency) is None:
        found.append(LazyMessage("What the account has at the gateway is not known at this moment."))
    async with services.database.transaction() as session:
        alike: list[PayoutRecord] = await alike_since(session, account.id, mask, terms.amount, services.now() - A_DAY)
    if alike:
        found.append(
            LazyMessage(
                "The same amount was paid out to a card with these digits at %(time)s already.",
                time=alike[-1].payout.confirmed_at,
            )
        )
    return found


def _key(text: str) -> str:
    try:
        return uuid.UUID(text).hex
    except ValueError:
        raise PayoutRefusedError({"": _NOT_OURS}) from None
