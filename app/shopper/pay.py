"""The page behind a payment link: what is to be paid, the way to the gateway's page, and what became of it. Pure.

It looks again every ten seconds for a quarter of an hour, because its shopper may be paying on a phone.
"""

from app.shopper.page import Link, Onward, Page, return_page, web_address
from app.shopper.view import PaymentState, PaymentView
from app.shopper.words import WORDS, Sentence, money

SECONDS_BETWEEN_LOOKS = 10
POLLS = 90


def pay_page(view: PaymentView, *, waited: int, polls: int) -> Page:
    """Return the page of a known payment.

    ``waited`` is how often it has looked while it could be paid, ``polls`` how often since somebody may have paid.
    """
    checkout = web_address(view.checkout_url)
    if checkout is not None:
        return _to_pay(view, checkout, waited)
    if view.state is PaymentState.WAITING and view.overdue:
        return _too_late(view)
    return return_page(view, polls)


def _to_pay(view: PaymentView, checkout: str, waited: int) -> Page:
    words = WORDS[view.language]
    amount = money(view.amount, view.currency, view.language)
    again = Onward(f"?w={waited + 1}", SECONDS_BETWEEN_LOOKS) if waited < POLLS else None
    links = (Link(checkout, words.pay_now),)
    return Page(
        language=view.language,
        tone="pay",
        says=Sentence(words.pay.format(amount=amount), view.description),
        details=(("number", words.number, view.order_id),),
        links=links if again else (*links, Link("?", words.check_again)),
        onward=again,
        until=view.expires_at,
        pay_at=checkout,
    )


def _too_late(view: PaymentView) -> Page:
    words = WORDS[view.language]
    shop = web_address(view.return_url)
    return Page(
        language=view.language,
        tone="slow",
        says=words.too_late,
        details=(("number", words.number, view.order_id),),
        links=(Link("?", words.check_again), *((Link(shop, words.back_to_shop),) if shop else ())),
        note=words.back_for_another if shop else words.ask_for_another,
    )
