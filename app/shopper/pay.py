"""The page behind a payment link: what is to be paid, the way to the gateway's page, and what became of it. Pure.

It looks again every ten seconds for a quarter of an hour, because its shopper may be paying on a phone.
"""

from app.i18n.messages import LazyMessage, Money
from app.shopper.page import (
    Onward,
    Page,
    Sentence,
    back_to_shop,
    check_again,
    how_to_pay,
    numbers_of,
    others_of,
    pay_now,
    return_page,
    web_address,
)
from app.shopper.view import PaymentState, PaymentView

SECONDS_BETWEEN_LOOKS = 10
POLLS = 90

_TOO_LATE = Sentence(
    LazyMessage("The time to pay is over"),
    LazyMessage(
        "If you have paid, do not pay a second time: as soon as the payment is confirmed, the shop will be told."
    ),
)


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
    again = Onward(f"?w={waited + 1}", SECONDS_BETWEEN_LOOKS) if waited < POLLS else None
    links = (pay_now(checkout),)
    return Page(
        tone="pay",
        says=Sentence(LazyMessage("Pay %(amount)s", amount=Money(view.amount, view.currency)), _description(view)),
        details=numbers_of(view),
        links=links if again else (*links, check_again()),
        onward=again,
        until=view.expires_at,
        pay_at=checkout,
        attempts=others_of(view),
    )


def _description(view: PaymentView) -> str:
    """Return what the shop calls the payment; nothing where that only repeats its number, which stands below."""
    repeated = any(number in view.description for number in (view.order_id, view.order_number) if number)
    return "" if repeated else view.description


def _too_late(view: PaymentView) -> Page:
    shop = web_address(view.return_url)
    return Page(
        tone="slow",
        says=_TOO_LATE,
        details=numbers_of(view),
        links=(check_again(), *back_to_shop(shop)),
        note=how_to_pay(shop),
        attempts=others_of(view),
    )
