"""What a payment is: its words. Its states, kinds and reasons, as they are stored and compared."""

from enum import StrEnum


class Flow(StrEnum):
    """What Saleor requests for a payment: a charge, or an authorization first. Or staff request a payout to a card."""

    CHARGE = "CHARGE"
    AUTHORIZATION = "AUTHORIZATION"
    PAYOUT = "PAYOUT"


class Kind(StrEnum):
    """What is requested from the gateway, or observed there."""

    CREATE = "create"
    CAPTURE = "capture"
    VOID = "void"
    REFUND = "refund"
    CANCEL = "cancel"
    DISPUTE = "dispute"  # raised by the payer at the bank, never requested here
    RECURRING = "recurring"  # a later charge, by the gateway, of the subscription that the payment started


SUBSCRIPTION_CANCELED = "canceled"
"""The status of a subscription, in the gateway's words, that charges nothing any more."""

GIVES_A_PAYOUT_BACK = frozenset({Kind.REFUND, Kind.VOID, Kind.DISPUTE})
"""What brings money back that was paid out: the interface shows none of these for a payout, so each is possible."""


class Origin(StrEnum):
    """Who wanted an operation."""

    SALEOR = "saleor"  # its staff, its storefronts, or Saleor itself
    STAFF = "staff"  # in this app's own interface; ``Operation.asked_by`` says who
    APP = "app"  # this app by itself
    GATEWAY = "gateway"  # others: the merchant portal, the bank, an automatic capture


class CloseReason(StrEnum):
    """Why this app closes a payment page."""

    NOT_PAID_IN_TIME = "not_paid_in_time"
    BY_STAFF = "by_staff"
    LINK_LOST = "link_lost"
    COVERED = "covered"
    TOO_HIGH = "too_high"
    ORDER_CANCELED = "order_canceled"
    ORDER_EXPIRED = "order_expired"
    ORDER_RETURNED = "order_returned"
    CHECKOUT_GONE = "checkout_gone"
    REPLACED = "replaced"
    LEFT_TEST_PROJECT = "left_test_project"
    APP_REMOVED = "app_removed"


EXTERNAL_KEY_PREFIX = "gateway:"
"""The prefix of the idempotency key of an operation that was requested outside this app."""


class Mode(StrEnum):
    """Where the shopper enters the card: on the gateway's page, or in the storefront."""

    HOSTED = "hosted"
    DIRECT = "direct"


class State(StrEnum):
    """The state of an operation, in the only order in which it advances (laws of money, 7)."""

    WAITING = "waiting"  # accepted, not sent: another operation of this payment goes first
    INTENT = "intent"  # committed before the call; if it stays so, the process died before or during the call
    UNKNOWN = "unknown"  # the call was sent, its outcome is unknown
    INIT = "init"  # at the gateway, waiting for the shopper
    PENDING = "pending"  # at the bank
    SUCCESS = "success"
    FAILURE = "failure"

    @property
    def final(self) -> bool:
        """True when no further change is expected."""
        return self in {State.SUCCESS, State.FAILURE}

    @property
    def rank(self) -> int:
        """The rank of the state: a lower rank never replaces a higher one; both final states share the highest."""
        return min(list(State).index(self), list(State).index(State.SUCCESS))


class PaymentStatus(StrEnum):
    """The status of a payment, as staff search for it. The actions available are computed (``balance``)."""

    PENDING = "pending"  # not paid yet, or unknown
    AUTHORIZED = "authorized"
    PAID = "paid"
    REFUNDED = "refunded"  # in part or in full
    CANCELED = "canceled"  # not paid in time, cancelled, or the reserved amount was released
    FAILED = "failed"


class EventState(StrEnum):
    """The state of an event for Saleor."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    REFUSED = "refused"  # Saleor refused it permanently: a problem for staff
    SUPERSEDED = "superseded"  # only informative, and outdated by now
