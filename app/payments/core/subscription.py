"""The subscription that a payment has begun: how it stands, and which words of the gateway are of later charges. Pure.

All charges of a subscription have the order's name, and each is a payment of its own at the gateway (gateway
interface, 8 and 9: a record with ``recurring``). They are operations of the payment that has begun it, so that Saleor
hears of them where it knows the customer: on the transaction of that order.
"""

from dataclasses import dataclass

from app.db.aggregates import PaymentAggregate
from app.db.columns import fitting
from app.db.tables import Kind, Operation, Payment, State
from app.gateway.models.records import Recurring

CANCELED = "canceled"
_LONGEST_NAME, _LONGEST_STATUS = 100, 40  # what ``Payment`` has room for
_ORDER = ("init", "active", CANCELED)  # in which a subscription moves, as far as the facts know (gateway facts, 6)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a record says of one. ``status`` is the gateway's word; None: it says none."""

    recurring_id: str
    status: str | None = None

    @classmethod
    def of(cls, recurring: Recurring | None) -> "Subscription | None":
        """Return what a record says; None when its payment is no part of a subscription."""
        if recurring is None:
            return None
        status = None if recurring.status is None else fitting(recurring.status, _LONGEST_STATUS)
        return cls(fitting(recurring.id, _LONGEST_NAME), status)


def follow_subscription(payment: Payment, seen: Subscription | None) -> None:
    """Keep how a subscription stands. Forward only: what comes late does not begin anew what was cancelled."""
    if seen is None or payment.recurring_id not in {None, seen.recurring_id}:
        return
    payment.recurring_id = seen.recurring_id
    if seen.status is not None and _rank(seen.status) >= _rank(payment.recurring_status):
        payment.recurring_status = seen.status


def goes_on(payment: Payment) -> bool:
    """Return whether a payment has begun a subscription that is not cancelled."""
    return payment.recurring_id is not None and payment.recurring_status != CANCELED


def is_later_charge(create: Operation, payment_id: str, seen: Subscription | None) -> bool:
    """Return whether a payment of the gateway's is a later charge of the subscription that ``create`` has begun."""
    begun = create.state is State.SUCCESS and create.operation_id is not None
    return seen is not None and begun and payment_id != create.operation_id


def charge_of(aggregate: PaymentAggregate, payment_id: str | None) -> str | None:
    """Return the later charge that something done at the gateway belongs to; None: it belongs to the payment itself."""
    ours = payment_id in {None, aggregate.create.operation_id} or aggregate.payment.recurring_id is None
    return None if ours else payment_id


def charges_of(aggregate: PaymentAggregate) -> list[Operation]:
    """Return the later charges of the payment's subscription, oldest first."""
    return [each for each in aggregate.operations if each.kind is Kind.RECURRING]


def _rank(status: str | None) -> int:
    return _ORDER.index(status) if status in _ORDER else 0
