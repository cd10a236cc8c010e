"""What the shopper's pages say and do next: pure functions of the payment and of how often the page has looked.

While the outcome is open the return page looks again every two seconds, for half a minute; then it lets the shopper go.
Good news forwards to the shop by itself. A failure does not: there is something to read first.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from app.shopper.view import Language, PaymentState, PaymentView
from app.shopper.words import WORDS, Sentence, Words, money

SECONDS_BETWEEN_LOOKS = 2
POLLS = 15
SECONDS_BEFORE_FORWARD = 3

# Browsers drop or rewrite these, so that the address would not be the one that was looked at.
_ODD_IN_ADDRESS = re.compile(r"[\s\x00-\x1f\x7f\\]")

Tone = Literal["good", "bad", "wait", "slow", "pay"]


@dataclass(frozen=True, slots=True)
class Link:
    """One button of the page."""

    address: str
    label: str


@dataclass(frozen=True, slots=True)
class Onward:
    """Where the page goes by itself: `?...` is the page itself, once more."""

    address: str
    after_seconds: int


@dataclass(frozen=True, slots=True)
class Page:
    """All that the template shows."""

    language: Language
    tone: Tone
    says: Sentence
    details: tuple[tuple[str, str, str], ...] = ()  # kind, label, value
    links: tuple[Link, ...] = ()  # the first one is the one we recommend
    note: str | None = None
    onward: Onward | None = None
    until: datetime | None = None  # while somebody can pay from here
    pay_at: str | None = None  # shown as a QR code, and printed

    @property
    def words(self) -> Words:
        """All words of the page's language."""
        return WORDS[self.language]


def return_page(view: PaymentView, polls: int) -> Page:
    """The page of a known payment after `looks` earlier looks in a row (0: the shopper just arrived)."""
    words = WORDS[view.language]
    shop = web_address(view.return_url)
    tone, says = _tone(view.state, polls), _says(view, words, polls)
    return Page(
        language=view.language,
        tone=tone,
        says=says,
        details=(
            ("amount", words.amount, money(view.amount, view.currency, view.language)),
            ("number", words.number, view.order_id),
        ),
        links=_links(view, words, shop, polls),
        note=_note(view.state, words, shop),
        onward=_onward(view.state, shop, polls),
    )


def missing_page(language: Language) -> Page:
    """The page for an order that this app does not know."""
    return Page(language=language, tone="bad", says=WORDS[language].no_such_payment)


def web_address(address: str | None) -> str | None:
    """The address if a browser may be sent there: absolute, http or https, with a host. Else None."""
    if address is None or _ODD_IN_ADDRESS.search(address):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in {"http", "https"} and parts.hostname else None


def _tone(state: PaymentState, polls: int) -> Tone:
    if state.is_open:
        return "slow" if polls >= POLLS else "wait"
    return "bad" if state in {PaymentState.FAILED, PaymentState.EXPIRED} else "good"


def _says(view: PaymentView, words: Words, polls: int) -> Sentence:
    if view.state.is_open and polls >= POLLS:
        return words.still_open
    standard = words.states[view.state]
    if view.state in {PaymentState.FAILED, PaymentState.EXPIRED} and view.message:
        return Sentence(standard.title, view.message)
    return standard


def _links(view: PaymentView, words: Words, shop: str | None, polls: int) -> tuple[Link, ...]:
    links: list[Link] = []
    if view.state.is_open and polls >= POLLS:
        links.append(Link("?", words.check_again))
        # Not earlier: who has just paid must not be led to pay again. And never while the outcome is unknown.
        checkout = web_address(view.checkout_url)
        if view.state is PaymentState.WAITING and checkout:
            links.append(Link(checkout, words.pay_now))
    if shop:
        links.append(Link(shop, words.back_to_shop))
    return tuple(links)


def _note(state: PaymentState, words: Words, shop: str | None) -> str | None:
    if state in {PaymentState.PAID, PaymentState.AUTHORISED}:
        return words.on_the_way if shop else words.may_close
    if state in {PaymentState.FAILED, PaymentState.EXPIRED}:
        return words.back_for_another if shop else words.ask_for_another
    return None


def _onward(state: PaymentState, shop: str | None, polls: int) -> Onward | None:
    if state.is_open:
        return Onward(f"?n={polls + 1}", SECONDS_BETWEEN_LOOKS) if polls < POLLS else None
    if shop and state in {PaymentState.PAID, PaymentState.AUTHORISED}:
        return Onward(shop, SECONDS_BEFORE_FORWARD)
    return None
