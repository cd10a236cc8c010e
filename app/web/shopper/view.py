"""The data of a payment for the shopper's pages, in the shopper's terms."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


class PaymentState(StrEnum):
    """The state of a payment from the shopper's point of view."""

    PAID = "paid"
    AUTHORISED = "authorised"  # reserved on the card, not yet captured
    RELEASED = "released"  # was reserved, and nothing of it is charged
    REFUNDED = "refunded"  # everything that was charged
    WAITING = "waiting"  # the gateway is processing the payment, or the shopper has not paid yet
    FAILED = "failed"
    EXPIRED = "expired"  # the time to pay ran out, or the payment was cancelled before it was paid
    UNKNOWN = "unknown"  # the gateway's response was lost: it may or may not have been paid

    @property
    def is_open(self) -> bool:
        """Whether the state may still change, so that polling makes sense."""
        return self in {PaymentState.WAITING, PaymentState.UNKNOWN}


@dataclass(frozen=True, slots=True)
class ShopView:
    """The shop's branding; each may be None. `logo` is the https address of an image, `color` is like #1a2b3c.

    `is_test`: no real money moves.
    """

    name: str | None = None
    logo: str | None = None
    color: str | None = None
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class OtherAttempt:
    """Another attempt to pay the same, begun ``at``; ``message`` is the reason of a failure, for shoppers.

    WAITING: it is at the bank, or its outcome is unknown; a page that has not been paid is not shown as an attempt.
    """

    state: PaymentState
    amount: Decimal
    currency: str
    at: datetime
    message: str | None = None


@dataclass(frozen=True, slots=True)
class PaymentView:
    """The shopper's view of one payment.

    `amount` is in the currency's main unit (hryvnias, not kopecks). `return_url` is the shop's address to which the
    shopper returns: only an absolute http(s) address is followed. `language` is the shopper's, whether or not there is
    a translation. `message` is for shoppers, and states why a payment failed or was closed. `checkout_url` is set as
    long as the payment can still be paid there, until `expires_at` if that is known. `description` is the shop's.
    `overdue`: not paid, as far as is known, and the time to pay is over; `being_closed`: nobody can pay there any more
    before that, because the order was cancelled, say. `order_number` is the shop's, if it has given one. `attempts` are
    the other attempts to pay the same, oldest first.
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
    being_closed: bool = False
    order_number: str | None = None
    shop: ShopView = ShopView()
    attempts: tuple[OtherAttempt, ...] = ()
