"""The one mapper: from what the gateway says and what is recorded, to the new state and the events for Saleor.

The synchronous answer, the notification, the poller and the settler all come through here, so that the same word of
the gateway never means two things. Pure: no database, no clock, no network.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from app.amounts import is_amount
from app.db.tables import Flow, Kind, Operation, Payment, State
from app.i18n.messages import LazyMessage, Money
from app.payments.core.details import Details
from app.payments.core.labels import ENDS
from app.payments.core.saved_cards import CardToken
from app.payments.core.subscription import Subscription
from app.saleor.answers import EventType, PaymentMethod


@dataclass(frozen=True, slots=True)
class Observation:
    """What the gateway says of one operation. ``gateway_id`` is its ``payment_id`` or ``operation_id``.

    ``flow`` is what a payment was made for (``purchase`` or ``auth``); None for what is done to a payment. ``paid`` is
    what the shopper really paid, where a payment method lets the shopper change the amount (gateway interface,
    ``processed_amount``); None otherwise. ``message`` is for staff, ``shopper_message`` for the shopper.
    ``action_url`` is where a shopper who pays directly must go now. ``method`` is how it was paid; ``details`` are
    all that is said besides. ``card`` is the token of the card. ``payment_id`` is the payment that it belongs to, and
    ``subscription`` what that payment has begun, or is a charge of.
    """

    kind: Kind
    state: State
    amount: Decimal
    currency: str
    pos_id: str
    order_id: str
    gateway_id: str
    flow: Flow | None = None
    status_code: str | None = None
    message: str = ""
    shopper_message: str = ""
    waits_for_shopper: bool = False
    action_url: str | None = None
    paid: Decimal | None = None
    paid_currency: str | None = None
    method: PaymentMethod | None = None
    details: Details = field(default_factory=Details)
    card: CardToken | None = None
    payment_id: str | None = None
    subscription: Subscription | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is recorded of that operation. ``asked`` is the amount that was asked; None when nothing of ours asked."""

    flow: Flow
    kind: Kind
    state: State
    inferred: bool
    asked: Decimal | None
    currency: str
    pos_id: str
    order_id: str


def expectation_of(payment: Payment, operation: Operation, pos_id: str) -> Expectation:
    """Return what the gateway's word about ``operation`` is compared with."""
    return Expectation(
        flow=payment.flow,
        kind=operation.kind,
        state=operation.state,
        inferred=operation.inferred,
        asked=payment.amount if operation.kind is Kind.CREATE else operation.amount,
        currency=payment.currency,
        pos_id=pos_id,
        order_id=payment.order_id,
    )


@dataclass(frozen=True, slots=True)
class Transition:
    """What follows. ``state`` None: nothing changes; ``amount`` None: nor does the amount; ``event`` None: Saleor need
    not hear of it.
    """

    state: State | None = None
    amount: Decimal | None = None
    event: EventType | None = None
    message: str = ""
    problem: LazyMessage | None = None


_EVENTS: dict[tuple[Kind, Flow | None, State], EventType] = {
    (Kind.CREATE, Flow.CHARGE, State.SUCCESS): EventType.CHARGE_SUCCESS,
    (Kind.CREATE, Flow.CHARGE, State.FAILURE): EventType.CHARGE_FAILURE,
    (Kind.CREATE, Flow.AUTHORIZATION, State.SUCCESS): EventType.AUTHORIZATION_SUCCESS,
    (Kind.CREATE, Flow.AUTHORIZATION, State.FAILURE): EventType.AUTHORIZATION_FAILURE,
    (Kind.CAPTURE, None, State.SUCCESS): EventType.CHARGE_SUCCESS,
    (Kind.CAPTURE, None, State.FAILURE): EventType.CHARGE_FAILURE,
    (Kind.VOID, None, State.SUCCESS): EventType.CANCEL_SUCCESS,
    (Kind.VOID, None, State.FAILURE): EventType.CANCEL_FAILURE,
    (Kind.CANCEL, None, State.SUCCESS): EventType.CANCEL_SUCCESS,
    (Kind.CANCEL, None, State.FAILURE): EventType.CANCEL_FAILURE,
    (Kind.REFUND, None, State.SUCCESS): EventType.REFUND_SUCCESS,
    (Kind.REFUND, None, State.FAILURE): EventType.REFUND_FAILURE,
    (Kind.RECURRING, None, State.SUCCESS): EventType.CHARGE_SUCCESS,
    (Kind.RECURRING, None, State.FAILURE): EventType.CHARGE_FAILURE,
    (Kind.DISPUTE, None, State.SUCCESS): EventType.CHARGE_BACK,  # one that the store has won takes nothing
}


def event_of(kind: Kind, flow: Flow, state: State) -> EventType | None:
    """Return what Saleor hears when an operation comes to ``state``; None for states that are on the way."""
    return _EVENTS.get((kind, flow if kind is Kind.CREATE else None, state))


def judge(known: Expectation, seen: Observation) -> Transition:
    """Return what follows from ``seen`` for what is ``known``.

    Forward only (laws of money, 7): a state that is not further along changes nothing. Two exceptions are not
    repeats but contradictions. A failure that we concluded from silence gives way to the gateway's word; a success
    after the gateway's own failure, or the reverse, is for a person to look at. Trust, then compare (8): another
    point of sale, order, flow, currency or amount than asked is never a success. A failure moves nothing, so it keeps
    the amount that was asked, whatever amount it names.
    """
    problem = _mismatch(known, seen)
    if problem is not None:
        return Transition(problem=problem)
    if known.state.final and seen.state.final and known.state is not seen.state and not known.inferred:
        return Transition(
            problem=LazyMessage(
                "The gateway said %(first)s first and now says %(now)s: compare this payment with the merchant portal.",
                first=ENDS[known.state],
                now=ENDS[seen.state],
            )
        )
    if known.inferred and seen.state is known.state:
        return Transition(state=seen.state)  # what we concluded is now the gateway's word; Saleor has heard it
    if known.inferred and known.kind is Kind.CREATE and seen.state is State.INIT:
        return Transition()  # a page that nobody has paid on yet does not undo what its shopper was told
    if seen.state.rank <= known.state.rank and not known.inferred:
        return Transition()
    amount = seen.paid if seen.paid is not None else seen.amount
    return Transition(
        state=seen.state,
        amount=amount if seen.state is State.SUCCESS else None,
        event=event_of(known.kind, known.flow, seen.state),
        message=seen.message,
    )


def _mismatch(known: Expectation, seen: Observation) -> LazyMessage | None:
    """Return in words for staff what does not agree with what was asked; None when all does."""
    if seen.pos_id.lower() != known.pos_id.lower():
        return LazyMessage(
            "The gateway reports another point of sale (%(pos_id)s) than this payment was made at.", pos_id=seen.pos_id
        )
    if seen.order_id != known.order_id:
        return LazyMessage(
            "The gateway reports another order (%(order)s) than the one that was asked about.", order=seen.order_id
        )
    if seen.currency != known.currency:
        return LazyMessage(
            "The gateway reports %(sum)s, but the payment is in %(currency)s.",
            sum=Money(seen.amount, seen.currency),
            currency=known.currency,
        )
    if seen.flow is not None and seen.flow is not known.flow:
        return LazyMessage(
            "The gateway reports a payment for %(seen)s, but it was made for %(asked)s.",
            seen=seen.flow.value,
            asked=known.flow.value,
        )
    return None if seen.state is State.FAILURE else _wrong_amount(known, seen)


def _wrong_amount(known: Expectation, seen: Observation) -> LazyMessage | None:
    if seen.paid is not None and seen.paid_currency not in {None, known.currency}:
        paid = Money(seen.paid, seen.paid_currency or "")
        return LazyMessage(
            "The shopper paid %(sum)s, but the payment is in %(currency)s.", sum=paid, currency=known.currency
        )
    if known.asked is not None and seen.amount != known.asked:
        return LazyMessage(
            "The gateway reports %(sum)s, but %(asked)s was asked.",
            sum=Money(seen.amount, seen.currency),
            asked=Money(known.asked, known.currency),
        )
    amount = seen.amount if seen.paid is None else seen.paid
    if is_amount(amount):
        return None
    return LazyMessage("The gateway reports %(sum)s, which is no amount of money.", sum=Money(amount, known.currency))


def follow_the_shopper(payment: Payment, operation: Operation, seen: Observation) -> None:
    """While a payment is pending, its turn passes between shopper and bank, which is no step forward or back.

    Where the shopper must go is told by answers and look-ups only, and they are fresh. Without it, it may be a late
    notification: that can end the shopper's turn, but not begin it again.
    """
    if seen.kind is not Kind.CREATE or (operation.state, seen.state) != (State.PENDING, State.PENDING):
        return
    turn = seen.action_url is not None or (operation.waits_for_shopper and seen.waits_for_shopper)
    payment.redirect_url = seen.action_url or payment.redirect_url
    if turn != operation.waits_for_shopper:
        operation.waits_for_shopper = turn
        operation.status_code, operation.message = seen.status_code, seen.message
        operation.shopper_message = seen.shopper_message
