"""What the shopper's pages need to know of a payment, in the shopper's terms."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


class PaymentState(StrEnum):
    """How far the payment is, as far as the shopper is concerned."""

    PAID = "paid"
    AUTHORISED = "authorised"  # reserved on the card, not yet taken
    WAITING = "waiting"  # the gateway has the payment in work, or the shopper has not paid yet
    FAILED = "failed"
    EXPIRED = "expired"  # the time to pay ran out, or the payment was cancelled before it was paid
    UNKNOWN = "unknown"  # the gateway's answer was lost: it may or may not have been paid

    @property
    def is_open(self) -> bool:
        """Whether another look may bring news."""
        return self in {PaymentState.WAITING, PaymentState.UNKNOWN}


@dataclass(frozen=True, slots=True)
class ShopView:
    """How the shop shows itself; each may be None. `logo` is the https address of an image, `color` like #1a2b3c."""

    name: str | None = None
    logo: str | None = None
    color: str | None = None


@dataclass(frozen=True, slots=True)
class OtherAttempt:
    """Another attempt to pay the same, begun ``at``; ``message`` says why it failed, for shoppers.

    WAITING: it is at the bank, or nobody knows; a page on which nobody has paid is no attempt to tell of.
    """

    state: PaymentState
    amount: Decimal
    currency: str
    at: datetime
    message: str | None = None


@dataclass(frozen=True, slots=True)
class PaymentView:
    """One payment as its shopper may see it.

    `amount` is in the currency's main unit (hryvnias, not kopecks). `return_url` is where the shop wants its
    shopper back: only an absolute http(s) address is followed. `language` is the shopper's, whether or not we speak it.
    `message` is for shoppers, and says why a payment failed or was closed. `checkout_url` is given as long as the
    payment can still be paid there, until `expires_at` if that is known. `description` is what the shop calls it.
    `overdue`: nobody has paid, as far as is known, and the time for it is over. `order_number` is the shop's, if it has
    given one. `attempts` are the others to pay the same, oldest first.
    """

    order_id: str
    state: PaymentState
    language: str
    amount: Decimal
    currency: str
    return_url: str | None = None
    message: str | None = None
    checkout_url: str | None = None
    expires_at: datetime | None = None
    description: str = ""
    overdue: bool = False
    order_number: str | None = None
    shop: ShopView = ShopView()
    attempts: tuple[OtherAttempt, ...] = ()
