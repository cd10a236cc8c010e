"""What the widget shows of an order and its payments. Pure; it holds nothing of the shopper."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.dashboard.payments.actions import offers
from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, Payment
from app.i18n.messages import gettext_noop
from app.payments.core.balance import balance
from app.payments.core.problems import problem_messages
from app.payments.staff.order_payments import OrderPayments, attempt_of, can_be_paid
from app.payments.staff.status import Standing, standings

_UNREACHABLE = gettext_noop(
    "Saleor could not be asked about this order. What the app itself knows is shown; reload the order page in a minute."
)
_NO_ORDER = gettext_noop("Saleor has no such order.")
_NOT_PAYABLE = gettext_noop("This order is not placed, or it is cancelled: nobody can be asked to pay it.")
_PAID = gettext_noop("Nothing of this order is left to pay.")


@dataclass(frozen=True)
class Row:
    """One payment of the order.

    ``open``: somebody can pay on its page now. ``closing`` is the key of a form to end that,
    ``too_much`` says that it asks for more than is left to pay: the order has changed, or somebody paid otherwise.
    ``settled``: nothing of it is waited for.
    """

    payment: Payment
    standings: tuple[Standing, ...]
    problems: Sequence[str]
    open: bool
    closing: str | None
    too_much: bool
    settled: bool


@dataclass(frozen=True)
class WidgetView:
    """The newest payment first. ``note`` says why nothing can be asked for; then ``to_pay`` is zero.

    ``attempt`` tells the next link from all before it.
    """

    rows: Sequence[Row]
    note: str | None
    to_pay: Decimal
    currency: str
    attempt: str
    payouts: Sequence["PaidOut"] = ()


@dataclass(frozen=True)
class PaidOut:
    """A payout that is about one of these payments."""

    payment: Payment
    mask: str
    standings: tuple[Standing, ...]


def view_of(known: OrderPayments, now: datetime) -> WidgetView:
    """Return what is shown of an order."""
    return WidgetView(
        rows=[_row(each, known, now) for each in reversed(known.aggregates)],
        note=_note(known),
        to_pay=known.to_pay,
        currency=known.order.channel.currency_code if known.order else "",
        attempt=attempt_of(known),
        payouts=[
            PaidOut(each.aggregate.payment, each.payout.card_mask, standings(each.aggregate)) for each in known.payouts
        ],
    )


def _row(aggregate: PaymentAggregate, known: OrderPayments, now: datetime) -> Row:
    payment, payable = aggregate.payment, can_be_paid(aggregate, now)
    offered = offers(balance(payment.flow, aggregate.operations))
    return Row(
        payment=payment,
        standings=standings(aggregate),
        problems=problem_messages(payment),
        open=payable,
        closing=next((each.key for each in offered if each.kind is Kind.CANCEL), None),
        too_much=payable and known.order is not None and payment.amount > known.to_pay,
        settled=all(each.state.final for each in aggregate.operations),
    )


def _note(known: OrderPayments) -> str | None:
    if known.order is None:
        return _UNREACHABLE if known.unreachable else _NO_ORDER
    if not known.order.payable:
        return _NOT_PAYABLE
    return None if known.to_pay else _PAID
