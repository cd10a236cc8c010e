"""The content and the next step of the shopper's pages: pure functions of the payment and of the number of polls.

While the outcome is open, the return page polls every two seconds for half a minute; then it tells the shopper that it
can be closed. After a success it redirects to the shop by itself. After a failure it does not: there is something to
read first.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from app.i18n.messages import LazyMessage, Money, Value, gettext_noop
from app.web.shopper.view import PaymentState, PaymentView

SECONDS_BETWEEN_POLLS = 2
POLLS = 15
POLLS_BEFORE_PAY = 3
"""Polls without a payment before the page offers to pay: a shopper who has just paid must not be led to pay again."""

SECONDS_BEFORE_FORWARD = 3

# Browsers drop or rewrite these characters, so that the address would not be the one that was checked.
_UNSAFE_IN_ADDRESS = re.compile(r"[\s\x00-\x1f\x7f\\]")

Tone = Literal["good", "bad", "wait", "slow", "pay"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A heading and the text below it."""

    title: LazyMessage
    text: str


_SENTENCES = {
    PaymentState.PAID: Sentence(
        LazyMessage("Payment received"), LazyMessage("Thank you! The shop takes it from here.")
    ),
    PaymentState.AUTHORISED: Sentence(
        LazyMessage("Amount reserved"),
        LazyMessage("The amount is on hold on your card. The shop will charge it when it confirms your order."),
    ),
    PaymentState.RELEASED: Sentence(
        LazyMessage("No longer reserved"),
        LazyMessage("The shop has released the amount and charged nothing. Your bank may show it for a few more days."),
    ),
    PaymentState.REFUNDED: Sentence(
        LazyMessage("Payment refunded"),
        LazyMessage("The shop has refunded the payment. It can take a few days until your bank shows the money."),
    ),
    PaymentState.WAITING: Sentence(
        LazyMessage("Checking your payment"),
        LazyMessage("This usually takes a few seconds. The page updates automatically."),
    ),
    PaymentState.FAILED: Sentence(
        LazyMessage("The payment did not go through"), LazyMessage("The shop received no money.")
    ),
    PaymentState.EXPIRED: Sentence(
        LazyMessage("This payment is closed"), LazyMessage("The time to pay ran out, or the payment was cancelled.")
    ),
    PaymentState.UNKNOWN: Sentence(
        LazyMessage("Checking whether you paid"),
        LazyMessage(
            "The payment system has not responded yet. Please do not pay again. The page updates automatically."
        ),
    ),
}
_STILL_OPEN = Sentence(  # after the last automatic poll
    LazyMessage("No confirmation yet"),
    LazyMessage(
        "You can close this page: the shop will be notified as soon as the payment is confirmed. If you have "
        "paid, do not pay again."
    ),
)
_NO_SUCH_PAYMENT = Sentence(
    LazyMessage("Payment not found"),
    LazyMessage(
        "The link may be incomplete. Open it again from the e-mail or the shop, or contact the shop: it can see "
        "every payment for your order."
    ),
)
_TOO_MANY_VISITORS = Sentence(
    LazyMessage("Too many visitors at this moment"),
    LazyMessage("The page loads by itself in a few seconds. If you have paid, do not pay again."),
)
_MAY_CLOSE = LazyMessage("You can close this page.")
_ON_THE_WAY = LazyMessage("You will be taken back to the shop in a few seconds.")
_BACK_FOR_ANOTHER = LazyMessage("To pay, go back to the shop and try again or choose another payment method.")
_ASK_FOR_ANOTHER = LazyMessage("To pay, ask the shop for a new payment link or another payment method.")


_ATTEMPT_MESSAGES = {
    PaymentState.PAID: gettext_noop("%(amount)s was paid."),
    PaymentState.AUTHORISED: gettext_noop("%(amount)s is on hold on the card."),
    PaymentState.FAILED: gettext_noop("%(amount)s did not go through. Nothing was charged."),
    PaymentState.EXPIRED: gettext_noop(
        "%(amount)s was not paid: the time ran out, or the payment was cancelled. Nothing was charged."
    ),
    PaymentState.WAITING: gettext_noop("%(amount)s is still pending. Please wait before you pay again."),
}


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """The outcome of another attempt, begun ``at``, and the reason."""

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
    """The address that the page loads by itself: `?...` is the page itself again."""

    address: str
    after_seconds: int


@dataclass(frozen=True, slots=True)
class Page:
    """All data for the template; the messages are in English, and the template translates them."""

    tone: Tone
    says: Sentence
    details: tuple[tuple[str, LazyMessage, Value], ...] = ()  # kind, label, value
    links: tuple[Link, ...] = ()  # the recommended one first
    note: LazyMessage | None = None
    onward: Onward | None = None
    until: datetime | None = None  # the deadline, while the page offers to pay
    pay_at: str | None = None  # shown as a QR code, and printed
    attempts: tuple[AttemptLine, ...] = ()  # other attempts to pay the same

    def keep(self, choice: str) -> "Page":
        """Return the page with ``choice`` (``name=value``) in the query of its addresses that lead to itself."""
        links = tuple(replace(link, address=_keep(choice, link.address)) for link in self.links)
        onward = self.onward and replace(self.onward, address=_keep(choice, self.onward.address))
        return replace(self, links=links, onward=onward)


def _keep(choice: str, address: str) -> str:
    if not address.startswith("?"):
        return address
    return f"?{choice}&{address[1:]}".rstrip("&")


def return_page(view: PaymentView, polls: int) -> Page:
    """Return the return page of a known payment after `polls` polls in a row (0: the shopper has just arrived)."""
    shop = web_address(view.return_url)
    return Page(
        tone=_tone(view.state, polls),
        says=_sentence(view, polls),
        details=(("amount", LazyMessage("Amount"), Money(view.amount, view.currency)), *number_details(view)),
        links=_links(view, shop, polls),
        note=_note(view.state, shop),
        onward=_onward(view.state, shop, polls),
        attempts=attempt_lines(view),
    )


MISSING = Page(tone="bad", says=_NO_SUCH_PAYMENT)
"""The page for an order that this app does not know."""


def page_for_later(address: str, seconds: int) -> Page:
    """Return the page for a visitor whom the limits turned away: it loads ``address`` (of itself) after ``seconds``."""
    return Page(tone="wait", says=_TOO_MANY_VISITORS, onward=Onward(address, seconds))


def number_details(view: PaymentView) -> tuple[tuple[str, LazyMessage, Value], ...]:
    """Return the details by which the shop finds the payment."""
    number = ("number", LazyMessage("Payment number"), view.order_id)
    if view.order_number is None:
        return (number,)
    return ("number", LazyMessage("Order number"), view.order_number), number


def attempt_lines(view: PaymentView) -> tuple[AttemptLine, ...]:
    """Return the known outcomes of the other attempts to pay the same."""
    return tuple(
        AttemptLine(
            attempt.at,
            LazyMessage(_ATTEMPT_MESSAGES[attempt.state], amount=Money(attempt.amount, attempt.currency)),
            attempt.message or "",
        )
        for attempt in view.attempts
    )


def check_again_link() -> Link:
    """Return the link that reloads the page."""
    return Link("?", LazyMessage("Check again"))


def pay_link(checkout: str) -> Link:
    """Return the link to the gateway's page."""
    return Link(checkout, LazyMessage("Go to the payment page"))


def shop_links(shop: str | None) -> tuple[Link, ...]:
    """Return the link back to the shop, if the shop's address is known."""
    return (Link(shop, LazyMessage("Back to the shop")),) if shop else ()


def how_to_pay_note(shop: str | None) -> LazyMessage:
    """Return the note for a shopper who can no longer pay here."""
    return _BACK_FOR_ANOTHER if shop else _ASK_FOR_ANOTHER


def web_address(address: str | None) -> str | None:
    """Return the address if a browser may be sent there: absolute, http or https, with a host; None otherwise."""
    if address is None or _UNSAFE_IN_ADDRESS.search(address):
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


def _sentence(view: PaymentView, polls: int) -> Sentence:
    if view.state.is_open and polls >= POLLS:
        return _STILL_OPEN
    standard = _SENTENCES[view.state]
    if view.state in {PaymentState.FAILED, PaymentState.EXPIRED} and view.message:
        return Sentence(standard.title, view.message)
    return standard


def _links(view: PaymentView, shop: str | None, polls: int) -> tuple[Link, ...]:
    links: list[Link] = []
    if view.state.is_open and polls >= POLLS:
        links.append(check_again_link())
    checkout = web_address(view.checkout_url)
    # Never while the outcome is unknown.
    if view.state is PaymentState.WAITING and checkout and polls >= POLLS_BEFORE_PAY:
        links.append(pay_link(checkout))
    return (*links, *shop_links(shop))


def _note(state: PaymentState, shop: str | None) -> LazyMessage | None:
    if state in {PaymentState.PAID, PaymentState.AUTHORISED}:
        return _ON_THE_WAY if shop else _MAY_CLOSE
    if state in {PaymentState.FAILED, PaymentState.EXPIRED}:
        return how_to_pay_note(shop)
    return None if state.is_open or shop else _MAY_CLOSE


def _onward(state: PaymentState, shop: str | None, polls: int) -> Onward | None:
    if state.is_open:
        return Onward(f"?n={polls + 1}", SECONDS_BETWEEN_POLLS) if polls < POLLS else None
    if shop and state in {PaymentState.PAID, PaymentState.AUTHORISED}:
        return Onward(shop, SECONDS_BEFORE_FORWARD)
    return None
