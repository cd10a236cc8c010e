"""What the shopper's pages say and do next: pure functions of the payment and of how often the page has looked.

While the outcome is open the return page looks again every two seconds, for half a minute; then it lets the shopper go.
Good news forwards to the shop by itself. A failure does not: there is something to read first.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from app.i18n.messages import LazyMessage, Money, Value, gettext_noop
from app.shopper.view import PaymentState, PaymentView

SECONDS_BETWEEN_LOOKS = 2
POLLS = 15
POLLS_BEFORE_PAY = 3
"""Looks that find nobody has paid before the page offers to: who has just paid must not be led to pay again."""

SECONDS_BEFORE_FORWARD = 3

# Browsers drop or rewrite these, so that the address would not be the one that was looked at.
_ODD_IN_ADDRESS = re.compile(r"[\s\x00-\x1f\x7f\\]")

Tone = Literal["good", "bad", "wait", "slow", "pay"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A heading and what follows it."""

    title: LazyMessage
    text: str


_STATES = {
    PaymentState.PAID: Sentence(
        LazyMessage("Payment received"), LazyMessage("Thank you! The shop takes it from here.")
    ),
    PaymentState.AUTHORISED: Sentence(
        LazyMessage("Amount reserved"),
        LazyMessage("The money is blocked on your card. The shop will take it when it confirms your order."),
    ),
    PaymentState.WAITING: Sentence(
        LazyMessage("Checking your payment"),
        LazyMessage("This usually takes a few seconds. The page updates itself."),
    ),
    PaymentState.FAILED: Sentence(
        LazyMessage("The payment did not go through"), LazyMessage("The shop received no money.")
    ),
    PaymentState.EXPIRED: Sentence(
        LazyMessage("This payment is closed"), LazyMessage("The time to pay ran out, or the payment was cancelled.")
    ),
    PaymentState.UNKNOWN: Sentence(
        LazyMessage("Finding out whether you paid"),
        LazyMessage(
            "The payment system has not answered yet. Please do not pay a second time. The page updates itself."
        ),
    ),
}
_STILL_OPEN = Sentence(  # after the last look that the page makes by itself
    LazyMessage("No answer yet"),
    LazyMessage(
        "You can close this page: as soon as the payment is confirmed, the shop will be told. "
        "If you have paid, do not pay a second time."
    ),
)
_NO_SUCH_PAYMENT = Sentence(
    LazyMessage("No such payment"),
    LazyMessage(
        "The link may be incomplete. Open it again from the e-mail or the shop, or ask the shop: "
        "it sees every payment of your order."
    ),
)
_MAY_CLOSE = LazyMessage("You can close this page.")
_ON_THE_WAY = LazyMessage("You will be taken back to the shop in a few seconds.")
_BACK_FOR_ANOTHER = LazyMessage("To pay, go back to the shop to try again or to choose another way to pay.")
_ASK_FOR_ANOTHER = LazyMessage("To pay, ask the shop for a new payment link or for another way to pay.")


_OTHERS = {
    PaymentState.PAID: gettext_noop("%(amount)s was paid."),
    PaymentState.AUTHORISED: gettext_noop("%(amount)s is blocked on the card."),
    PaymentState.FAILED: gettext_noop("%(amount)s did not go through, nothing was charged."),
    PaymentState.EXPIRED: gettext_noop(
        "%(amount)s was not paid: the time ran out, or the payment was cancelled. Nothing was charged."
    ),
    PaymentState.WAITING: gettext_noop("%(amount)s is not settled yet. Please wait before you pay again."),
}


@dataclass(frozen=True, slots=True)
class Told:
    """What became of another attempt, begun ``at``, and why."""

    at: datetime
    words: LazyMessage
    why: str


@dataclass(frozen=True, slots=True)
class Link:
    """One button of the page."""

    address: str
    label: LazyMessage


@dataclass(frozen=True, slots=True)
class Onward:
    """Where the page goes by itself: `?...` is the page itself, once more."""

    address: str
    after_seconds: int


@dataclass(frozen=True, slots=True)
class Page:
    """All that the template shows; what is said stands in English, and is translated there."""

    tone: Tone
    says: Sentence
    details: tuple[tuple[str, LazyMessage, Value], ...] = ()  # kind, label, value
    links: tuple[Link, ...] = ()  # the first one is the one we recommend
    note: LazyMessage | None = None
    onward: Onward | None = None
    until: datetime | None = None  # while somebody can pay from here
    pay_at: str | None = None  # shown as a QR code, and printed
    attempts: tuple[Told, ...] = ()  # the others


def return_page(view: PaymentView, polls: int) -> Page:
    """The page of a known payment after `looks` earlier looks in a row (0: the shopper just arrived)."""
    shop = web_address(view.return_url)
    return Page(
        tone=_tone(view.state, polls),
        says=_says(view, polls),
        details=(("amount", LazyMessage("Amount"), Money(view.amount, view.currency)), *numbers_of(view)),
        links=_links(view, shop, polls),
        note=_note(view.state, shop),
        onward=_onward(view.state, shop, polls),
        attempts=others_of(view),
    )


MISSING = Page(tone="bad", says=_NO_SUCH_PAYMENT)
"""The page for an order that this app does not know."""


def numbers_of(view: PaymentView) -> tuple[tuple[str, LazyMessage, Value], ...]:
    """The details by which the shop finds the payment."""
    number = ("number", LazyMessage("Payment number"), view.order_id)
    if view.order_number is None:
        return (number,)
    return ("number", LazyMessage("Order number"), view.order_number), number


def others_of(view: PaymentView) -> tuple[Told, ...]:
    """What became of the other attempts to pay the same: what is known, and no more."""
    return tuple(
        Told(each.at, LazyMessage(_OTHERS[each.state], amount=Money(each.amount, each.currency)), each.message or "")
        for each in view.attempts
    )


def check_again() -> Link:
    """The page itself, once more."""
    return Link("?", LazyMessage("Check again"))


def pay_now(checkout: str) -> Link:
    """To the gateway's page."""
    return Link(checkout, LazyMessage("Go to the payment page"))


def back_to_shop(shop: str | None) -> tuple[Link, ...]:
    """The way back, if there is one."""
    return (Link(shop, LazyMessage("Back to the shop")),) if shop else ()


def how_to_pay(shop: str | None) -> LazyMessage:
    """What is left to somebody who cannot pay any more."""
    return _BACK_FOR_ANOTHER if shop else _ASK_FOR_ANOTHER


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


def _says(view: PaymentView, polls: int) -> Sentence:
    if view.state.is_open and polls >= POLLS:
        return _STILL_OPEN
    standard = _STATES[view.state]
    if view.state in {PaymentState.FAILED, PaymentState.EXPIRED} and view.message:
        return Sentence(standard.title, view.message)
    return standard


def _links(view: PaymentView, shop: str | None, polls: int) -> tuple[Link, ...]:
    links: list[Link] = []
    if view.state.is_open and polls >= POLLS:
        links.append(check_again())
    checkout = web_address(view.checkout_url)
    # Never while the outcome is unknown.
    if view.state is PaymentState.WAITING and checkout and polls >= POLLS_BEFORE_PAY:
        links.append(pay_now(checkout))
    return (*links, *back_to_shop(shop))


def _note(state: PaymentState, shop: str | None) -> LazyMessage | None:
    if state in {PaymentState.PAID, PaymentState.AUTHORISED}:
        return _ON_THE_WAY if shop else _MAY_CLOSE
    if state in {PaymentState.FAILED, PaymentState.EXPIRED}:
        return how_to_pay(shop)
    return None


def _onward(state: PaymentState, shop: str | None, polls: int) -> Onward | None:
    if state.is_open:
        return Onward(f"?n={polls + 1}", SECONDS_BETWEEN_LOOKS) if polls < POLLS else None
    if shop and state in {PaymentState.PAID, PaymentState.AUTHORISED}:
        return Onward(shop, SECONDS_BEFORE_FORWARD)
    return None
