"""The page behind a payment link: the amount, the link to the gateway's page, and the outcome. Pure.

It polls every ten seconds for a quarter of an hour, because its shopper may be paying on a phone.
"""

from app.i18n.messages import LazyMessage, Money, Value
from app.web.shopper.page import (
    Onward,
    Page,
    Sentence,
    attempt_lines,
    check_again_link,
    how_to_pay_note,
    number_details,
    pay_link,
    return_page,
    shop_links,
    web_address,
)
from app.web.shopper.view import PaymentState, PaymentView

SECONDS_BETWEEN_POLLS = 10
POLLS = 90

_IF_PAID = LazyMessage(
    "If you have paid, do not pay again: the shop will be notified as soon as the payment is confirmed."
)
_TOO_LATE = Sentence(LazyMessage("The time to pay has run out"), _IF_PAID)
_BEING_CLOSED = Sentence(LazyMessage("This payment is being closed"), _IF_PAID)


def pay_page(view: PaymentView, *, waited: int, polls: int) -> Page:
    """Return the page of a known payment.

    ``waited`` counts its polls while it could be paid, ``polls`` those since it may have been paid.
    """
    checkout = web_address(view.checkout_url)
    if checkout is not None:
        return _to_pay(view, checkout, waited)
    if view.state is PaymentState.WAITING and (view.overdue or view.being_closed):
        return _not_payable(view)
    return return_page(view, polls)


def _to_pay(view: PaymentView, checkout: str, waited: int) -> Page:
    again = Onward(f"?w={waited + 1}", SECONDS_BETWEEN_POLLS) if waited < POLLS else None
    links = (pay_link(checkout),)
    return Page(
        tone="pay",
        says=Sentence(LazyMessage("Pay %(amount)s", amount=Money(view.amount, view.currency)), _description(view)),
        details=(*_payee(view), *number_details(view)),
        links=links if again else (*links, check_again_link()),
        onward=again,
        until=view.expires_at,
        pay_at=checkout,
        attempts=attempt_lines(view),
    )


def _payee(view: PaymentView) -> tuple[tuple[str, LazyMessage, Value], ...]:
    """Return the detail that says whom the shopper pays, if that is known: also where only a logo is seen."""
    return (("shop-name", LazyMessage("You pay to"), view.shop.name),) if view.shop.name else ()


def _description(view: PaymentView) -> str:
    """Return the shop's description of the payment; "" if it repeats the payment's number, which is shown below."""
    repeated = any(number in view.description for number in (view.order_id, view.order_number) if number)
    return "" if repeated else view.description


def _not_payable(view: PaymentView) -> Page:
    shop = web_address(view.return_url)
    return Page(
        tone="slow",
        says=_TOO_LATE if view.overdue else _BEING_CLOSED,
        details=number_details(view),
        links=(check_again_link(), *shop_links(shop)),
        note=how_to_pay_note(shop),
        attempts=attempt_lines(view),
    )
