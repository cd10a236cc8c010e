"""The subscription that a payment has begun: its status, and which gateway records are of its later charges. Pure.

All charges of a subscription have the same order id, and each is a payment of its own at the gateway (gateway
interface, 8 and 9: a record with ``recurring``). They are operations of the payment that has begun it, so that they
are reported to Saleor where it knows the customer: on the transaction of that order.
"""

from dataclasses import dataclass
from datetime import date, datetime

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.text import fit_text
from app.core.vocabulary import SUBSCRIPTION_CANCELED, Kind, State
from gateway_client.models.records import Recurring

_LONGEST_NAME, _LONGEST_STATUS = 100, 40  # of the columns of ``Payment``
# The order of a subscription's statuses, as far as they are known (gateway facts, 6).
_ORDER = ("init", "active", SUBSCRIPTION_CANCELED)


@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription in a gateway record. ``status`` is the gateway's; None when the record has none."""

    recurring_id: str
    status: str | None = None

    @classmethod
    def from_record(cls, recurring: Recurring | None) -> "Subscription | None":
        """Return the subscription in a record; None when its payment is not part of one."""
        if recurring is None:
            return None
        status = None if recurring.status is None else fit_text(recurring.status, _LONGEST_STATUS)
        return cls(fit_text(recurring.id, _LONGEST_NAME), status)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the gateway was asked to charge a subscription: every so many days, weeks, months, quarters or years."""

    unit: str
    count: int
    starts_on: date | None
    ends_on: date | None


def requested_schedule(aggregate: PaymentAggregate) -> Schedule | None:
    """Return the schedule of the subscription that the storefront has asked for; None: it has asked for none."""
    plan = aggregate.create.requested.subscription
    if plan is None:
        return None
    first, last = (plan.get(name) for name in ("start_date", "expiry_date"))
    return Schedule(
        plan["interval_unit"],
        plan["interval_count"],
        date.fromisoformat(first) if first else None,
        date.fromisoformat(last) if last else None,
    )


def update_subscription(payment: Payment, seen: Subscription | None) -> None:
    """Store the status of a subscription. Forward only: a late record does not reopen a cancelled subscription."""
    if seen is None or payment.recurring_id not in {None, seen.recurring_id}:
        return
    payment.recurring_id = seen.recurring_id
    if seen.status is not None and _rank(seen.status) >= _rank(payment.recurring_status):
        payment.recurring_status = seen.status


def has_running_subscription(payment: Payment) -> bool:
    """Return True when the payment has begun a subscription that is not cancelled."""
    return payment.recurring_id is not None and payment.recurring_status != SUBSCRIPTION_CANCELED


def is_later_charge(
    aggregate: PaymentAggregate, payment_id: str, seen: Subscription | None, created_at: datetime | None, state: State
) -> bool:
    """Return True when a gateway payment is a later charge of the subscription that our payment has begun.

    Another subscription under the same order id is not ours: somebody has paid a second time. A payment that the
    gateway created before the first charge succeeded was another attempt at that one: another card on the same page.
    Where no time says which of both it is, its id does, if it is known as that of a later charge; else only money is
    taken for one, since a declined card of the page would be reported as a charge that failed.
    """
    create = aggregate.create
    if seen is None or seen.recurring_id != aggregate.payment.recurring_id:
        return False
    if find_later_charge(aggregate, payment_id) is not None:
        return True
    if create.state is not State.SUCCESS or payment_id == create.operation_id or create.operation_id is None:
        return False
    succeeded_at = create.booked_at
    if created_at is None or succeeded_at is None:
        return state is State.SUCCESS
    return created_at >= succeeded_at


def charge_id_of(aggregate: PaymentAggregate, payment_id: str | None) -> GatewayOperationId | None:
    """Return the id of the later charge that an operation belongs to; None: it belongs to the payment itself."""
    ours = payment_id in {None, aggregate.create.operation_id} or aggregate.payment.recurring_id is None
    return None if ours or payment_id is None else GatewayOperationId(payment_id)


def find_later_charge(aggregate: PaymentAggregate, payment_id: str | None) -> Operation | None:
    """Return the later charge with that id at the gateway; None: we know of none."""
    return next((charge for charge in later_charges_of(aggregate) if charge.operation_id == payment_id), None)


def is_of_unknown_payment(aggregate: PaymentAggregate, payment_id: str | None, kind: Kind) -> bool:
    """Return True when an operation of that kind belongs neither to the payment nor to a later charge that we know of.

    Somebody may have paid a second time under the same order id: what is done to that payment is none of ours.
    The interface does not show the record of a dispute, whose only payment id may be an id of its own: where there is
    one charge, that is the disputed one.
    """
    create = aggregate.create
    if payment_id in {None, create.operation_id} or find_later_charge(aggregate, payment_id) is not None:
        return False
    is_known = create.state is State.SUCCESS and create.operation_id is not None
    return (is_known and kind is not Kind.DISPUTE) or aggregate.payment.recurring_id is not None


def later_charges_of(aggregate: PaymentAggregate) -> list[Operation]:
    """Return the later charges of the payment's subscription, oldest first."""
    return [operation for operation in aggregate.operations if operation.kind is Kind.RECURRING]


def _rank(status: str | None) -> int:
    return _ORDER.index(status) if status in _ORDER else 0
