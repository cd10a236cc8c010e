"""The one mapper: from a gateway record and the recorded state, to the new state and the event for Saleor.

Synchronous responses, notifications, the poller and the settler all go through here, so that the same record never
means two things. Pure: no database, no clock, no network.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, Payment
from app.core.vocabulary import Flow, Kind, State
from app.i18n.currencies import smallest_unit
from app.i18n.messages import Money
from app.rules.details import Details, card_mask
from app.rules.issues import Issue, IssueCode
from app.rules.saved_cards import CardToken
from app.rules.subscription import Subscription
from integration_base.amounts import CENT, is_amount
from saleor_app_sdk.responses import EventType, PaymentMethod


@dataclass(frozen=True, slots=True)
class Observation:
    """What the gateway reports about one operation. ``gateway_id`` is its ``payment_id`` or ``operation_id``.

    ``flow`` is that of a payment (``purchase`` or ``auth``); None for secondary operations. ``paid`` is the amount
    that the shopper actually paid, where a payment method lets the shopper change it (gateway interface,
    ``processed_amount``); None otherwise. ``message`` is for staff, ``shopper_message`` for the shopper.
    ``action_url`` is where a shopper who pays directly must go now. ``method`` is the payment method; ``details``
    hold the record's other fields. ``card`` is the token of the card. ``payment_id`` is the gateway's id of the
    payment that the operation belongs to, and ``subscription`` the one that this payment has begun or is a charge of.
    ``unknown_status`` is the gateway's status, if it is one that we do not know.
    """

    kind: Kind
    state: State
    amount: Decimal
    currency: str
    pos_id: str
    order_id: str
    gateway_id: GatewayOperationId
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
    payment_id: GatewayOperationId | None = None
    subscription: Subscription | None = None
    unknown_status: str | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """The recorded state of that operation.

    ``contradicted``: see ``Operation``. ``requested_amount`` is None when this app requested none. ``gateway_id`` is
    None until the gateway has named the operation. ``payer_fee``: the most that the payer may have paid on top.
    ``card_mask`` is that of the card that a payout was requested to; None: any card.
    ``amount`` is the recorded one. ``left``: the most that an operation of others can move; None: it is not compared.
    """

    flow: Flow
    kind: Kind
    state: State
    inferred: bool
    contradicted: bool
    amount: Decimal
    requested_amount: Decimal | None
    currency: str
    pos_id: str
    order_id: str
    gateway_id: GatewayOperationId | None = None
    payer_fee: Decimal = Decimal(0)
    left: Decimal | None = None
    card_mask: str | None = None


def expectation_of(
    payment: Payment, operation: Operation, *, payer_fee: Decimal, left: Decimal | None = None
) -> Expectation:
    """Return the values with which the gateway's records of ``operation`` are compared; the last two: see there."""
    return Expectation(
        flow=payment.flow,
        kind=operation.kind,
        state=operation.state,
        inferred=operation.inferred,
        contradicted=operation.contradicted,
        requested_amount=_requested_amount(payment, operation),
        currency=payment.currency,
        pos_id=payment.account.pos_id,
        order_id=payment.order_id,
        gateway_id=operation.operation_id,
        amount=operation.amount,
        left=left,
        payer_fee=payer_fee,
        card_mask=_payout_mask(payment, operation),
    )


def _requested_amount(payment: Payment, operation: Operation) -> Decimal | None:
    if operation.kind is Kind.DISPUTE:
        return None  # nobody here has requested it: the bank may decide over less than was disputed
    return payment.amount if operation.kind is Kind.CREATE else operation.amount


def _payout_mask(payment: Payment, operation: Operation) -> str | None:
    is_payout = payment.flow is Flow.PAYOUT and operation.kind is Kind.CREATE
    return card_mask(payment.saved_card_mask) if is_payout else None


def largest_payer_fee(payment: Payment) -> Decimal:
    """Return the most that the payer may have paid on top; zero where the payer bears no fee.

    It is rounded up to what can be paid: of yen, to a whole one.
    """
    percent = payment.account.payer_fee_percent
    if percent is None or payment.flow is Flow.PAYOUT:
        return Decimal(0)
    unit = smallest_unit(payment.currency, payment.amount)
    units = (payment.amount * percent / 100 / unit).to_integral_value(ROUND_UP)
    return (units * unit).quantize(CENT)


@dataclass(frozen=True, slots=True)
class Transition:
    """The change that an observation causes.

    None means: ``state`` or ``amount`` does not change; no ``event`` is sent to Saleor; there is no ``problem``.
    ``contradicted``: by this record, the operation has perhaps succeeded, although its state says otherwise; or it has
    perhaps failed, although its state says that it has succeeded.
    """

    state: State | None = None
    amount: Decimal | None = None
    event: EventType | None = None
    problem: Issue | None = None
    contradicted: bool = False


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
    (Kind.DISPUTE, None, State.SUCCESS): EventType.CHARGE_BACK,  # a dispute that the store won takes nothing
}


def event_type_of(kind: Kind, flow: Flow, state: State) -> EventType | None:
    """Return the type of the event that Saleor gets when an operation reaches ``state``; None for open states."""
    return _EVENTS.get((kind, flow if kind is Kind.CREATE else None, state))


def compute_transition(known: Expectation, seen: Observation) -> Transition:
    """Return the transition of a ``known`` operation after the observation ``seen``.

    Forward, and towards money (laws of money, 7): a state that is not further along changes nothing. A success after a
    failure is booked, whoever concluded that failure: another card was accepted on the same page, or a bank has carried
    out after all. A failure after a success moves nothing and is for a person to look at. Trust, then compare (8):
    another point of sale, order, flow, currency or amount than requested is never a success. A failure moves no money,
    so the operation keeps the requested amount, whatever amount the record has. So does a payment on top of which the
    payer paid the gateway's fee: the store receives what it requested.
    """
    for_staff = _transition_for_staff(known, seen)
    if for_staff is not None:
        return for_staff
    if known.inferred and seen.state is known.state:
        return Transition(state=seen.state)  # the gateway confirms what we concluded; Saleor has its event already
    if known.inferred and known.kind is Kind.CREATE and seen.state is State.INIT:
        return Transition()  # an unpaid page does not undo the failure that the shopper was shown
    is_turned = known.state is State.FAILURE and seen.state is State.SUCCESS
    if known.kind is Kind.DISPUTE and known.state is State.SUCCESS:  # the newest word counts, over whatever amount
        is_turned = seen.state is State.FAILURE or (seen.state is State.SUCCESS and seen.amount != known.amount)
    if seen.state.rank <= known.state.rank and not known.inferred and not is_turned:
        return Transition()
    amount = seen.paid if seen.paid is not None else seen.amount
    return Transition(
        state=seen.state,
        amount=(_without_payer_fee(known, amount) or amount) if seen.state is State.SUCCESS else None,
        event=event_type_of(known.kind, known.flow, seen.state),
    )


def _transition_for_staff(known: Expectation, seen: Observation) -> Transition | None:
    """Return the transition that only raises a problem, for a record on which a person must decide; else None."""
    mismatch = _mismatch(known, seen)
    if mismatch is not None:
        reports_success = seen.state is State.SUCCESS and known.state is not State.SUCCESS
        return Transition(problem=mismatch, contradicted=reports_success)
    if known.kind is Kind.DISPUTE:
        return None
    has_been_success = known.state is State.SUCCESS or (known.contradicted and not known.state.final)
    if has_been_success and seen.state is State.FAILURE:
        return Transition(problem=Issue(IssueCode.FAILED_AFTER_SUCCESS), contradicted=True)
    if not known.state is seen.state is State.SUCCESS:
        return None
    if _is_second_payment(known, seen):
        return Transition(problem=Issue(_SECOND_PAYMENTS[known.flow], sum=Money(seen.amount, seen.currency)))
    paid_otherwise = _other_amount_paid(known, seen)
    return None if paid_otherwise is None else Transition(problem=paid_otherwise)


def _other_amount_paid(known: Expectation, seen: Observation) -> Issue | None:
    """Return the issue that the payer has paid another amount than the one that is booked; None if that is not so."""
    if seen.paid is None or seen.paid == known.amount or _without_payer_fee(known, seen.paid) is not None:
        return None
    ours, said = Money(known.amount, known.currency), Money(seen.paid, known.currency)
    return Issue(IssueCode.RECORDED_AMOUNT, what=known.kind, said=said, ours=ours)


_SECOND_PAYMENTS: Mapping[Flow, IssueCode] = {
    Flow.CHARGE: IssueCode.SECOND_PAYMENT,
    Flow.AUTHORIZATION: IssueCode.SECOND_AUTHORIZATION,
    Flow.PAYOUT: IssueCode.SECOND_PAYOUT,
}


def _is_second_payment(known: Expectation, seen: Observation) -> bool:
    return known.kind is Kind.CREATE and known.gateway_id not in {None, seen.gateway_id}


def _mismatch(known: Expectation, seen: Observation) -> Issue | None:
    """Return the first mismatch with the request; None when everything matches."""
    if seen.pos_id.lower() != known.pos_id.lower():
        return Issue(IssueCode.OTHER_POINT_OF_SALE, pos_id=seen.pos_id)
    if seen.order_id != known.order_id:
        return Issue(IssueCode.OTHER_ORDER, order=seen.order_id)
    if seen.currency != known.currency:
        amount = Money(seen.amount, seen.currency)
        return Issue(IssueCode.OTHER_CURRENCY, sum=amount, currency=known.currency)
    if seen.flow is not None and seen.flow is not known.flow:
        return Issue(IssueCode.OTHER_FLOW, seen=seen.flow.value, asked=known.flow.value)
    return None if seen.state is State.FAILURE else _card_mismatch(known, seen) or _amount_mismatch(known, seen)


def _may_be_same_card(mask: str, other: str) -> bool:
    """Compare the digits that both masks show: one with fewer says less, and nothing else."""
    return len(mask) == len(other) and all(a == b or "*" in {a, b} for a, b in zip(mask, other, strict=True))


def _card_mismatch(known: Expectation, seen: Observation) -> Issue | None:
    card = seen.details.card_mask
    if known.card_mask is None or card is None or _may_be_same_card(card, known.card_mask):
        return None
    return Issue(IssueCode.OTHER_CARD, seen=card, asked=known.card_mask)


def _amount_mismatch(known: Expectation, seen: Observation) -> Issue | None:
    paid_in = seen.paid_currency or known.currency
    if seen.paid is not None and paid_in != known.currency:
        paid = Money(seen.paid, paid_in)
        return Issue(IssueCode.PAID_IN_OTHER_CURRENCY, sum=paid, currency=known.currency)
    is_with_fee = _without_payer_fee(known, seen.amount) is not None
    is_requested = known.requested_amount in {None, seen.amount} or is_with_fee
    if known.requested_amount and not is_requested:  # zero: others did it, and what they did is no amount
        return Issue(
            IssueCode.OTHER_AMOUNT,
            sum=Money(seen.amount, seen.currency),
            asked=Money(known.requested_amount, known.currency),
        )
    amount = seen.amount if seen.paid is None else seen.paid
    if not is_amount(amount):
        return Issue(IssueCode.INVALID_AMOUNT, sum=Money(amount, known.currency))
    if seen.state is State.SUCCESS and known.left is not None and amount > known.left and not is_with_fee:
        return Issue(IssueCode.MORE_THAN_LEFT, what=known.kind, sum=Money(amount, known.currency))
    return None


def _without_payer_fee(known: Expectation, amount: Decimal) -> Decimal | None:
    """Return what an amount is without the payer's fee; None if it does not include one.

    That is what was requested, or of a dispute all that was left of the charge.
    """
    without = known.left if known.kind is Kind.DISPUTE else known.requested_amount
    return without if without and without < amount <= without + known.payer_fee else None


def update_shopper_turn(payment: Payment, operation: Operation, seen: Observation) -> None:
    """Track whether what is pending waits for the shopper or for the bank; its state does not change by that.

    Only responses and look-ups contain the shopper's next URL, and they are current. A record without one may be a
    late notification: it can end the shopper's turn, but not begin it again.
    """
    if not operation.state is seen.state is State.PENDING:
        return
    waits_for_shopper = seen.action_url is not None or (operation.waits_for_shopper and seen.waits_for_shopper)
    payment.redirect_url = seen.action_url or payment.redirect_url
    if waits_for_shopper != operation.waits_for_shopper:
        operation.waits_for_shopper = waits_for_shopper
        operation.status_code, operation.message = seen.status_code, seen.message
        operation.shopper_message = seen.shopper_message
